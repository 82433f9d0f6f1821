package org.apache.hadoop.hdfs.server.blockmanagement;

import io.howdah.storage.TierSettings;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import javax.management.ObjectName;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.metrics2.util.MBeans;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The last decisions of {@link TierPlacement}, in JMX and, if its logger is at debug, in the log. Thread-safe. */
final class PlacementLog implements PlacementMXBean {
  private static final Logger LOG = LoggerFactory.getLogger("io.howdah.storage.placement");
  private static final int KEPT = 200;
  private static ObjectName name;

  private final TierSettings settings;
  private final Deque<String> decisions = new ArrayDeque<>();
  private long placed;
  private long elsewhere;
  private long refused;

  private PlacementLog(TierSettings settings) {
    this.settings = settings;
  }

  /** A new one, which takes the place of the last one in JMX. */
  static synchronized PlacementLog ofNameNode(TierSettings settings) {
    PlacementLog log = new PlacementLog(settings);
    if (name != null) {
      MBeans.unregister(name);
    }
    name = MBeans.register("NameNode", "HowdahStorage", log);
    return log;
  }

  /**
   * Notes where all replicas of a block are once those that were chosen are written; nowhere: the block was refused.
   */
  void add(String path, TierPolicy policy, int replication, List<DatanodeStorageInfo> storages) {
    List<StorageType> types = new ArrayList<>();
    for (DatanodeStorageInfo storage : storages) {
      types.add(storage.getStorageType());
    }
    long inRam = types.stream().filter(type -> type == StorageType.RAM_DISK).count();
    String decision = String.format(Locale.ROOT, "%d replicas, %s: %s", replication,
        policy.isBalanced() ? "balanced" : "greedy", types.isEmpty() ? "none" : types);
    LOG.debug("{} for {}", decision, path);
    synchronized (this) {
      placed += types.isEmpty() ? 0 : 1;
      refused += types.isEmpty() ? 1 : 0;
      elsewhere += !types.isEmpty() && inRam < policy.memoryReplicas(replication) ? 1 : 0;
      decisions.add(decision);
      if (decisions.size() > KEPT) {
        decisions.remove();
      }
    }
  }

  @Override
  public String getMode() {
    return settings.mode().toString();
  }

  @Override
  public String getPolicy() {
    return settings.policy().name().toLowerCase(Locale.ROOT);
  }

  @Override
  public synchronized long getBlocksPlaced() {
    return placed;
  }

  @Override
  public synchronized long getBlocksElsewhere() {
    return elsewhere;
  }

  @Override
  public synchronized long getBlocksRefused() {
    return refused;
  }

  @Override
  public synchronized String[] getDecisions() {
    return decisions.toArray(new String[0]);
  }
}

package org.apache.hadoop.hdfs.server.blockmanagement;

import io.howdah.storage.StorageMode;
import io.howdah.storage.TierSettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.AddBlockFlag;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.util.Time;

/**
 * Where the replicas of a block go in a storage mode: nodes as upstream's policy chooses them, types of storage by
 * {@link TierPolicy}. Files with another storage policy than HOT keep it. Thread-safe as upstream's.
 */
public class TierPlacement extends BlockPlacementPolicyDefault {
  private static final long LEVELS_MS = 1000;

  private TierSettings settings;
  private BlockStoragePolicy hot;
  private PlacementLog log;
  private volatile TierLevels levels;
  private volatile long levelsAt;

  /** Made by its name. */
  public TierPlacement() {
    super();
  }

  /** The policy that is used unless {@code dfs.block.replicator.classname} names one: upstream's without a mode. */
  public static Class<? extends BlockPlacementPolicy> orStock(Configuration conf) {
    return StorageMode.isSet(conf) ? TierPlacement.class : DFSConfigKeys.DFS_BLOCK_REPLICATOR_CLASSNAME_DEFAULT;
  }

  @Override
  public void initialize(Configuration conf, FSClusterStats stats, NetworkTopology cluster, Host2NodesMap hosts) {
    super.initialize(conf, stats, cluster, hosts);
    try {
      settings = TierSettings.of(conf);
    } catch (IOException e) {
      throw new IllegalArgumentException(e.getMessage(), e); // the NameNode does not start
    }
    hot = BlockStoragePolicySuite.createDefaultSuite().getPolicy(HdfsConstants.HOT_STORAGE_POLICY_ID);
    // The Balancer and fsck have one too, without statistics: they place no blocks.
    log = stats == null ? null : PlacementLog.ofNameNode(settings);
  }

  @Override
  public DatanodeStorageInfo[] chooseTarget(String path, int count, Node writer, List<DatanodeStorageInfo> chosen,
      boolean returnChosen, Set<Node> excluded, long blockSize, BlockStoragePolicy policy,
      EnumSet<AddBlockFlag> flags) {
    BlockStoragePolicy tiers = tiers(policy, blockSize);
    Set<Node> excludedBefore = excluded == null ? null : new HashSet<>(excluded); // upstream adds to it
    DatanodeStorageInfo[] targets =
        super.chooseTarget(path, count, writer, chosen, returnChosen, excluded, blockSize, tiers, flags);
    if (!(tiers instanceof TierPolicy)) {
      return targets;
    }
    List<DatanodeStorageInfo> all = all(chosen, targets, returnChosen);
    if (!chosen.isEmpty() && ((TierPolicy) tiers).isShort(chosen.size() + count, all)) {
      // RAM comes last: when the rest is placed, upstream does not say what is under way by then.
      DatanodeStorageInfo[] persistent = super.chooseTarget(path, count, writer, chosen, returnChosen, excludedBefore,
          blockSize, ((TierPolicy) tiers).withoutRam(), flags);
      if (persistent.length >= targets.length) {
        targets = persistent;
        all = all(chosen, targets, returnChosen);
      }
    }
    // A block that would be in RAM only is not placed: a power failure would lose it.
    boolean isRefused = !settings.mode().isRamEnough() && chosen.isEmpty() && targets.length > 0
        && all.stream().noneMatch(storage -> TierPolicy.isPersistent(storage.getStorageType()));
    if (log != null) {
      log.add(path, (TierPolicy) tiers, chosen.size() + count, isRefused ? Collections.emptyList() : all);
    }
    return isRefused ? DatanodeStorageInfo.EMPTY_ARRAY : targets;
  }

  private static List<DatanodeStorageInfo> all(List<DatanodeStorageInfo> chosen, DatanodeStorageInfo[] targets,
      boolean isWithChosen) {
    List<DatanodeStorageInfo> all = new ArrayList<>(Arrays.asList(targets));
    if (!isWithChosen) {
      all.addAll(0, chosen);
    }
    return all;
  }

  @Override
  DatanodeStorageInfo[] chooseTarget(String path, int count, Node writer, Set<Node> excluded, long blockSize,
      List<DatanodeDescriptor> favored, BlockStoragePolicy policy, EnumSet<AddBlockFlag> flags) {
    return super.chooseTarget(path, count, writer, excluded, blockSize, favored, tiers(policy, blockSize), flags);
  }

  /**
   * Chooses storage in RAM by what DataNodes last said is free. Upstream also counts blocks that were scheduled, and
   * one that the DataNode wrote to another tier for 10 to 20 minutes more. DataNodes do not need that count: a block
   * that finds no room in RAM goes to a slower tier.
   */
  @Override
  DatanodeStorageInfo chooseStorage4Block(DatanodeDescriptor node, long blockSize, List<DatanodeStorageInfo> chosen,
      StorageType type) {
    if (type == StorageType.RAM_DISK) {
      for (DatanodeStorageInfo storage : node.getStorageInfos()) {
        if (storage.getStorageType() == type && storage.getState() == DatanodeStorage.State.NORMAL
            && storage.getRemaining() >= blockSize) {
          chosen.add(storage);
          return storage;
        }
      }
    }
    return super.chooseStorage4Block(node, blockSize, chosen, type);
  }

  private BlockStoragePolicy tiers(BlockStoragePolicy policy, long blockSize) {
    boolean isTiered = policy != null && policy.getId() == HdfsConstants.HOT_STORAGE_POLICY_ID;
    return isTiered && !(policy instanceof TierPolicy) ? new TierPolicy(policy, settings, levels(), blockSize) : policy;
  }

  private TierLevels levels() {
    long now = Time.monotonicNow();
    TierLevels known = levels;
    if (known == null || now - levelsAt >= LEVELS_MS) {
      known = TierLevels.of(clusterMap);
      levels = known;
      levelsAt = now;
    }
    return known;
  }

  /** Has the levels looked at with the next block. */
  void forgetLevels() {
    levels = null;
  }

  @Override
  public List<DatanodeStorageInfo> chooseReplicasToDelete(Collection<DatanodeStorageInfo> candidates, int expected,
      List<StorageType> excess, DatanodeDescriptor added, DatanodeDescriptor hint) {
    List<StorageType> have = new ArrayList<>();
    candidates.forEach(storage -> have.add(storage.getStorageType()));
    // The file's policy is not said. What HOT has too much of is known, and the other policies differ from it.
    List<StorageType> ofHot = hot.chooseExcess((short) expected, have);
    boolean isTiered = have.size() > expected && sorted(ofHot).equals(sorted(excess));
    List<StorageType> ours = isTiered ? TierExcess.of(settings, have, expected) : excess;
    return super.chooseReplicasToDelete(candidates, expected, ours, added, hint);
  }

  /**
   * How many replicas a block is to have: as many as were asked for, and more if these are not on persistent storage as
   * the mode promises. When there is one there, one in RAM is too many. Under the NameNode's lock.
   */
  static short wanted(BlockManager blocks, BlockInfo block) {
    BlockPlacementPolicy policy = blocks.getBlockPlacementPolicy();
    return policy instanceof TierPlacement ? ((TierPlacement) policy).wantedOf(blocks, block) : block.getReplication();
  }

  private short wantedOf(BlockManager blocks, BlockInfo block) {
    short replication = block.getReplication();
    if (settings.mode().isRamEnough()) {
      return replication;
    }
    int live = 0;
    int persistent = 0;
    for (DatanodeStorageInfo storage : blocks.blocksMap.getStorages(block)) {
      if (isLive(blocks, block, storage)) {
        live++;
        persistent += TierPolicy.isPersistent(storage.getStorageType()) ? 1 : 0;
      }
    }
    int missing = Math.max(1, replication - settings.memoryReplicas(replication)) - persistent;
    boolean isShort = persistent < live && missing > 0 && isHot(blocks.getBlockCollection(block));
    return isShort ? (short) Math.max(replication, live + missing) : replication;
  }

  private static boolean isLive(BlockManager blocks, BlockInfo block, DatanodeStorageInfo storage) {
    DatanodeDescriptor node = storage.getDatanodeDescriptor();
    Collection<Block> excess = blocks.excessReplicateMap.get(node.getDatanodeUuid());
    return storage.getState() == DatanodeStorage.State.NORMAL && !node.isDecommissionInProgress()
        && !node.isDecommissioned() && !blocks.isReplicaCorrupt(block, node)
        && (excess == null || !excess.contains(block));
  }

  private static boolean isHot(BlockCollection file) {
    byte policy = file == null ? -1 : file.getStoragePolicyID();
    return policy == HdfsConstants.HOT_STORAGE_POLICY_ID || policy == HdfsConstants.BLOCK_STORAGE_POLICY_ID_UNSPECIFIED;
  }

  /** Those of a block's places that may be appended to: upstream asks read-only ones, too, which refuse. */
  public static DatanodeStorageInfo[] writable(DatanodeStorageInfo[] places) {
    return Arrays.stream(places).filter(place -> place.getState() != DatanodeStorage.State.READ_ONLY_SHARED)
        .toArray(DatanodeStorageInfo[]::new);
  }

  private static List<StorageType> sorted(List<StorageType> types) {
    List<StorageType> sorted = new ArrayList<>(types);
    sorted.sort(null);
    return sorted;
  }
}

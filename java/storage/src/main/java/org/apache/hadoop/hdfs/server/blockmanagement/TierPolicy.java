package org.apache.hadoop.hdfs.server.blockmanagement;

import io.howdah.storage.TierSettings;
import java.util.EnumSet;
import java.util.LinkedList;
import java.util.List;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.BlockStoragePolicy;

/**
 * The types of storage for the replicas of one block in a storage mode. Takes the place of the policy HOT, which files
 * have unless another one is set for them. Immutable.
 */
final class TierPolicy extends BlockStoragePolicy {
  private static final StorageType[] PERSISTENT = {StorageType.SSD, StorageType.DISK};

  private final TierSettings settings;
  private final TierLevels levels;
  private final long blockSize;

  TierPolicy(BlockStoragePolicy hot, TierSettings settings, TierLevels levels, long blockSize) {
    // Persistent replicas never fall back to RAM.
    super(hot.getId(), hot.getName(), hot.getStorageTypes(), PERSISTENT, PERSISTENT);
    this.settings = settings;
    this.levels = levels;
    this.blockSize = blockSize;
  }

  @Override
  public List<StorageType> chooseStorageTypes(short replication) {
    return isBalanced() ? balanced(replication) : greedy(replication);
  }

  /** As upstream's, but never more types than there are replicas missing: those that moved down are not replaced. */
  @Override
  public List<StorageType> chooseStorageTypes(short replication, Iterable<StorageType> chosen,
      EnumSet<StorageType> unavailables, boolean isNewBlock) {
    List<StorageType> types = super.chooseStorageTypes(replication, chosen, unavailables, isNewBlock);
    int missing = replication;
    int promised = replication - memoryReplicas(replication);
    for (StorageType type : chosen) {
      missing--;
      promised -= isPersistent(type) ? 1 : 0;
    }
    if (types.size() <= Math.max(0, missing)) {
      return types;
    }
    List<StorageType> first = new LinkedList<>();
    List<StorageType> rest = new LinkedList<>();
    for (StorageType type : types) {
      (isPersistent(type) && promised-- > 0 ? first : rest).add(type);
    }
    first.addAll(rest);
    return new LinkedList<>(first.subList(0, Math.max(0, missing)));
  }

  /** The same as if no DataNode had RAM for blocks. */
  TierPolicy withoutRam() {
    return new TierPolicy(this, settings, levels.without(StorageType.RAM_DISK), blockSize);
  }

  /**
   * Whether a block will have fewer persistent replicas than promised, and one in RAM for it, since not all of the
   * replicas that it is to have could be placed.
   */
  boolean isShort(int expected, List<DatanodeStorageInfo> placed) {
    long persistent = placed.stream().filter(storage -> isPersistent(storage.getStorageType())).count();
    return !settings.mode().isRamEnough() && placed.size() < expected && persistent < placed.size()
        && persistent < expected - memoryReplicas(expected);
  }

  static boolean isPersistent(StorageType type) {
    return type != StorageType.RAM_DISK;
  }

  /** How many replicas are in RAM if there is room. */
  int memoryReplicas(int replication) {
    return settings.memoryReplicas(replication);
  }

  boolean isBalanced() {
    switch (settings.policy()) {
      case BALANCED:
        return true;
      case GREEDY:
        return false;
      default:
        return !levels.has(StorageType.RAM_DISK) && levels.has(StorageType.SSD) && levels.has(StorageType.DISK);
    }
  }

  /** As many in RAM as are wanted, one on SSD and what RAM had no room for, the rest on disk. */
  private List<StorageType> greedy(int replication) {
    int wanted = settings.memoryReplicas(replication);
    int ram = levels.hasRoom(StorageType.RAM_DISK, blockSize) ? wanted : 0;
    int persistent = replication - ram;
    int ssd = 0;
    if (levels.hasRoom(StorageType.SSD, blockSize)) {
      boolean isAlone = !levels.hasRoom(StorageType.DISK, blockSize);
      ssd = isAlone ? persistent : Math.min(persistent, 1 + wanted - ram);
    }
    List<StorageType> types = new LinkedList<>();
    add(types, StorageType.RAM_DISK, ram);
    add(types, StorageType.SSD, ssd);
    add(types, StorageType.DISK, persistent - ssd);
    return types;
  }

  private static void add(List<StorageType> types, StorageType type, int count) {
    for (int i = 0; i < count; i++) {
      types.add(type);
    }
  }

  /** Each on the tier that is filled least after it, by weight; in RAM as many as are wanted at most. */
  private List<StorageType> balanced(int replication) {
    List<StorageType> types = new LinkedList<>();
    int ram = settings.memoryReplicas(replication);
    while (types.size() < replication) {
      StorageType best = least(types, ram > 0);
      ram -= best == StorageType.RAM_DISK ? 1 : 0;
      types.add(best);
    }
    return types;
  }

  private StorageType least(List<StorageType> chosen, boolean inRam) {
    StorageType best = null;
    double bestLevel = 0;
    for (StorageType type : new StorageType[] {StorageType.RAM_DISK, StorageType.SSD, StorageType.DISK}) {
      if (levels.hasRoom(type, blockSize) && (inRam || type != StorageType.RAM_DISK)) {
        long more = blockSize * (1 + chosen.stream().filter(other -> other == type).count());
        double level = levels.fill(type, more) / settings.weight(type);
        if (best == null || level < bestLevel) {
          best = type;
          bestLevel = level;
        }
      }
    }
    return best != null ? best : StorageType.DISK;
  }
}

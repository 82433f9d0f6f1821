package org.apache.hadoop.hdfs.server.blockmanagement;

import java.util.EnumMap;
import java.util.Map;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.net.NetworkTopology;
import org.apache.hadoop.net.Node;
import org.apache.hadoop.net.NodeBase;

/** How full each type of storage is, summed over the DataNodes that take blocks. Immutable. */
final class TierLevels {
  private static final class Level {
    private long capacity;
    private long remaining;
    private long largest;
  }

  private final Map<StorageType, Level> levels = new EnumMap<>(StorageType.class);

  /** The sums of a cluster as they are now. */
  static TierLevels of(NetworkTopology cluster) {
    TierLevels sums = new TierLevels();
    for (Node node : cluster.getLeaves(NodeBase.ROOT)) {
      if (node instanceof DatanodeDescriptor) {
        sums.add((DatanodeDescriptor) node);
      }
    }
    return sums;
  }

  private void add(DatanodeDescriptor node) {
    if (node.isDecommissioned() || node.isDecommissionInProgress()) {
      return;
    }
    for (DatanodeStorageInfo storage : node.getStorageInfos()) {
      if (storage.getState() == DatanodeStorage.State.NORMAL) {
        add(storage.getStorageType(), storage.getCapacity(), storage.getRemaining());
      }
    }
  }

  TierLevels add(StorageType type, long capacity, long remaining) {
    Level level = levels.computeIfAbsent(type, key -> new Level());
    level.capacity += capacity;
    level.remaining += remaining;
    level.largest = Math.max(level.largest, remaining);
    return this;
  }

  /** The same of all types but one. */
  TierLevels without(StorageType type) {
    TierLevels others = new TierLevels();
    others.levels.putAll(levels);
    others.levels.remove(type);
    return others;
  }

  /** Whether a DataNode has storage of the type. */
  boolean has(StorageType type) {
    return levels.containsKey(type);
  }

  /** Whether a DataNode has room for so many bytes on storage of the type. */
  boolean hasRoom(StorageType type, long bytes) {
    Level level = levels.get(type);
    return level != null && level.largest >= bytes;
  }

  /** The share of the type's capacity that is used once so many bytes more are; 1 if there is none. */
  double fill(StorageType type, long more) {
    Level level = levels.get(type);
    return level == null || level.capacity <= 0 ? 1
        : (level.capacity - level.remaining + more) / (double) level.capacity;
  }
}

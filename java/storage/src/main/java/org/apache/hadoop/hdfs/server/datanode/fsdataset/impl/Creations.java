package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.BlockEvent;
import io.howdah.storage.Reason;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.ReplicaAlreadyExistsException;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.util.DiskChecker.DiskOutOfSpaceException;

/** Where new replicas go: to the tier that is asked for, or to a slower one that has room. Thread-safe. */
final class Creations {
  private static final Map<StorageType, List<StorageType>> SLOWER = new EnumMap<>(StorageType.class);

  static {
    SLOWER.put(StorageType.RAM_DISK, Arrays.asList(StorageType.SSD, StorageType.DISK));
    SLOWER.put(StorageType.SSD, Collections.singletonList(StorageType.DISK));
  }

  private final TierDataset dataset;

  Creations(TierDataset dataset) {
    this.dataset = dataset;
  }

  /** The types of storage that are slower than one, and take what that has no room for, in turn. */
  static List<StorageType> slower(StorageType type) {
    return SLOWER.getOrDefault(type, Collections.emptyList());
  }

  /** Creates a replica on a type of storage. */
  interface Creation {
    ReplicaHandler on(StorageType type) throws IOException;
  }

  /** Creates a replica that a writer or another DataNode sends. */
  ReplicaHandler create(StorageType asked, ExtendedBlock block, Creation creation) throws IOException {
    if (asked == StorageType.RAM_DISK) {
      dataset.mover().makeRoom(block.getNumBytes());
    }
    try {
      return created(asked, asked, block, Reason.ASKED, creation);
    } catch (DiskOutOfSpaceException e) {
      Reason reason = dataset.volumes(asked).isEmpty() ? Reason.NO_SUCH_TIER
          : asked == StorageType.RAM_DISK ? Reason.RAM_FULL : Reason.TIER_FULL;
      for (StorageType slower : slower(asked)) {
        try {
          return created(asked, slower, block, reason, creation);
        } catch (DiskOutOfSpaceException more) {
          e.addSuppressed(more);
        }
      }
      throw e;
    }
  }

  private ReplicaHandler created(StorageType asked, StorageType type, ExtendedBlock block, Reason reason,
      Creation creation) throws IOException {
    ReplicaHandler made = creation.on(type);
    ReplicaInfo replica = dataset.volumeMap.get(block.getBlockPoolId(), block.getBlockId());
    if (replica != null) {
      dataset.note(TierDataset.key(block), replica, BlockEvent.Kind.CREATED, asked,
          replica.getVolume().getStorageType(), reason);
    }
    dataset.counts().created(asked, type);
    return made;
  }

  /**
   * Creates a replica that the NameNode has another DataNode send, unless there is one. Then the NameNode does not know
   * of it, and is told, or it would have it sent here again and again.
   */
  ReplicaHandler copy(StorageType asked, ExtendedBlock block, Creation creation) throws IOException {
    try {
      return create(asked, block, creation);
    } catch (ReplicaAlreadyExistsException e) {
      if (dropOutdated(block)) {
        return create(asked, block, creation);
      }
      dataset.places().tell(TierDataset.key(block));
      throw e;
    }
  }

  /**
   * Removes what was being written when the DataNode ended, if the block has a newer generation stamp by now. Upstream
   * refuses the block until the NameNode hears of the other one, by the next full report.
   *
   * @return whether there was such a replica
   */
  private boolean dropOutdated(ExtendedBlock block) throws IOException {
    ReplicaInfo there = dataset.volumeMap.get(block.getBlockPoolId(), block.getBlockId());
    boolean isOutdated = there != null && there.getState() == ReplicaState.RWR
        && there.getGenerationStamp() < block.getGenerationStamp();
    if (isOutdated) {
      dataset.invalidate(block.getBlockPoolId(), new Block[] {there});
    }
    return isOutdated;
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.IOException;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.DamageReports;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/**
 * Makes replicas in RAM whose checksums are wrong anew from their shadows, in the mode HHH-M, and drops copies in RAM
 * that are damaged: when upstream's scanner meets the damage, and when the NameNode, which readers tell of it, has no
 * other replica of the block to read. It has a block that has others copied from these by itself. Thread-safe.
 */
final class Repairs {
  private static final long ASK_MS = 30_000;
  /** How long it is at most until the NameNode is asked again whose answers were of no use. */
  private static final long MOST_ASK_MS = 600_000;

  private final TierDataset dataset;
  private boolean isRefused;
  private long wait = ASK_MS;
  private long next;

  private interface Repair {
    boolean of(ExtendedBlockId block, ReplicaInfo replica) throws IOException;
  }

  Repairs(TierDataset dataset) {
    this.dataset = dataset;
  }

  /**
   * Makes a replica in RAM anew if it is damaged and its shadow is not. Reads all of both.
   *
   * @return whether that was done
   */
  boolean makeAnew(ExtendedBlockId block) {
    return repair(block, this::isMadeAnew);
  }

  /** Likewise; but if what readers have met is a damaged copy in RAM, that is dropped. */
  boolean repair(ExtendedBlockId block) {
    return repair(block, (id, replica) -> isCopyDropped(id) || isMadeAnew(id, replica));
  }

  private boolean repair(ExtendedBlockId block, Repair repair) {
    String pool = block.getBlockPoolId();
    ReplicaInfo replica = dataset.volumeMap.get(pool, block.getBlockId());
    if (!(replica instanceof FinalizedReplica) || !dataset.begin(block)) {
      return false;
    }
    try {
      if (!repair.of(block, replica)) {
        return false;
      }
    } catch (IOException e) {
      dataset.counts().failures.increment();
      TierDataset.LOG.warn("{} in {} is damaged in RAM, and that cannot be mended", replica.getBlockName(),
          replica.getVolume(), e);
      return false;
    } finally {
      dataset.end(block);
    }
    dataset.counts().failures.increment();
    DamageReports.madeAnew(dataset.datanode, new ExtendedBlock(pool, replica), replica.getVolume().getStorageID());
    return true;
  }

  private boolean isMadeAnew(ExtendedBlockId block, ReplicaInfo replica) throws IOException {
    ReplicaCopy shadow = dataset.shadows().of(block.getBlockPoolId(), replica);
    if (shadow == null || !shadow.isReplicaDamaged() || !shadow.isSound() || !shadow.restore()) {
      return false;
    }
    TierDataset.LOG.warn("{} in {} was damaged, and was made anew from its copy in {}", replica.getBlockName(),
        replica.getVolume(), shadow.volume());
    dataset.repaired(block, replica, shadow);
    return true;
  }

  private boolean isCopyDropped(ExtendedBlockId block) throws IOException {
    if (!dataset.copies().isDamaged(block)) {
      return false;
    }
    dataset.copies().drop(block);
    TierDataset.LOG.warn("the copy in RAM of blk_{} was damaged, and was dropped: the replica is read in its place",
        block.getBlockId());
    return true;
  }

  /** Asks the NameNodes now and then. Used by one thread. */
  void round(long now) {
    if (now < next || dataset.shadows().isEmpty() && dataset.copies().size() == 0) {
      return;
    }
    boolean isOfUse = true;
    for (String pool : dataset.volumeMap.getBlockPoolList()) {
      isOfUse &= !dataset.isOpen(pool) || ask(pool);
    }
    wait = isOfUse ? ASK_MS : Math.min(2 * wait, MOST_ASK_MS);
    next = now + wait;
  }

  /**
   * Repairs what a NameNode has no replica of that is not damaged.
   *
   * @return whether to ask again soon: not if it names blocks and none of them can be repaired here
   */
  boolean ask(String pool) {
    int named = 0;
    int repaired = 0;
    try {
      for (Block block : DamageReports.damaged(dataset.datanode, pool)) {
        named++;
        repaired += repair(new ExtendedBlockId(block.getBlockId(), pool)) ? 1 : 0;
      }
      isRefused = false;
    } catch (IOException e) {
      if (!isRefused) {
        TierDataset.LOG.info("the NameNode does not say which blocks are damaged ({}): replicas in RAM are made anew "
            + "when they are scanned", e.toString());
      }
      isRefused = true;
    }
    return named == 0 || repaired > 0;
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

/** What a DataNode's JMX shows of a storage mode. Sizes are bytes, counts are since the start. */
public interface TierStatusMXBean {
  /** The mode. */
  String getMode();

  /** What blocks may fill of folders in RAM. */
  long getRamCapacity();

  /** What of it is used or reserved. */
  long getRamFilled();

  /** Down to what cold replicas leave folders in RAM. */
  long getRamLowMark();

  /** Replicas on slower tiers that have a copy in RAM. */
  int getCopiesInRam();

  /** Bytes of these copies. */
  long getCopiesInRamBytes();

  /** Replicas that are being moved. */
  int getMovesInFlight();

  /** Replicas that were created in RAM. */
  long getCreatedInRam();

  /** Replicas that were created on a slower tier than the one that was asked for. */
  long getCreatedElsewhere();

  /** Times that a finalized replica was opened. */
  long getReads();

  /** Those of them that were served from RAM. */
  long getReadsFromRam();

  /** Replicas that were moved to another tier. */
  long getMoves();

  /** Bytes of them. */
  long getMovedBytes();

  /** Copies that were made in RAM. */
  long getCopies();

  /** Bytes of them. */
  long getCopiedBytes();

  /** Replicas in RAM that were persisted behind, in the mode HHH-M. */
  long getPersisted();

  /** Bytes of them. */
  long getPersistedBytes();

  /** Replicas in RAM that a power failure would lose now, in the mode HHH-M; without it 0. */
  int getUnpersisted();

  /** Bytes of them. */
  long getUnpersistedBytes();

  /** Blocks that have a copy on the shared path, in the mode HHH-L; without it this and what follows is 0. */
  int getShared();

  /** Bytes of them. */
  long getSharedBytes();

  /** Replicas of this DataNode, those that are being written included, without a copy on the shared path. */
  int getUnshared();

  /** Bytes of them. */
  long getUnsharedBytes();

  /** Blocks of which this DataNode has the copy on the shared path only. */
  int getSharedOnly();

  /** Blocks of other DataNodes that this one serves from the shared path. */
  int getKept();

  /** DataNodes that these are of. */
  int getKeptOwners();

  /** Milliseconds since the shared path answered. */
  long getSharedPathSilence();

  /** Moves and copies that failed. */
  long getFailures();
}

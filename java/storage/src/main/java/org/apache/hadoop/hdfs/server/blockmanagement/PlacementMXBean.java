package org.apache.hadoop.hdfs.server.blockmanagement;

/** What the NameNode's JMX shows of a storage mode. */
public interface PlacementMXBean {
  /** The mode. */
  String getMode();

  /** How tiers are chosen: auto, greedy or balanced. */
  String getPolicy();

  /** Blocks that were placed, re-replication included. */
  long getBlocksPlaced();

  /** Blocks of which a replica went to another tier than the first choice. */
  long getBlocksElsewhere();

  /** Blocks that were not placed, because no persistent storage had room. */
  long getBlocksRefused();

  /** The last decisions, oldest first: replicas wanted, policy, types of all replicas. */
  String[] getDecisions();
}

package org.apache.hadoop.hdfs.server.blockmanagement;

/** What tests tell the NameNode's placement. */
public final class Placement {
  private Placement() {
  }

  /** The next block is placed by the room that there is now, not by that of the last second. */
  public static void lookAgain(BlockManager blocks) {
    ((TierPlacement) blocks.getBlockPlacementPolicy()).forgetLevels();
  }
}

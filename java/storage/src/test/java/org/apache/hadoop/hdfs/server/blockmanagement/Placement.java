package org.apache.hadoop.hdfs.server.blockmanagement;

import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.DatanodeID;

/** What tests tell the NameNode's placement. */
public final class Placement {
  private Placement() {
  }

  /** The next block is placed by the room that there is now, not by that of the last second. */
  public static void lookAgain(BlockManager blocks) {
    ((TierPlacement) blocks.getBlockPlacementPolicy()).forgetLevels();
  }

  /** A DataNode was said to have a damaged replica, which was an older one and is no longer known. */
  public static void saidDamaged(BlockManager blocks, Block block, DatanodeID node) {
    DatanodeDescriptor known = blocks.getDatanodeManager().getDatanode(node.getDatanodeUuid());
    blocks.corruptReplicas.addToCorruptReplicasMap(block, known, "a test",
        CorruptReplicasMap.Reason.GENSTAMP_MISMATCH);
  }
}

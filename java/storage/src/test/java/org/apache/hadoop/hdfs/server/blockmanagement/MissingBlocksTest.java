package org.apache.hadoop.hdfs.server.blockmanagement;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.hadoop.hdfs.protocol.Block;
import org.junit.jupiter.api.Test;

/** Upstream's queues of blocks that have too few replicas, as a patch mends them. */
class MissingBlocksTest {
  @Test
  void aBlockWhoseReplicaIsBackOnAnotherStorageIsNoLongerMissing() {
    UnderReplicatedBlocks queues = new UnderReplicatedBlocks();
    BlockInfo block = new BlockInfoContiguous(new Block(1, 1000, 1), (short) 2);
    queues.add(block, 0, 0, 0, 2);
    assertThat(queues.getCorruptBlockSize()).isOne();
    queues.update(block, 1, 0, 0, 2, 0, 0); // what counts is on another storage of the same DataNode
    assertThat(queues.getCorruptBlockSize()).isZero();
    assertThat(queues.size()).isOne();
    queues.remove(block, 2, 0, 0, 2);
    assertThat(queues.size()).isZero();
  }
}

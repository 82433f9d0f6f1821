package org.apache.spark.network.rdma;

import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockId;

/** The blocks of this process, a driver or an executor. Thread-safe. */
final class ExecutorBlocks implements BlockSource {
  private final BlockDataManager blocks;

  ExecutorBlocks(BlockDataManager blocks) {
    this.blocks = blocks;
  }

  @Override
  public ManagedBuffer find(ServerSession session, String executor, BlockName block) {
    if (executor != null) {
      throw new IllegalArgumentException("this is no shuffle service that has blocks of executor " + executor);
    }
    return blocks.getBlockData(block.isShuffle() ? new ShuffleBlockId(block.shuffle, block.map, block.reduce)
        : id(block.toString()));
  }

  /** @throws IllegalArgumentException for what is no block's name */
  static BlockId id(String name) {
    try {
      return BlockId.apply(name);
    } catch (IllegalStateException | NumberFormatException e) {
      throw new IllegalArgumentException("no block is called " + name, e);
    }
  }
}

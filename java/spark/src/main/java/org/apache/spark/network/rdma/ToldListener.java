package org.apache.spark.network.rdma;

import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/**
 * Tells a reader of each block. A reader that throws while it takes a block, for lack of memory say, is told that the
 * block failed: it would wait for it otherwise. Thread-safe if the reader is.
 */
final class ToldListener implements BlockFetchingListener {
  private final BlockFetchingListener reader;

  ToldListener(BlockFetchingListener reader) {
    this.reader = reader;
  }

  @Override
  public void onBlockFetchSuccess(String block, ManagedBuffer data) {
    try {
      reader.onBlockFetchSuccess(block, data);
    } catch (RuntimeException | Error e) {
      BlockLog.LOG.error("Block {} came, but its reader could not take it", block, e);
      onBlockFetchFailure(block, e);
    }
  }

  @Override
  public void onBlockFetchFailure(String block, Throwable cause) {
    reader.onBlockFetchFailure(block, cause);
  }
}

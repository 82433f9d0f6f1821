package org.apache.spark.network.rdma;

import org.apache.spark.network.buffer.ManagedBuffer;

/** Where a server's blocks come from. Thread-safe. */
interface BlockSource {
  /**
   * @param session who asks
   * @param executor whose block it is, as the client says; null if it takes the server for the executor
   * @return the block, to be released by the caller; never null
   * @throws RuntimeException of any kind if there is none; Scala's methods throw more than that
   */
  ManagedBuffer find(ServerSession session, String executor, BlockName block);
}

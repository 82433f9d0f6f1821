package org.apache.spark.network.rdma;

import org.apache.spark.network.util.TransportConf;

/** How much a server does at a time. Immutable. */
final class ServerOptions {
  private static final int HANDLERS_MAX = 4;

  /** Most bytes of blocks in one answer. */
  final int batchBytes;
  /** Requests that may wait. */
  final int queue;
  /** Threads that read blocks. */
  final int handlers;
  /** How long a peer may be silent. */
  final int timeoutMillis;

  /** How much memory answers may take. */
  final MemoryShares memory;

  ServerOptions(RdmaBlockConf conf, TransportConf transport, MemoryShares memory) {
    this.memory = memory;
    batchBytes = conf.batchBytes();
    queue = conf.queue();
    timeoutMillis = transport.connectionTimeoutMs();
    // 0 threads are Netty's way to say that it should look for itself, as a shuffle service has it.
    int threads = transport.serverThreads();
    threads = threads > 0 ? threads : Runtime.getRuntime().availableProcessors();
    handlers = conf.handlers() > 0 ? conf.handlers() : Math.min(HANDLERS_MAX, threads);
  }
}

package org.apache.spark.network.rdma;

import io.howdah.engine.Engine;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;

/** Allocates memory for answers, as far as the server's share of the engine's limit goes. Thread-safe. */
final class MemoryGate {
  private static final long PAUSE = 2;

  private final Engine engine;
  private final MemoryShares shares;
  private final BlockMetrics metrics;

  MemoryGate(Engine engine, MemoryShares shares, BlockMetrics metrics) {
    this.engine = engine;
    this.shares = shares;
    this.metrics = metrics;
  }

  /**
   * Waits for memory, for as long as a peer would wait for the answer.
   *
   * @throws MemoryLimitException if there is none in time, or never can be
   */
  RegisteredBuffer allocate(int size, long timeoutMillis) throws IOException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMillis);
    boolean waited = false;
    for (;;) {
      try {
        if (size > shares.serving() || shares.mayAnswer(size)) {
          return engine.allocate(Math.max(1, size)); // above the limit, this fails with the engine's message
        }
      } catch (MemoryLimitException e) {
        if (size > shares.serving() || System.nanoTime() - end >= 0) {
          throw e;
        }
      }
      if (System.nanoTime() - end >= 0) {
        return engine.allocate(size);
      }
      if (!waited) {
        metrics.stalls.inc();
        waited = true;
      }
      pause();
    }
  }

  private static void pause() throws InterruptedIOException {
    try {
      Thread.sleep(PAUSE);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting for memory");
    }
  }
}

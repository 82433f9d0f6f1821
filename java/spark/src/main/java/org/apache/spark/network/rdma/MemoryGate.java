package org.apache.spark.network.rdma;

import io.howdah.engine.Counter;
import io.howdah.engine.Engine;
import io.howdah.engine.EngineOption;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.util.JavaUtils;

/**
 * Memory for answers, of which three quarters of the engine's limit can be had. The rest is left to what arrives: two
 * processes that had filled their memory with answers to each other could take neither. Thread-safe.
 */
final class MemoryGate {
  private static final long PAUSE = 2;

  private final Engine engine;
  private final BlockMetrics metrics;
  private final long limit;
  private long used; // at the last look
  private long taken; // since then

  MemoryGate(Engine engine, BlockMetrics metrics) {
    this.engine = engine;
    this.metrics = metrics;
    this.limit = JavaUtils.byteStringAsBytes(engine.option(EngineOption.MEMORY_LIMIT)) / 4 * 3;
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
        if (size > limit || isOpen(size)) {
          return engine.allocate(Math.max(1, size)); // what is too large for the limit fails here, with the right words
        }
      } catch (MemoryLimitException e) {
        if (size > limit || System.nanoTime() - end >= 0) {
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

  /** The counter is asked only if what was taken since the last time could matter. */
  private synchronized boolean isOpen(int size) throws IOException {
    if (used + taken + size > limit) {
      used = engine.counters().get(Counter.MEMORY_USED);
      taken = 0;
    }
    if (used + size > limit) {
      return false;
    }
    taken += size;
    return true;
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

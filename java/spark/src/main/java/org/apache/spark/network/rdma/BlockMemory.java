package org.apache.spark.network.rdma;

import io.howdah.engine.RegisteredBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/** A registered buffer that several blocks lie in; it is given back with the last of them. Thread-safe. */
final class BlockMemory {
  private final RegisteredBuffer buffer;
  private final BlockMetrics metrics;
  private final AtomicInteger references = new AtomicInteger(1);

  /** With one reference, the caller's. */
  BlockMemory(RegisteredBuffer buffer, BlockMetrics metrics) {
    this.buffer = buffer;
    this.metrics = metrics;
    metrics.held.inc(buffer.length());
  }

  RegisteredBuffer buffer() {
    return buffer;
  }

  boolean isReleased() {
    return references.get() == 0;
  }

  BlockMemory retain() {
    int count;
    do {
      count = references.get();
      if (count == 0) {
        throw new IllegalStateException("the block's memory was given back already");
      }
    } while (!references.compareAndSet(count, count + 1));
    return this;
  }

  void release() {
    int left = references.decrementAndGet();
    if (left < 0) {
      references.set(0);
      throw new IllegalStateException("a block's memory was given back once too often");
    }
    if (left == 0) {
      metrics.held.dec(buffer.length());
      buffer.release();
    }
  }
}

package org.apache.spark.network.rdma;

import io.howdah.engine.RegisteredBuffer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Memory that one or several fetched blocks lie in: a registered buffer of the engine, or a copy of it that Netty's
 * allocator gave. It is freed with the last reference. Thread-safe.
 */
final class BlockMemory {
  private final RegisteredBuffer buffer;
  private final ByteBuf copy;
  private final int length;
  private final MemoryShares shares;
  private final BlockMetrics metrics;
  private final AtomicInteger references = new AtomicInteger(1);

  private BlockMemory(RegisteredBuffer buffer, ByteBuf copy, int length, MemoryShares shares, BlockMetrics metrics) {
    this.buffer = buffer;
    this.copy = copy;
    this.length = length;
    this.shares = shares;
    this.metrics = metrics;
    metrics.held.inc(length);
  }

  /** An answer that stays where it is; {@link MemoryShares#keep} has made room for it. With one reference. */
  static BlockMemory kept(RegisteredBuffer answer, MemoryShares shares, BlockMetrics metrics) {
    return new BlockMemory(answer, null, answer.length(), shares, metrics);
  }

  /**
   * A copy of an answer, which stays the caller's. With one reference.
   *
   * @throws OutOfMemoryError if the JVM has no room for it, as with blocks that come over Netty
   */
  static BlockMemory copied(RegisteredBuffer answer, ByteBufAllocator allocator, BlockMetrics metrics) {
    ByteBuf copy = allocator.buffer(answer.length(), Math.max(1, answer.length()));
    try {
      copy.writeBytes(answer.buffer().duplicate());
      metrics.copiedBytes.inc(answer.length());
      return new BlockMemory(null, copy, answer.length(), null, metrics);
    } catch (RuntimeException | Error e) {
      copy.release();
      throw e;
    }
  }

  /** In bytes. */
  int length() {
    return length;
  }

  /** A view of a part, with position 0. */
  ByteBuffer slice(int offset, int bytes) {
    return copy == null ? buffer.slice(offset, bytes) : copy.nioBuffer(offset, bytes);
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
      metrics.held.dec(length);
      if (copy != null) {
        copy.release();
      } else {
        buffer.release();
        shares.release(MemoryShares.charge(length));
      }
    }
  }
}

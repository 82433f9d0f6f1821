package org.apache.spark.network.rdma;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * A block in the engine's memory: one that was fetched, in the registered buffers that the transport put it into, or
 * one of this executor's map output. Made with one reference; the last release gives the memory back. Thread-safe.
 */
public final class RdmaManagedBuffer extends ManagedBuffer {
  private final Runnable free;
  private final ByteBuffer[] parts;
  private final long size;
  private final AtomicInteger references = new AtomicInteger(1);

  /** Part of a buffer that the block takes a reference to. */
  RdmaManagedBuffer(BlockMemory whole, int offset, int length) {
    this(new ByteBuffer[] {whole.slice(offset, length)}, length, whole.retain()::release);
  }

  /** The pieces one after the other, whose references become the block's. */
  RdmaManagedBuffer(BlockMemory[] pieces, long size) {
    this(views(pieces), size, () -> release(pieces));
  }

  /**
   * Consecutive parts of memory.
   *
   * @param free run once, after the last release
   */
  public RdmaManagedBuffer(ByteBuffer[] parts, long size, Runnable free) {
    this.parts = parts.clone();
    this.size = size;
    this.free = free;
  }

  private static ByteBuffer[] views(BlockMemory[] pieces) {
    ByteBuffer[] views = new ByteBuffer[pieces.length];
    for (int i = 0; i < pieces.length; i++) {
      views[i] = pieces[i].slice(0, pieces[i].length());
    }
    return views;
  }

  private static void release(BlockMemory[] pieces) {
    for (BlockMemory piece : pieces) {
      piece.release();
    }
  }

  @Override
  public long size() {
    return size;
  }

  /** Without a copy, unless the block is in several pieces. */
  @Override
  public ByteBuffer nioByteBuffer() {
    check();
    if (parts.length == 1) {
      return parts[0].duplicate();
    }
    ByteBuffer whole = ByteBuffer.allocate(Math.toIntExact(size));
    copyTo(whole);
    whole.flip();
    return whole;
  }

  /** Puts all bytes into the buffer, which has room for them. */
  void copyTo(ByteBuffer to) {
    check();
    for (ByteBuffer part : parts) {
      to.put(part.duplicate());
    }
  }

  /** Fills the buffer with the bytes from the offset on. */
  void copyTo(long offset, ByteBuffer to) {
    check();
    long skip = offset;
    for (ByteBuffer part : parts) {
      ByteBuffer from = part.duplicate();
      if (skip >= from.remaining()) {
        skip -= from.remaining();
        continue;
      }
      from.position(from.position() + (int) skip);
      skip = 0;
      from.limit(from.position() + Math.min(from.remaining(), to.remaining()));
      to.put(from);
      if (!to.hasRemaining()) {
        return;
      }
    }
  }

  @Override
  public InputStream createInputStream() {
    check();
    return new Input();
  }

  @Override
  public ManagedBuffer retain() {
    int count;
    do {
      count = references.get();
      if (count == 0) {
        throw new IllegalStateException("the block was released already");
      }
    } while (!references.compareAndSet(count, count + 1));
    return this;
  }

  @Override
  public ManagedBuffer release() {
    int left = references.decrementAndGet();
    if (left < 0) {
      references.set(0);
      throw new IllegalStateException("the block was released once too often");
    }
    if (left == 0) {
      free.run();
    }
    return this;
  }

  @Override
  public Object convertToNetty() {
    check();
    ByteBuffer[] views = new ByteBuffer[parts.length];
    for (int i = 0; i < parts.length; i++) {
      views[i] = parts[i].duplicate();
    }
    return Unpooled.wrappedBuffer(views);
  }

  private void check() {
    if (references.get() == 0) {
      throw new IllegalStateException("the block was released already");
    }
  }

  @Override
  public String toString() {
    return "RdmaManagedBuffer of " + size + " bytes in " + parts.length;
  }

  /** Reads the parts. Memory that was given back is somebody else's, so reading it is an error and not stale bytes. */
  private final class Input extends InputStream {
    private int at;
    private ByteBuffer part = parts.length == 0 ? ByteBuffer.allocate(0) : parts[0].duplicate();

    private boolean next() throws IOException {
      if (references.get() == 0) {
        throw new IOException("the block was released while it was read");
      }
      while (!part.hasRemaining()) {
        if (at + 1 >= parts.length) {
          return false;
        }
        part = parts[++at].duplicate();
      }
      return true;
    }

    @Override
    public int read() throws IOException {
      return next() ? part.get() & 0xff : -1;
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      if (!next()) {
        return -1;
      }
      int bytes = Math.min(length, part.remaining());
      part.get(to, offset, bytes);
      return bytes;
    }

    @Override
    public long skip(long bytes) throws IOException {
      if (bytes <= 0 || !next()) {
        return 0;
      }
      int skipped = (int) Math.min(bytes, part.remaining());
      part.position(part.position() + skipped);
      return skipped;
    }

    @Override
    public int available() {
      return part.remaining();
    }
  }
}

package org.apache.spark.network.rdma;

import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * A fetched block, in the memory that the transport put it into: one part of a registered buffer, or several buffers
 * for a block larger than a piece. Made with one reference; the last release gives the memory back. Thread-safe.
 */
final class RdmaManagedBuffer extends ManagedBuffer {
  private final BlockMemory[] memory;
  private final ByteBuffer[] parts;
  private final long size;
  private final AtomicInteger references = new AtomicInteger(1);

  /** Part of a buffer that the block takes a reference to. */
  RdmaManagedBuffer(BlockMemory whole, int offset, int length) {
    memory = new BlockMemory[] {whole.retain()};
    parts = new ByteBuffer[] {whole.slice(offset, length)};
    size = length;
  }

  /** The pieces one after the other, whose references become the block's. */
  RdmaManagedBuffer(BlockMemory[] pieces, long size) {
    memory = pieces.clone();
    parts = new ByteBuffer[pieces.length];
    for (int i = 0; i < pieces.length; i++) {
      parts[i] = pieces[i].slice(0, pieces[i].length());
    }
    this.size = size;
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
      for (BlockMemory part : memory) {
        part.release();
      }
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

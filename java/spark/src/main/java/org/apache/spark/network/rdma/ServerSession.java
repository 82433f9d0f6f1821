package org.apache.spark.network.rdma;

import io.howdah.engine.EngineStream;
import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.network.buffer.ManagedBuffer;

/**
 * A peer that may ask for blocks, for as long as its stream is open; its number is random and known to it alone. Blocks
 * that are opened for it are held until they were read, given up, or the session ends. Thread-safe.
 */
final class ServerSession {
  private static final int OPENED_MAX = 4096;

  private final long id;
  private final EngineStream stream;
  private final String peer;
  private final String application;
  private final Map<Long, Opened> opened = new ConcurrentHashMap<>();
  private final AtomicLong handles = new AtomicLong();
  private volatile boolean closed;

  /** A block that is read in pieces. */
  static final class Opened {
    final ManagedBuffer block;
    final long length;
    private final AtomicLong left;

    Opened(ManagedBuffer block) {
      this.block = block;
      this.length = block.size();
      this.left = new AtomicLong(length);
    }
  }

  ServerSession(long id, EngineStream stream, String application) throws IOException {
    this.id = id;
    this.application = application;
    this.stream = stream;
    this.peer = stream.peer();
  }

  long id() {
    return id;
  }

  /** Whose blocks the peer may ask for. */
  String application() {
    return application;
  }

  EngineStream stream() {
    return stream;
  }

  /** Keeps a block, which is the session's from now on. */
  long open(ManagedBuffer block) {
    if (opened.size() >= OPENED_MAX) {
      throw new IllegalStateException(peer + " has " + OPENED_MAX + " blocks open");
    }
    long handle = handles.incrementAndGet();
    opened.put(handle, new Opened(block));
    if (closed) {
      close(handle);
    }
    return handle;
  }

  /** @throws IllegalArgumentException if there is no such block, or no such range of it */
  Opened find(long handle, long offset, long length) {
    Opened block = opened.get(handle);
    if (block == null) {
      throw new IllegalArgumentException("no block is open under " + handle);
    }
    if (offset < 0 || length < 1 || length > block.length - offset) {
      throw new IllegalArgumentException("bytes " + offset + " and " + length + " more of a block of " + block.length);
    }
    return block;
  }

  /** A piece was read; each is once. */
  void served(long handle, Opened block, long bytes) {
    if (block.left.addAndGet(-bytes) <= 0) {
      close(handle);
    }
  }

  private void close(long handle) {
    Opened block = opened.remove(handle);
    if (block != null) {
      block.block.release();
    }
  }

  /** Reads what the client gives up. @return false at the end of the session */
  synchronized boolean read() throws IOException {
    for (;;) {
      RegisteredBuffer message = stream.tryReceive();
      if (message == null) {
        return !stream.isEnded();
      }
      try {
        ByteBuffer bytes = message.buffer();
        if (bytes.remaining() != Long.BYTES) {
          throw new IOException(peer + " sent " + bytes.remaining() + " bytes that mean nothing");
        }
        close(bytes.getLong());
      } finally {
        message.release();
      }
    }
  }

  void close() {
    closed = true;
    for (Long handle : opened.keySet()) {
      close(handle);
    }
    try {
      stream.close();
    } catch (IOException e) {
      BlockLog.LOG.debug("closing the session of {}", peer, e);
    }
  }

  @Override
  public String toString() {
    return peer;
  }
}

package io.howdah.engine;

import java.io.FileDescriptor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * A block that a peer asks for. Exactly one answer must be given, by any thread; a second one is an
 * IllegalStateException, and a request that is dropped without one is refused and counted as a leak.
 */
public final class FetchRequest {
  private static final int NAME = 16;

  private final EngineCore core;
  private final Handle handle;
  private final byte[] name;
  private final long offset;
  private final long length;

  FetchRequest(EngineCore core, long pointer) throws MemoryLimitException {
    this.core = core;
    this.handle = new Handle(this, Handle.Kind.REQUEST, pointer);
    ByteBuffer out = Memory.scratch();
    name = new byte[Native.fetchAsked(pointer, Memory.address(out))];
    offset = out.getLong(0);
    length = out.getLong(Long.BYTES);
    out.position(NAME);
    out.get(name);
  }

  /** What the peer calls the block: bytes that it chose. */
  public byte[] name() {
    return name.clone();
  }

  /** First byte that is wanted. The peer chose it: it may lie anywhere, even beyond Long.MAX_VALUE (negative). */
  public long offset() {
    return offset;
  }

  /** Most bytes that are wanted; -1 for all from the offset on. */
  public long length() {
    return length;
  }

  /** Who asks, by a reference to the link that the caller closes. Only before the answer. */
  public synchronized Link link() {
    if (!handle.enter()) {
      throw new IllegalStateException("the request was answered");
    }
    try {
      return new Link(core, Native.linkOf(0, handle.pointer));
    } finally {
      handle.exit();
    }
  }

  /**
   * Answers with bytes of a buffer, which the caller may release at once: the engine holds it until the peer has them.
   * They must not be changed before that.
   */
  public synchronized void reply(RegisteredBuffer block, int from, int bytes) throws IOException {
    if (from < 0 || bytes < 0 || bytes > block.length() - from) {
      throw new IndexOutOfBoundsException(from + " and " + bytes + " of " + block.length());
    }
    long buffer = block.enter();
    try {
      claim();
      settle(Native.fetchReplyBuf(handle.pointer, buffer, from, bytes));
    } finally {
      block.exit();
    }
  }

  /** Answers with a range of a file, which the engine reads. The channel may be closed at once. */
  public void reply(FileChannel file, long from, long bytes) throws IOException {
    reply(Descriptors.of(file), from, bytes);
  }

  /** The same with a descriptor. */
  public void reply(FileDescriptor file, long from, long bytes) throws IOException {
    reply(Descriptors.of(file), from, bytes);
  }

  private synchronized void reply(int fd, long from, long bytes) throws IOException {
    if (from < 0 || bytes < 0) {
      throw new IndexOutOfBoundsException(from + " and " + bytes);
    }
    claim();
    settle(Native.fetchReplyFile(handle.pointer, fd, from, bytes));
  }

  /**
   * Refuses. The peer's listener gets an exception with errno and cause.
   *
   * @param errno the system's number for why, from 1 to 4095, such as ENOENT, EACCES or EIO
   */
  public synchronized void refuse(int errno, String cause) throws IOException {
    if (errno < 1 || errno > 4095) {
      throw new IllegalArgumentException("errno " + errno);
    }
    claim();
    settle(Native.fetchReplyError(handle.pointer, -errno, cause));
  }

  /** The engine ends the handle with the answer, so it is ours no more. */
  private void claim() {
    if (!handle.disown(this)) {
      throw new IllegalStateException("the request was answered before");
    }
  }

  /** An answer that the engine does not take leaves the request unanswered; the peer shall not wait for another. */
  private void settle(int err) throws IOException {
    if (err < 0) {
      IOException failure = Errno.failure(err, null);
      Native.fetchReplyError(handle.pointer, err, failure.getMessage());
      throw failure;
    }
  }
}

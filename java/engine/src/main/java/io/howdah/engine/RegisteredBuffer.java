package io.howdah.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Memory outside the heap that every transport can reach. It has one owner, who releases it exactly once; sending takes
 * a reference of its own, so a buffer may be released right after it was sent (but not written to before the peer has
 * it). After the release no view of it may be used: the memory is somebody else's then. A buffer that is dropped
 * instead is counted as a leak and released when the last view is garbage.
 */
public final class RegisteredBuffer implements AutoCloseable {
  private final Handle handle;
  private final ByteBuffer view;
  private final int length;

  RegisteredBuffer(long pointer, long address, long length) {
    this.length = Math.toIntExact(length);
    // Slices and duplicates keep the view that they were made of, so it is the view that is watched for leaks.
    this.view = Native.wrap(address, length);
    if (view == null) {
      Native.bufRelease(pointer);
      throw new OutOfMemoryError("no direct buffer");
    }
    this.handle = new Handle(view, Handle.Kind.BUFFER, pointer);
  }

  static RegisteredBuffer allocate(EngineCore core, int size) throws IOException {
    if (size < 1) {
      throw new IllegalArgumentException("a buffer of " + size + " bytes");
    }
    ByteBuffer out = Memory.scratch();
    long engine = core.enter();
    long pointer;
    try {
      pointer = Native.bufAlloc(engine, size, Memory.address(out));
    } finally {
      core.exit();
    }
    if (pointer < 0) {
      throw Errno.failure(pointer, null);
    }
    return new RegisteredBuffer(pointer, out.getLong(0), out.getLong(Long.BYTES));
  }

  /** Bytes of it. */
  public int length() {
    return length;
  }

  /**
   * The bytes, as one direct buffer that is always the same; position and limit are the callers' own. Big endian at
   * first, like every ByteBuffer.
   *
   * @throws IllegalStateException after the release
   */
  public ByteBuffer buffer() {
    if (!handle.isOpen()) {
      throw new IllegalStateException("the buffer was released");
    }
    return view;
  }

  /** A view of a part, with position 0. */
  public ByteBuffer slice(int offset, int size) {
    ByteBuffer part = buffer().duplicate();
    part.limit(Math.addExact(offset, size)).position(offset);
    return part.slice().order(ByteOrder.BIG_ENDIAN);
  }

  /** Gives it back. Throws IllegalStateException if that was done before: then somebody has one owner too many. */
  public void release() {
    if (!handle.close(view)) {
      throw new IllegalStateException("the buffer was released twice");
    }
  }

  /** The same as {@link #release()}. */
  @Override
  public void close() {
    release();
  }

  /** A fetch has filled the first bytes. */
  void fetched(int bytes) {
    view.clear().limit(bytes);
  }

  boolean isReleased() {
    return !handle.isOpen();
  }

  /** The native buffer for a call; {@link #exit()} ends it. */
  long enter() {
    if (!handle.enter()) {
      throw new IllegalStateException("the buffer was released");
    }
    return handle.pointer;
  }

  void exit() {
    handle.exit();
  }
}

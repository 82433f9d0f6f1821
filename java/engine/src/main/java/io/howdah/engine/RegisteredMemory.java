package io.howdah.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Direct memory of the program's that transports reach: parts of it are sent, served and fetched into without a copy.
 * It counts against the engine's limit, in whole pages. Memory that is not deregistered stays for ever, whoever drops
 * it: an adapter may know it. Thread-safe.
 */
public final class RegisteredMemory {
  private static final Set<RegisteredMemory> ALL = ConcurrentHashMap.newKeySet();
  /** A wait is looked after so often: the engine's cannot be interrupted. */
  private static final long STEP = TimeUnit.MILLISECONDS.toNanos(50);

  private final ByteBuffer memory;
  private long pointer; // 0: deregistered

  private RegisteredMemory(ByteBuffer memory, long pointer) {
    this.memory = memory;
    this.pointer = pointer;
  }

  static RegisteredMemory register(EngineCore core, ByteBuffer memory) throws IOException {
    if (!memory.isDirect() || memory.isReadOnly() || memory.capacity() == 0) {
      throw new IllegalArgumentException("not direct memory that can be written: " + memory);
    }
    long engine = core.enter();
    long pointer;
    try {
      pointer = Native.bufRegister(engine, Memory.address(memory), memory.capacity());
    } finally {
      core.exit();
    }
    if (pointer < 0) {
      throw Errno.failure(pointer, null);
    }
    RegisteredMemory registered = new RegisteredMemory(memory, pointer);
    ALL.add(registered);
    return registered;
  }

  /** Bytes of it. */
  public int length() {
    return memory.capacity();
  }

  /** A part as a buffer, to be released like any; the memory stays in use until it is. */
  public synchronized RegisteredBuffer part(int offset, int length) throws IOException {
    if (pointer == 0) {
      throw new IllegalStateException("the memory was deregistered");
    }
    if (offset < 0 || length < 1 || length > memory.capacity() - offset) {
      throw new IndexOutOfBoundsException(length + " bytes from " + offset + " of " + memory.capacity());
    }
    ByteBuffer out = Memory.scratch();
    long part = Native.bufSlice(pointer, offset, length, Memory.address(out));
    if (part < 0) {
      throw Errno.failure(part, null);
    }
    return new RegisteredBuffer(part, out.getLong(0), out.getLong(Long.BYTES));
  }

  /**
   * Waits until nothing uses the memory any more and takes it from the engine and its adapters.
   *
   * @param millis how long at most; 0: not at all
   * @return whether it is the program's alone now; true also if it was before
   */
  public synchronized boolean deregister(long millis) throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    while (pointer != 0) {
      long left = Math.max(0, end - System.nanoTime());
      int result = Native.bufDeregister(pointer, Math.min(left, STEP));
      if (result == 0) {
        Native.bufRelease(pointer);
        pointer = 0;
        ALL.remove(this);
      } else if (result != -Errno.EAGAIN && result != -Errno.ETIMEDOUT) {
        throw Errno.failure(result, null);
      } else if (left == 0) {
        return false;
      } else if (Thread.interrupted()) {
        throw new InterruptedException("while memory was in use");
      }
    }
    return true;
  }
}

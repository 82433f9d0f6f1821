package io.howdah.engine;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Addresses of direct buffers, and a direct buffer for each thread to copy through. */
final class Memory {
  /** Enough for what is copied in one go; larger heap buffers go in pieces. */
  static final int SCRATCH = 64 * 1024;

  private static final ThreadLocal<ByteBuffer> SCRATCHES = new ThreadLocal<ByteBuffer>() {
    @Override
    protected ByteBuffer initialValue() {
      return ByteBuffer.allocateDirect(SCRATCH).order(ByteOrder.nativeOrder());
    }
  };

  /** Calls after which the fast way pays: the first method handle of a process takes 50 ms, which a command has not. */
  private static final int MANY = 2000;

  private static int calls; // races lose a few

  private Memory() {
  }

  /** Reads Buffer.address, which costs nothing. */
  private static final class Fast {
    /** Null where the JDK does not let us. */
    static final MethodHandle ADDRESS = addressGetter();

    private Fast() {
    }

    private static MethodHandle addressGetter() {
      try {
        Field field = Buffer.class.getDeclaredField("address");
        field.setAccessible(true);
        return MethodHandles.lookup().unreflectGetter(field);
      } catch (ReflectiveOperationException | RuntimeException e) {
        return null; // JNI has an official way, a little slower
      }
    }
  }

  /** Address of a direct buffer's byte 0. It is good for as long as the caller keeps the buffer reachable. */
  static long address(ByteBuffer direct) {
    if (calls < MANY) {
      calls++;
      return Native.addressOf(direct);
    }
    if (Fast.ADDRESS == null) {
      return Native.addressOf(direct);
    }
    try {
      return (long) Fast.ADDRESS.invokeExact((Buffer) direct);
    } catch (Throwable e) {
      throw new IllegalStateException("a buffer's address can't be read", e);
    }
  }

  /** Whether the heap is full. Other errors of this class say that there is no direct memory, or no thread. */
  static boolean isHeap(OutOfMemoryError e) {
    String message = String.valueOf(e.getMessage());
    return !message.contains("Direct buffer memory") && !message.contains("native thread");
  }

  /** This thread's scratch buffer, cleared. Whoever takes it is done with it before it calls anything that may. */
  static ByteBuffer scratch() throws MemoryLimitException {
    ByteBuffer scratch;
    try {
      scratch = SCRATCHES.get();
    } catch (OutOfMemoryError e) {
      if (isHeap(e)) {
        throw e;
      }
      throw new MemoryLimitException(Errno.ENOMEM, "the engine finds no direct memory for this thread ("
          + SCRATCH / 1024 + " KB): " + e.getMessage() + "; raise -XX:MaxDirectMemorySize");
    }
    scratch.clear();
    return scratch;
  }
}

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

  private static final ThreadLocal<ByteBuffer> SCRATCHES = ThreadLocal.withInitial(
      () -> ByteBuffer.allocateDirect(SCRATCH).order(ByteOrder.nativeOrder()));

  /** Reads Buffer.address, which costs nothing; null where the JDK does not let us. */
  private static final MethodHandle ADDRESS = addressGetter();

  private Memory() {
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

  /** Address of a direct buffer's byte 0. It is good for as long as the caller keeps the buffer reachable. */
  static long address(ByteBuffer direct) {
    if (ADDRESS == null) {
      return Native.addressOf(direct);
    }
    try {
      return (long) ADDRESS.invokeExact((Buffer) direct);
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
  static ByteBuffer scratch() {
    ByteBuffer scratch = SCRATCHES.get();
    scratch.clear();
    return scratch;
  }
}

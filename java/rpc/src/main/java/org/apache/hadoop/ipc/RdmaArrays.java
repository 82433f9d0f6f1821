package org.apache.hadoop.ipc;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * What large calls and responses are read into. An array is used again once its message was parsed: it is in the
 * processor's cache, while a new one has to be cleared and brought from memory first, which costs more than reading the
 * message. An array whose message takes another way is left to the collector. Thread-safe.
 */
final class RdmaArrays {
  /** Smaller messages are no trouble. */
  static final int LEAST = 8 * 1024;
  private static final int MOST = 8 << 20;
  private static final int FREE = 32;
  private static final long FREE_BYTES = 16 << 20;
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  // Under `this`. Arrays are equal if they are the same.
  private final ArrayDeque<byte[]> free = new ArrayDeque<>();
  private final Map<byte[], Boolean> lent = new WeakHashMap<>();
  private long freeBytes;

  /** Room for a message of that length. */
  ByteBuffer take(int length) {
    return take(length, 2L * length);
  }

  /** The same in an array of that very length. */
  ByteBuffer takeExactly(int length) {
    return take(length, length);
  }

  private ByteBuffer take(int length, long most) {
    if (length < LEAST || length > MOST) {
      return ByteBuffer.allocate(length);
    }
    byte[] array = fitting(length, most);
    if (array == null) {
      array = new byte[length];
    }
    synchronized (this) {
      lent.put(array, true);
    }
    return ByteBuffer.wrap(array, 0, length).slice();
  }

  /** The array that was given back last of those that are not much too large. */
  private synchronized byte[] fitting(int length, long most) {
    for (Iterator<byte[]> each = free.iterator(); each.hasNext();) {
      byte[] array = each.next();
      if (array.length >= length && array.length <= most) {
        each.remove();
        freeBytes -= array.length;
        return array;
      }
    }
    return null;
  }

  /** The message was parsed and nobody looks at its bytes any more; of a call, its header stays. */
  void giveBack(RpcWritable.Buffer parsed) throws IOException {
    ByteBuffer bytes = parsed.getByteBuffer();
    if (bytes == null || bytes.array().length < LEAST) {
      return;
    }
    byte[] array = bytes.array();
    synchronized (this) {
      if (lent.remove(array) == null) {
        return;
      }
    }
    parsed.readFrom(NOTHING.duplicate()); // from here on it can't reach the array
    synchronized (this) {
      free.addFirst(array);
      freeBytes += array.length;
      while (free.size() > FREE || freeBytes > FREE_BYTES) {
        freeBytes -= free.removeLast().length;
      }
    }
  }

  synchronized long freeBytes() {
    return freeBytes;
  }
}

package io.howdah.engine;

import java.nio.ByteBuffer;

/**
 * CRC32C (Castagnoli) of data in chunks, each sum four bytes, big endian, by the processor's own instruction. It is
 * there when the processor has one and the engine was loaded in this process; it loads nothing itself. Where it is not,
 * or arguments are not what it takes, methods return false and have done nothing, so callers go on in their own way:
 * with the exceptions that they throw. Positions and limits stay as they are. Thread-safe.
 */
public final class Crc32c {
  /** What is done in one go while a collector may have to wait: some microseconds. */
  private static final int PIECE = 1 << 16;

  private static volatile boolean fast;

  private Crc32c() {
  }

  static void libraryIsThere() {
    fast = Native.crcIsFast();
  }

  /** Whether calls are worth it. */
  public static boolean isFast() {
    return fast;
  }

  /**
   * Whether the sums are those of the data.
   *
   * @param data its remaining bytes, in chunks of which the last may be shorter
   * @param sums as many as there are chunks, at least, from its position on; with an array if the data has one
   * @param chunk bytes of each, at least 1
   * @return false also if that was not found out
   */
  public static boolean matches(ByteBuffer data, ByteBuffer sums, int chunk) {
    int length = data.remaining();
    if (!fast || chunk < 1 || sums.remaining() < room(length, chunk)) {
      return false;
    }
    if (data.hasArray() && sums.hasArray()) {
      return pieces(data.array(), data.arrayOffset() + data.position(), length, sums.array(),
          sums.arrayOffset() + sums.position(), chunk, true);
    }
    ByteBuffer there = sums.isDirect() ? sums : copy(sums, (int) room(length, chunk));
    return data.isDirect() && there != null && Native.crcAt(Memory.address(data) + data.position(), length, chunk,
        Memory.address(there) + there.position());
  }

  /** The sums in direct memory of the thread; null if it is too small, or has none. */
  private static ByteBuffer copy(ByteBuffer sums, int bytes) {
    if (bytes > Memory.SCRATCH) {
      return null;
    }
    ByteBuffer part = sums.duplicate();
    part.limit(part.position() + bytes);
    ByteBuffer scratch;
    try {
      scratch = Memory.scratch();
    } catch (MemoryLimitException e) {
      return null;
    }
    scratch.put(part).flip();
    return scratch;
  }

  /**
   * Computes the sums of a part of an array.
   *
   * @return whether it did
   */
  public static boolean compute(byte[] data, int offset, int length, byte[] sums, int sumsOffset, int chunk) {
    return fast && chunk > 0 && isInside(data.length, offset, length)
        && isInside(sums.length, sumsOffset, room(length, chunk))
        && pieces(data, offset, length, sums, sumsOffset, chunk, false);
  }

  private static boolean pieces(byte[] data, int offset, int length, byte[] sums, int sumsOffset, int chunk,
      boolean verify) {
    int chunks = Math.max(1, PIECE / chunk);
    int sumAt = sumsOffset;
    for (long done = 0; done < length; done += (long) chunks * chunk) {
      int n = (int) Math.min(length - done, (long) chunks * chunk);
      if (!Native.crcOf(data, offset + (int) done, n, chunk, sums, sumAt, verify)) {
        return false;
      }
      sumAt += Integer.BYTES * chunks;
    }
    return true;
  }

  /** Bytes that the sums take; more than there can be if that many do not exist. */
  private static long room(int length, int chunk) {
    return Integer.BYTES * (((long) length + chunk - 1) / chunk);
  }

  private static boolean isInside(int size, int offset, long length) {
    return offset >= 0 && length >= 0 && length <= size - (long) offset;
  }
}

package org.apache.spark.network.rdma;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The answer to a request for blocks: a table with an entry for each, then bytes of those that are in it, one after the
 * other. A block may also be refused (its bytes say why), be too large for the answer and opened under a handle, or be
 * left to another request because the answer is full.
 */
final class BatchReply {
  static final int DATA = 0;
  static final int REFUSED = 1;
  static final int OPENED = 2;
  static final int LATER = 3;

  private static final int ENTRY = Integer.BYTES + Long.BYTES + Long.BYTES;
  private static final int CAUSE_MAX = 2000;

  private final ByteBuffer table;
  private final int count;
  private final int[] offsets;

  private BatchReply(ByteBuffer table, int count, int[] offsets) {
    this.table = table;
    this.count = count;
    this.offsets = offsets;
  }

  /** Where the bytes begin. */
  static int tableSize(int count) {
    return count * ENTRY;
  }

  static void put(ByteBuffer table, int index, int status, long length, long handle) {
    table.putInt(index * ENTRY, status);
    table.putLong(index * ENTRY + Integer.BYTES, length);
    table.putLong(index * ENTRY + Integer.BYTES + Long.BYTES, handle);
  }

  /** What is sent of an exception. */
  static byte[] cause(Throwable failure) {
    String text = failure.toString();
    return text.substring(0, Math.min(text.length(), CAUSE_MAX)).getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Checks a peer's answer as a whole.
   *
   * @throws IllegalArgumentException if it can't be the answer to `count` blocks
   */
  static BatchReply parse(ByteBuffer reply, int count) {
    if (reply.limit() < tableSize(count)) {
      throw new IllegalArgumentException("an answer of " + reply.limit() + " bytes for " + count + " blocks");
    }
    int[] offsets = new int[count + 1];
    offsets[0] = tableSize(count);
    for (int i = 0; i < count; i++) {
      int status = reply.getInt(i * ENTRY);
      long length = reply.getLong(i * ENTRY + Integer.BYTES);
      long inside = status == DATA || status == REFUSED ? length : 0;
      if (status < DATA || status > LATER || length < 0 || inside > reply.limit() - offsets[i]) {
        throw new IllegalArgumentException("an answer with entry " + i + " of status " + status + " and " + length
            + " bytes, of which " + (reply.limit() - offsets[i]) + " are there");
      }
      offsets[i + 1] = offsets[i] + (int) inside;
    }
    return new BatchReply(reply, count, offsets);
  }

  int count() {
    return count;
  }

  int status(int index) {
    return table.getInt(index * ENTRY);
  }

  long length(int index) {
    return table.getLong(index * ENTRY + Integer.BYTES);
  }

  long handle(int index) {
    return table.getLong(index * ENTRY + Integer.BYTES + Long.BYTES);
  }

  int offset(int index) {
    return offsets[index];
  }

  String cause(int index) {
    byte[] text = new byte[offsets[index + 1] - offsets[index]];
    ByteBuffer from = table.duplicate();
    from.position(offsets[index]);
    from.get(text);
    return new String(text, StandardCharsets.UTF_8);
  }
}

package io.howdah.examples.spark;

import java.io.Serializable;

/** The first ten bytes of a record, compared as unsigned bytes: TeraSort's key. Immutable. */
public final class RecordKey implements Comparable<RecordKey>, Serializable {
  /** Bytes of a key. */
  public static final int LENGTH = 10;
  private static final long serialVersionUID = 1;

  private final long high;
  private final int low;

  /** The key of a record. */
  public RecordKey(byte[] record) {
    long first = 0;
    for (int i = 0; i < 8; i++) {
      first = first << 8 | record[i] & 0xff;
    }
    high = first;
    low = (record[8] & 0xff) << 8 | record[9] & 0xff;
  }

  /** The first four bytes, as an unsigned number. */
  public long prefix() {
    return high >>> Integer.SIZE;
  }

  @Override
  public int compareTo(RecordKey other) {
    int order = Long.compareUnsigned(high, other.high);
    return order != 0 ? order : Integer.compare(low, other.low);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof RecordKey && compareTo((RecordKey) other) == 0;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(high) * 31 + low;
  }
}

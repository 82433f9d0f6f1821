package org.apache.spark.shuffle.rdma;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/** A range of {@link OutputMemory}: 64 KB, or one of the parts of 4 KB that a whole segment is split into. */
final class Segment {
  /** All bytes; writers and readers use duplicates. */
  private final ByteBuffer bytes;
  /** The segment that this is a part of, else null. */
  final Segment whole;
  /** Free parts of a split segment; under the lock of the memory. */
  final Deque<Segment> parts = new ArrayDeque<>(0);

  Segment(ByteBuffer bytes, Segment whole) {
    this.bytes = bytes;
    this.whole = whole;
  }

  int size() {
    return bytes.capacity();
  }

  /** A view of a range, with position 0. */
  ByteBuffer view(int offset, int length) {
    ByteBuffer view = bytes.duplicate();
    view.limit(offset + length).position(offset);
    return view.slice();
  }
}

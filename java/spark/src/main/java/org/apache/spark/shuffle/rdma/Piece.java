package org.apache.spark.shuffle.rdma;

import java.nio.ByteBuffer;

/** Consecutive bytes of map output: in a segment, or in the spill file of its draft. Immutable. */
final class Piece {
  /** Null if the bytes are in the spill file. */
  final Segment segment;
  final long offset;
  final int length;

  Piece(Segment segment, long offset, int length) {
    this.segment = segment;
    this.offset = offset;
    this.length = length;
  }

  Piece part(int from, int bytes) {
    return from == 0 && bytes == length ? this : new Piece(segment, offset + from, bytes);
  }

  /** Of a piece in a segment. */
  ByteBuffer view() {
    return segment.view((int) offset, length);
  }
}

package org.apache.spark.shuffle.rdma;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.List;

/** Output of a map task in memory. What changes is under the lock of its {@link OutputStore}. */
final class MapOutput {
  final int shuffle;
  final int map;
  /** Of each partition, in bytes. */
  final long[] lengths;
  final Segment[] segments;
  private final Piece[] pieces;
  /** First piece of each partition, and the number of pieces. */
  private final int[] first;
  /** Readers, and the thread that writes it to a file. */
  int pins;
  /** Whether it is in the store no more, so that the last reader frees it. */
  boolean dropped;

  MapOutput(int shuffle, int map, long[] lengths, Segment[] segments, List<Piece> pieces) {
    this.shuffle = shuffle;
    this.map = map;
    this.lengths = lengths.clone();
    this.segments = segments;
    this.pieces = pieces.toArray(new Piece[0]);
    this.first = new int[lengths.length + 1];
    int at = 0;
    for (int partition = 0; partition < lengths.length; partition++) {
      long bytes = 0;
      while (bytes < lengths[partition]) {
        bytes += this.pieces[at++].length;
      }
      if (bytes != lengths[partition]) {
        throw new IllegalStateException("pieces of partition " + partition + " have " + bytes + " bytes, not "
            + lengths[partition]);
      }
      first[partition + 1] = at;
    }
  }

  static long total(long[] lengths) {
    long total = 0;
    for (long length : lengths) {
      total += length;
    }
    return total;
  }

  /** Views of a partition. */
  ByteBuffer[] partition(int partition) {
    ByteBuffer[] parts = new ByteBuffer[first[partition + 1] - first[partition]];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = pieces[first[partition] + i].view();
    }
    return parts;
  }

  /** Appends all partitions to a file. */
  void write(FileChannel to) throws IOException {
    for (Piece piece : pieces) {
      for (ByteBuffer bytes = piece.view(); bytes.hasRemaining();) {
        to.write(bytes);
      }
    }
  }

  @Override
  public String toString() {
    return "output " + shuffle + "_" + map;
  }
}

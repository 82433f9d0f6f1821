package org.apache.hadoop.mapreduce.task.reduce;

/**
 * Whether reads become slower and slower: the mean time of a byte over {@value #READS} packets, and as many reads at
 * least, rises by a twentieth or more {@value #RISES} times in a row. Thread-safe.
 */
final class ReadPace {
  static final int READS = 16;
  static final int RISES = 3;
  private static final double RISE = 1.05;

  private final long least;
  private int reads;
  private long bytes;
  private long nanos;
  private double last = Double.MAX_VALUE;
  private int rises;

  /** Of reads of so many bytes at most. */
  ReadPace(int packetBytes) {
    least = (long) READS * packetBytes;
  }

  /** Counts a read. @return whether it was the last one of a third rise in a row */
  synchronized boolean isSlowing(long size, long time) {
    bytes += size;
    nanos += time;
    if (++reads < READS || bytes < least) {
      return false;
    }
    double mean = (double) nanos / bytes;
    rises = mean > last && mean >= last * RISE ? rises + 1 : 0;
    last = mean;
    reads = 0;
    bytes = 0;
    nanos = 0;
    return rises == RISES;
  }
}

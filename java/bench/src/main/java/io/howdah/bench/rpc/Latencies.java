package io.howdah.bench.rpc;

import java.util.Arrays;

/** Round-trip times of one payload size, in nanoseconds, and what is said about them. Not thread-safe. */
final class Latencies {
  private final long[] nanos;
  private int count;

  Latencies(int capacity) {
    nanos = new long[capacity];
  }

  void add(long value) {
    nanos[count++] = value;
  }

  /** Mean in microseconds. */
  double mean() {
    long sum = 0;
    for (int i = 0; i < count; i++) {
      sum += nanos[i];
    }
    return sum / 1e3 / count;
  }

  /** The value below which the given share (0 to 1) of all times lies, in microseconds. */
  double percentile(double share) {
    long[] sorted = Arrays.copyOf(nanos, count);
    Arrays.sort(sorted);
    int index = (int) Math.ceil(share * count) - 1;
    return sorted[Math.max(0, index)] / 1e3;
  }
}

package io.howdah.bench.rpc;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** Round-trip times of one payload size, in nanoseconds, and what is said about them. Not thread-safe. */
final class Latencies {
  private final long[] nanos;
  private int count;
  private boolean sorted;

  Latencies(int capacity) {
    nanos = new long[capacity];
  }

  void add(long value) {
    nanos[count++] = value;
    sorted = false;
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
    if (!sorted) {
      Arrays.sort(nanos, 0, count);
      sorted = true;
    }
    int index = (int) Math.ceil(share * count) - 1;
    return nanos[Math.max(0, index)] / 1e3;
  }

  /** Count, mean, percentiles and greatest by name. */
  Map<String, Number> summary() {
    Map<String, Number> summary = new LinkedHashMap<>();
    summary.put("count", count);
    summary.put("mean", mean());
    summary.put("p50", percentile(0.5));
    summary.put("p90", percentile(0.9));
    summary.put("p99", percentile(0.99));
    summary.put("p99.9", percentile(0.999));
    summary.put("max", percentile(1));
    return summary;
  }
}

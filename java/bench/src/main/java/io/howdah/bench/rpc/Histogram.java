package io.howdah.bench.rpc;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Times of any number of calls in fixed space, exact to 1/32: a load runs for as long as it is told to, so how many
 * calls there will be is not known. One thread adds; others may read and clear meanwhile.
 */
final class Histogram {
  private static final int BITS = 5;
  private static final int SLOTS = 1 << BITS;
  private final AtomicLongArray counts = new AtomicLongArray((Long.SIZE - BITS + 1) * SLOTS);

  void add(long nanos) {
    // One writer, so no read-modify-write instruction is needed.
    int slot = slot(nanos);
    counts.lazySet(slot, counts.get(slot) + 1);
  }

  void clear() {
    for (int i = 0; i < counts.length(); i++) {
      counts.set(i, 0);
    }
  }

  static int slot(long nanos) {
    long value = Math.max(0, nanos);
    int shift = Math.max(0, Long.SIZE - 1 - BITS - Long.numberOfLeadingZeros(value | 1));
    return (shift << BITS) + (int) (value >>> shift);
  }

  /** The least value of a slot. */
  static long floor(int slot) {
    if (slot < 2 * SLOTS) {
      return slot;
    }
    int shift = (slot >> BITS) - 1;
    return (long) ((slot & (SLOTS - 1)) + SLOTS) << shift;
  }

  /** Count, percentiles and greatest of all together, in microseconds, by name; nothing but the count if that is 0. */
  static Map<String, Number> summary(Iterable<Histogram> parts) {
    long[] sum = new long[(Long.SIZE - BITS + 1) * SLOTS];
    long total = 0;
    for (Histogram part : parts) {
      for (int i = 0; i < sum.length; i++) {
        sum[i] += part.counts.get(i);
        total += part.counts.get(i);
      }
    }
    Map<String, Number> summary = new LinkedHashMap<>();
    summary.put("count", total);
    String[] names = {"p50", "p90", "p99", "p99.9", "max"};
    double[] shares = {0.5, 0.9, 0.99, 0.999, 1};
    long below = 0;
    for (int slot = 0, next = 0; slot < sum.length && next < names.length && total > 0; slot++) {
      below += sum[slot];
      while (next < names.length && below >= Math.ceil(shares[next] * total)) {
        summary.put(names[next++], floor(slot) / 1e3);
      }
    }
    return summary;
  }
}

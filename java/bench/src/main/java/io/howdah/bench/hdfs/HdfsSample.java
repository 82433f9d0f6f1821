package io.howdah.bench.hdfs;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** One figure of a run: what was measured, with how many clients, and its values by name. Immutable. */
final class HdfsSample {
  final String measure;
  final int clients;
  final Map<String, Double> values;

  private HdfsSample(String measure, int clients, Map<String, Double> values) {
    this.measure = measure;
    this.clients = clients;
    this.values = values;
  }

  /** Times of single operations, in nanoseconds: mean, percentiles and greatest, in milliseconds. */
  static HdfsSample latency(String measure, int clients, long[] nanos) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("count", (double) sorted.length);
    values.put("mean", Arrays.stream(sorted).average().orElse(0) / 1e6);
    values.put("p50", percentile(sorted, 0.5));
    values.put("p90", percentile(sorted, 0.9));
    values.put("p99", percentile(sorted, 0.99));
    values.put("max", percentile(sorted, 1));
    return new HdfsSample(measure, clients, values);
  }

  /** Bytes that clients moved together, and the times of each one's file. */
  static HdfsSample throughput(String measure, int clients, long bytes, long nanos, long[] files) {
    HdfsSample sample = latency(measure, clients, files);
    sample.values.put("mb_s", bytes / 1048576.0 / (nanos / 1e9));
    return sample;
  }

  /** The least value that so large a share of all is not above. */
  private static double percentile(long[] sorted, double share) {
    return sorted.length == 0 ? 0 : sorted[(int) Math.max(0, Math.ceil(share * sorted.length) - 1)] / 1e6;
  }
}

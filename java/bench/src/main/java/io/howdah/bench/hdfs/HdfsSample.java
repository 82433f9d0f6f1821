package io.howdah.bench.hdfs;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** One figure of a run: what was measured, when, with how many clients, and its values by name. Immutable. */
final class HdfsSample {
  final String measure;
  final int clients;
  /** By System.nanoTime(), in seconds; on Linux that is CLOCK_MONOTONIC, by which a profile of it all can be cut. */
  final double begin;
  final double end;
  final Map<String, Double> values;

  private HdfsSample(String measure, int clients, long begin, Map<String, Double> values) {
    this.measure = measure;
    this.clients = clients;
    this.begin = begin / 1e9;
    this.end = System.nanoTime() / 1e9;
    this.values = values;
  }

  /** Times of single operations since begin until now, in nanoseconds: mean, percentiles, greatest, in milliseconds. */
  static HdfsSample latency(String measure, int clients, long begin, long[] nanos) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    Map<String, Double> values = new LinkedHashMap<>();
    values.put("count", (double) sorted.length);
    values.put("mean", Arrays.stream(sorted).average().orElse(0) / 1e6);
    values.put("p50", percentile(sorted, 0.5));
    values.put("p90", percentile(sorted, 0.9));
    values.put("p99", percentile(sorted, 0.99));
    values.put("max", percentile(sorted, 1));
    return new HdfsSample(measure, clients, begin, values);
  }

  /** Bytes that clients moved together, and the times of each one's file. */
  static HdfsSample throughput(String measure, int clients, long bytes, long begin, long[] files) {
    HdfsSample sample = latency(measure, clients, begin, files);
    sample.values.put("mb_s", bytes / 1048576.0 / (sample.end - sample.begin));
    return sample;
  }

  /** The least value that so large a share of all is not above. */
  private static double percentile(long[] sorted, double share) {
    return sorted.length == 0 ? 0 : sorted[(int) Math.max(0, Math.ceil(share * sorted.length) - 1)] / 1e6;
  }
}

package org.apache.spark.network.rdma;

import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import java.io.Serializable;
import java.util.TreeMap;

/** What an executor's block transfer has counted so far, on its way to the driver. Immutable. */
final class TransferReport implements Serializable {
  private static final long serialVersionUID = 1;

  final String executor;
  private final TreeMap<String, Long> numbers = new TreeMap<>();

  TransferReport(String executor, MetricRegistry registry) {
    this.executor = executor;
    registry.getCounters().forEach((name, counter) -> numbers.put(name, counter.getCount()));
    for (String name : registry.getGauges().keySet()) {
      Gauge<?> gauge = registry.getGauges().get(name);
      if (gauge != null && gauge.getValue() instanceof Long) {
        numbers.put(name, (Long) gauge.getValue());
      }
    }
  }

  /** By the names of {@link BlockMetrics}; 0 for what was not counted. */
  long number(String name) {
    return numbers.getOrDefault(name, 0L);
  }

  boolean saysAsMuchAs(TransferReport other) {
    return other != null && numbers.equals(other.numbers);
  }
}

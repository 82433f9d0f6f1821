package org.apache.spark.network.rdma;

import com.codahale.metrics.MetricRegistry;
import org.apache.spark.metrics.source.Source;

/** The same in Spark's metrics system, where it is called "blockTransfer". Thread-safe. */
final class RdmaBlockMetrics extends BlockMetrics implements Source {
  @Override
  public String sourceName() {
    return "blockTransfer";
  }

  @Override
  public MetricRegistry metricRegistry() {
    return registry();
  }
}

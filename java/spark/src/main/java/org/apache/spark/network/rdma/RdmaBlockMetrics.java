package org.apache.spark.network.rdma;

import com.codahale.metrics.MetricRegistry;
import org.apache.spark.metrics.source.Source;

/** The same in Spark's metrics system, where it is called "blockTransfer". Thread-safe. */
final class RdmaBlockMetrics extends BlockMetrics implements Source {
  static final String NAME = "blockTransfer";

  @Override
  public String sourceName() {
    return NAME;
  }

  @Override
  public MetricRegistry metricRegistry() {
    return registry();
  }
}

package org.apache.spark.shuffle.rdma;

import org.apache.spark.SparkConf;

/** The manager in a local master, where Spark would get its own. */
public class TestManager extends RdmaShuffleManager {
  /** What SparkEnv calls. */
  public TestManager(SparkConf conf, boolean isDriver) {
    super(conf, isDriver);
  }
}

package io.howdah.examples.spark.workload;

import java.util.concurrent.Callable;
import org.apache.spark.api.java.JavaSparkContext;

/** A job of the benchmark, over data that it makes itself, the same for the same size. Thread-safe. */
interface Workload {
  /**
   * Makes the input on the executors and keeps it there.
   *
   * @return the job itself, to be run once: what is timed
   */
  Callable<Outcome> prepare(JavaSparkContext spark, WorkloadSize size);
}

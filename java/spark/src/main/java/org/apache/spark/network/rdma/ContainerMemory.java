package org.apache.spark.network.rdma;

import org.apache.spark.SparkConf;

/**
 * The engine's memory comes on top of the heap, and YARN kills a container that takes more than was asked for. So what
 * the engine may take is added to what the driver asks for, before it asks.
 */
final class ContainerMemory {
  static final String OVERHEAD = "spark.yarn.executor.memoryOverhead";
  private static final String MEMORY = "spark.executor.memory";
  // What Spark 2.1 takes where the option is not set.
  private static final double SHARE = 0.10;
  private static final long LEAST_MB = 384;
  private static final int MB_SHIFT = 20;

  private ContainerMemory() {
  }

  /** @param limit most bytes that the engine of an executor takes */
  static void account(SparkConf conf, long limit) {
    boolean driver = conf.get("spark.executor.id", "").equals("driver");
    if (!driver || !conf.get("spark.master", "").startsWith("yarn")) {
      return;
    }
    long heap = conf.getSizeAsMb(MEMORY, "1g");
    long before = conf.contains(OVERHEAD) ? conf.getSizeAsMb(OVERHEAD)
        : Math.max((long) (SHARE * heap), LEAST_MB);
    long after = before + (limit >> MB_SHIFT);
    conf.set(OVERHEAD, Long.toString(after));
    BlockLog.LOG.info("{}: {} MB and {} MB for the engine", OVERHEAD, before, limit >> MB_SHIFT);
  }
}

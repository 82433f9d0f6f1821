package org.apache.spark.network.rdma;

import io.howdah.engine.EngineOption;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.network.util.JavaUtils;

/**
 * The engine's memory limit of a driver or executor. It comes on top of the heap, and YARN and Mesos end a container
 * that takes more than was asked for. So the default is a part of what Spark asks for beside the heap; for a larger one
 * that is set, the driver asks for more.
 */
final class ContainerMemory {
  static final String OVERHEAD = "spark.yarn.executor.memoryOverhead";
  static final String LIMIT = RdmaBlockConf.PREFIX + "memory.limit";
  private static final String DRIVER_OVERHEAD = "spark.yarn.driver.memoryOverhead";
  private static final String MESOS_OVERHEAD = "spark.mesos.executor.memoryOverhead";
  // What Spark 2.1 asks for where the option is not set.
  private static final double SHARE = 0.10;
  private static final long LEAST_MB = 384;
  /** Part of that which the engine takes in a container; the JVM needs the rest. */
  private static final int PART = 3;
  private static final long LIMIT_LEAST_MB = 16;
  private static final int MB_SHIFT = 20;

  private ContainerMemory() {
  }

  private static boolean isDriver(SparkConf conf) {
    return conf.get("spark.executor.id", "").equals("driver");
  }

  private static boolean isOn(SparkConf conf, String manager) {
    return conf.get("spark.master", "").startsWith(manager);
  }

  /** What is asked for beside the heap, in MB. */
  private static long overhead(SparkConf conf, boolean driver) {
    String key = driver ? DRIVER_OVERHEAD : isOn(conf, "mesos") ? MESOS_OVERHEAD : OVERHEAD;
    long heap = conf.getSizeAsMb(driver ? "spark.driver.memory" : "spark.executor.memory", "1g");
    return conf.contains(key) ? conf.getSizeAsMb(key) : Math.max((long) (SHARE * heap), LEAST_MB);
  }

  private static long defaultMb(SparkConf conf, boolean driver) {
    boolean container = isOn(conf, "yarn") || isOn(conf, "mesos");
    return Math.max(LIMIT_LEAST_MB, overhead(conf, driver) / (container ? PART : 1));
  }

  /** The limit where none is set. */
  static String defaultLimit(SparkConf conf) {
    return defaultMb(conf, isDriver(conf)) + "m";
  }

  /**
   * Limits a driver that runs in a container of YARN to what its container has: it was asked for before.
   *
   * @param options Spark's; the limit is put there
   * @param limit that is set, or null
   */
  static void fitDriver(SparkConf conf, Map<String, String> options, String limit) {
    boolean inContainer = isDriver(conf) && isOn(conf, "yarn")
        && conf.get("spark.submit.deployMode", "client").equals("cluster");
    if (limit == null || !inContainer || megabytes(limit) <= defaultMb(conf, true)) {
      return;
    }
    options.put(LIMIT, defaultLimit(conf));
    BlockLog.LOG.info("The engine of the driver takes {} MB and not {}, for which its container has no room; a larger "
        + "{} makes it larger", defaultMb(conf, true), limit, DRIVER_OVERHEAD);
  }

  /**
   * In a driver on YARN: asks for larger containers if a limit is set that the ordinary ones have no room for.
   *
   * @param limit that is set for executors, or null
   */
  static void account(SparkConf conf, String limit) {
    if (limit == null || !isDriver(conf) || !isOn(conf, "yarn")) {
      return;
    }
    long more = megabytes(limit) - defaultMb(conf, false);
    if (more > 0) {
      long before = overhead(conf, false);
      conf.set(OVERHEAD, Long.toString(before + more));
      BlockLog.LOG.info("{}: {} MB and {} MB more for the engine's {}", OVERHEAD, before, more, limit);
    }
  }

  /** @return 0 for what is no size, which the engine refuses by name */
  private static long megabytes(String limit) {
    try {
      return JavaUtils.byteStringAsBytes(limit) >> MB_SHIFT;
    } catch (NumberFormatException e) {
      BlockLog.LOG.debug("{}={} is no size", EngineOption.MEMORY_LIMIT, limit, e);
      return 0;
    }
  }
}

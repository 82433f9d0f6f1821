package org.apache.spark.network.rdma;

import io.howdah.upgrade.Options;
import java.util.Locale;
import org.apache.spark.SparkConf;
import org.apache.spark.network.util.JavaUtils;

/** Whether map output stays in the engine's memory, and in how much of it, by Spark's configuration. */
public final class OutputConf {
  /** The value of {@code spark.shuffle.manager}. */
  static final String NAME = "rdma";
  static final String FRACTION = Options.SPARK_OUTPUT_FRACTION.key();
  private static final String MANAGER = "spark.shuffle.manager";
  private static final String CLASS = "org.apache.spark.shuffle.rdma.RdmaShuffleManager";
  private static final String OFF_HEAP = "spark.memory.offHeap.size";

  private OutputConf() {
  }

  /**
   * Takes the driver's id out of the configuration of an executor, which has it from the driver. SparkEnv puts the
   * executor's there, but after the parts that ask which of them they are in.
   */
  public static void dropDriverId(SparkConf conf) {
    conf.remove("spark.executor.id");
  }

  /** Whether the configuration leaves the choice to the distribution or names this manager. */
  public static boolean isWanted(SparkConf conf) {
    return !conf.contains(MANAGER) || isNamed(conf);
  }

  /** Whether the configuration names this manager. */
  public static boolean isNamed(SparkConf conf) {
    String name = conf.get(MANAGER, "");
    return name.toLowerCase(Locale.ROOT).equals(NAME) || name.equals(CLASS);
  }

  /** Whether the application has no engine at all: a local master, or one that is switched off. */
  public static boolean isWithoutEngine(SparkConf conf) {
    return RdmaBlockTransferService.isLocal(conf) || !SparkOptions.of(conf).isEnabled();
  }

  /**
   * Why it can't be.
   *
   * @return null if nothing speaks against it
   */
  public static String obstacle(SparkConf conf) {
    if (conf.getBoolean("spark.shuffle.service.enabled", false)) {
      return "with spark.shuffle.service.enabled it has to outlive its executor";
    }
    if (conf.getBoolean("spark.memory.useLegacyMode", false)) {
      return "spark.memory.useLegacyMode accounts for no memory outside the heap";
    }
    if (RdmaBlockTransferService.isLocal(conf)) {
      return "a local master uses no engine";
    }
    RdmaBlockConf options = SparkOptions.of(conf);
    return options.isEnabled() ? null : "the engine is switched off (" + options.upgrade().origin() + ")";
  }

  /** Adds the memory to what Spark's memory manager, which is made after this, knows of. */
  public static void account(SparkConf conf) {
    String limit = SparkOptions.memoryLimit(conf);
    long bytes = JavaUtils.byteStringAsBytes(limit == null ? ContainerMemory.defaultLimit(conf) : limit);
    long before = conf.getSizeAsBytes(OFF_HEAP, "0");
    long share = share(bytes, SparkOptions.of(conf).outputFraction());
    conf.set(OFF_HEAP, Long.toString(before + share));
  }

  /** Of a process. */
  static double fraction(SparkConf conf, RdmaBlockConf options) {
    boolean executor = !conf.get("spark.executor.id", "").equals("driver");
    return executor && isWanted(conf) && obstacle(conf) == null ? options.outputFraction() : 0;
  }

  /** Bytes that map output may take. */
  static long share(long limit, double fraction) {
    return (long) (limit * fraction);
  }
}

package org.apache.spark.network.rdma;

import io.howdah.engine.EngineOption;
import io.howdah.upgrade.BadOptionException;
import io.howdah.upgrade.Role;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkHadoopUtil;
import scala.Tuple2;

/** What a process of Spark's own has configured. */
final class SparkOptions {
  private SparkOptions() {
  }

  private static Map<String, String> all(SparkConf conf) {
    Map<String, String> options = new LinkedHashMap<>();
    for (Tuple2<String, String> option : conf.getAll()) {
      options.put(option._1(), option._2());
    }
    return options;
  }

  private static Configuration hadoop(SparkConf conf) {
    return SparkHadoopUtil.get().newConfiguration(conf);
  }

  /**
   * Of a driver or an executor.
   *
   * @throws IllegalArgumentException for values that are not valid
   */
  static RdmaBlockConf of(SparkConf conf) {
    Map<String, String> options = all(conf);
    Map<String, String> defaults = new LinkedHashMap<>();
    defaults.put(EngineOption.MEMORY_LIMIT.key(), ContainerMemory.defaultLimit(conf));
    ContainerMemory.fitDriver(conf, options, memoryLimit(conf));
    try {
      return new RdmaBlockConf(new SparkSettings(options, () -> hadoop(conf), defaults), Role.TASK);
    } catch (BadOptionException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  /** The memory limit that is set for executors, or null. */
  static String memoryLimit(SparkConf conf) {
    String own = conf.get(ContainerMemory.LIMIT, null);
    String limit = own != null ? own : hadoop(conf).getTrimmed(EngineOption.MEMORY_LIMIT.key());
    return limit == null || limit.trim().isEmpty() ? null : limit.trim();
  }

  /**
   * Of a standalone worker.
   *
   * @throws IllegalArgumentException for values that are not valid
   */
  static RdmaBlockConf ofWorker(SparkConf conf) {
    try {
      return new RdmaBlockConf(new SparkSettings(all(conf), () -> hadoop(conf), new LinkedHashMap<>()), Role.DAEMON);
    } catch (BadOptionException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  /** Whether what goes over the wire has to be encrypted, which the engine does not do. */
  static boolean areEncrypted(SparkConf conf, SecurityManager security) {
    return security.isAuthenticationEnabled()
        && (security.isSaslEncryptionEnabled() || conf.getBoolean("spark.network.sasl.serverAlwaysEncrypt", false));
  }
}

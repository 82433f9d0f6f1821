package org.apache.spark.network.rdma;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkHadoopUtil;
import scala.Tuple2;

/** What a process of Spark's own has configured. */
final class SparkOptions {
  private SparkOptions() {
  }

  /** @throws IllegalArgumentException for values that are not valid */
  static RdmaBlockConf of(SparkConf conf) {
    Map<String, String> options = new LinkedHashMap<>();
    for (Tuple2<String, String> option : conf.getAll()) {
      options.put(option._1(), option._2());
    }
    return new RdmaBlockConf(options, "Spark's configuration", () -> SparkHadoopUtil.get().newConfiguration(conf));
  }

  /** Whether what goes over the wire has to be encrypted, which the engine does not do. */
  static boolean areEncrypted(SparkConf conf, SecurityManager security) {
    return security.isAuthenticationEnabled()
        && (security.isSaslEncryptionEnabled() || conf.getBoolean("spark.network.sasl.serverAlwaysEncrypt", false));
  }
}

package org.apache.spark.network.rdma;

import java.util.ArrayList;
import java.util.Map;

/** Options of the engine that stand in Spark's configuration by the names that Hadoop's files have for them. */
public final class HadoopNames {
  private static final String SPARKS = "spark.hadoop.";

  private HadoopNames() {
  }

  private static boolean isOurs(String key) {
    return key.startsWith("hadoop.rdma.") || key.equals("hadoop.ib.enabled") || key.equals("hadoop.roce.enabled");
  }

  /** Gives them the names that Spark has for options of Hadoop; one that is there already stays. Called by Spark. */
  public static void adopt(Map<String, String> options) {
    for (String key : new ArrayList<>(options.keySet())) {
      if (isOurs(key)) {
        String value = options.remove(key);
        if (!options.containsKey(SPARKS + key)) {
          options.put(SPARKS + key, value);
        }
      }
    }
  }
}

package org.apache.spark.network.rdma;

import io.howdah.upgrade.Settings;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;

/**
 * Spark's options as the source of ours, then Hadoop's, which have `spark.hadoop.*` in them, then defaults of this kind
 * of process. Hadoop's files are read when an option is not found before. Thread-safe.
 */
final class SparkSettings implements Settings {
  private static final String WHERE = "Spark's configuration";

  private final Settings spark;
  private final Supplier<Configuration> files;
  private final Settings defaults;
  private Settings hadoop;

  /** @param files Hadoop's configuration, asked for once */
  SparkSettings(Map<String, String> spark, Supplier<Configuration> files, Map<String, String> defaults) {
    this.spark = Settings.of(spark, WHERE);
    this.files = files;
    this.defaults = Settings.of(defaults, "the defaults of this kind of process");
  }

  private synchronized Settings hadoop() {
    if (hadoop == null) {
      hadoop = new HadoopSettings(files.get());
    }
    return hadoop;
  }

  private Settings source(String key) {
    return spark.get(key) != null ? spark : hadoop().get(key) != null ? hadoop() : defaults;
  }

  @Override
  public String get(String key) {
    return source(key).get(key);
  }

  /** Those of Spark's own options; Hadoop's are looked through by its daemons. */
  @Override
  public Iterable<String> keys() {
    List<String> keys = new ArrayList<>();
    spark.keys().forEach(keys::add);
    return keys;
  }

  @Override
  public String origin(String key) {
    return source(key).origin(key);
  }
}

package io.howdah.upgrade;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A host protocol that can go over the engine, with the options that each of them has. */
public enum Component {
  /** Hadoop RPC. */
  RPC("RPC", "hadoop.rdma.rpc.", "HOWDAH_RPC_ENABLED", "hadoop"),
  /** Block data of HDFS. */
  HDFS("Block data", "dfs.rdma.", "HOWDAH_HDFS_ENABLED", "hadoop"),
  /** MapReduce's shuffle. */
  SHUFFLE("MapReduce's shuffle", "mapred.rdma.", "HOWDAH_SHUFFLE_ENABLED", "hadoop"),
  /** Spark's block transfer. It has the engine's options under its own prefix, too. */
  SPARK("Block transfer", "spark.shuffle.rdma.", "HOWDAH_SPARK_ENABLED", "spark");

  private final String subject;
  private final String prefix;
  private final String engineName;
  private final Logger log;
  private final Option<Mode> enabled;
  private final Option<Boolean> required;
  private final Option<Long> remember;

  Component(String subject, String prefix, String environment, String engineName) {
    this.subject = subject;
    this.prefix = prefix;
    this.engineName = engineName;
    this.log = LoggerFactory.getLogger("io.howdah." + id());
    this.enabled = Option.mode(prefix + "enabled", null, subject + " over the engine; default: hadoop.rdma.enabled")
        .environment(environment);
    this.required = Option.flag(prefix + "required", false, "older way to write " + prefix + "enabled=required");
    this.remember = Option.millis(prefix + "fallback.remember", 60_000, 0, Integer.MAX_VALUE,
        "how long sockets are used, without asking again, after a peer refused the engine");
  }

  /** What it is called at the start of a sentence. */
  public String subject() {
    return subject;
  }

  /** Short name, in logs and counters: rpc, hdfs, shuffle, spark. */
  public String id() {
    return name().toLowerCase(java.util.Locale.ROOT);
  }

  /** What its options begin with. */
  public String prefix() {
    return prefix;
  }

  /** What peers and statistics call its engine. */
  String engineName() {
    return engineName;
  }

  /** Its log, {@code io.howdah.ID}. */
  public Logger log() {
    return log;
  }

  /** Its own switch, over {@code hadoop.rdma.enabled}. */
  public Option<Mode> enabled() {
    return enabled;
  }

  /** The older flag for {@link Mode#REQUIRED}. */
  public Option<Boolean> required() {
    return required;
  }

  /** How long a refusal is remembered, in milliseconds. */
  public Option<Long> remember() {
    return remember;
  }
}

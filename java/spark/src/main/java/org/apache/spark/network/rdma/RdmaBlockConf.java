package org.apache.spark.network.rdma;

import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkHadoopUtil;
import scala.Tuple2;

/** How an application wants its blocks to go over the engine. What is not valid is refused. Immutable. */
final class RdmaBlockConf {
  static final String PREFIX = "spark.shuffle.rdma.";
  static final String ENABLED = PREFIX + "enabled";
  static final String REQUIRED = PREFIX + "required";
  static final String REMEMBER = PREFIX + "fallback.remember";
  static final String HANDLERS = PREFIX + "server.handlers";
  static final String QUEUE = PREFIX + "server.queue";
  static final String BATCH = PREFIX + "batch.size";
  static final String PIECE = PREFIX + "piece.size";
  static final String FETCHES = PREFIX + "fetches.in.flight";
  static final String IDLE = PREFIX + "idle.timeout";
  static final String IB = "spark.ib.enabled";
  static final String ROCE = "spark.roce.enabled";

  private static final String DEVICE_NAME = PREFIX + "device.name";
  private static final String DEVICE_NUMBER = PREFIX + "device.num";
  private static final String HADOOP_DEVICE_NAME = "hadoop.rdma.dev.name";
  private static final String HADOOP_DEVICE_NUMBER = "hadoop.rdma.dev.num";
  private static final String RPC = EngineConf.PREFIX + "rpc.";

  /** Ours, with default and range; the engine's options have the same prefix and are not here. */
  private enum Number {
    REMEMBER_MS(REMEMBER, 60_000, 0, Integer.MAX_VALUE, 't'),
    HANDLER_THREADS(HANDLERS, 0, 0, 1024, 'n'),
    QUEUED(QUEUE, 8192, 16, 1 << 20, 'n'),
    BATCH_BYTES(BATCH, 1 << 20, 64 << 10, 64 << 20, 'b'),
    PIECE_BYTES(PIECE, 4 << 20, 64 << 10, 64 << 20, 'b'),
    IN_FLIGHT(FETCHES, 64, 1, 1024, 'n'),
    IDLE_MS(IDLE, 300_000, 1000, Integer.MAX_VALUE, 't');

    final String key;
    final int otherwise;
    final int least;
    final int most;
    final char unit;

    Number(String key, int otherwise, int least, int most, char unit) {
      this.key = key;
      this.otherwise = otherwise;
      this.least = least;
      this.most = most;
      this.unit = unit;
    }
  }

  private final Map<Number, Integer> numbers = new LinkedHashMap<>();
  private final boolean required;
  private final EngineConf engine;

  RdmaBlockConf(SparkConf conf) {
    for (Number number : Number.values()) {
      numbers.put(number, read(conf, number));
    }
    required = isRequired(conf);
    engine = engineConf(conf);
  }

  // What is asked before anything else.

  static boolean isEnabled(SparkConf conf) {
    boolean hibd = flag(conf, IB) || flag(conf, ROCE);
    boolean asked = conf.contains(ENABLED) ? flag(conf, ENABLED) : hibd;
    return asked && !transport(conf).equals("tcp");
  }

  static boolean isRequired(SparkConf conf) {
    return flag(conf, REQUIRED) || !transport(conf).equals("auto");
  }

  /** What made the engine a must, for messages. */
  static String origin(SparkConf conf) {
    return flag(conf, REQUIRED) ? REQUIRED + "=true" : EngineOption.TRANSPORT.key() + "=" + transport(conf);
  }

  /** Whether what goes over the wire has to be encrypted, which the engine does not do. */
  static boolean isEncrypted(SparkConf conf, SecurityManager security) {
    return security.isAuthenticationEnabled()
        && (security.isSaslEncryptionEnabled() || conf.getBoolean("spark.network.sasl.serverAlwaysEncrypt", false));
  }

  private static String transport(SparkConf conf) {
    String environment = System.getenv("HOWDAH_TRANSPORT");
    String value = environment != null ? environment : conf.get(PREFIX + "transport",
        conf.get("spark.hadoop." + EngineOption.TRANSPORT.key(), hadoop(conf).get(EngineOption.TRANSPORT.key(), "")));
    return value.trim().isEmpty() ? "auto" : value.trim();
  }

  private static Configuration hadoop(SparkConf conf) {
    return SparkHadoopUtil.get().newConfiguration(conf);
  }

  private static boolean flag(SparkConf conf, String key) {
    String value = conf.get(key, "false").trim();
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new IllegalArgumentException(key + "=" + value + " (in Spark's configuration): true or false is needed");
    }
    return Boolean.parseBoolean(value);
  }

  // Numbers.

  private static int read(SparkConf conf, Number number) {
    if (!conf.contains(number.key)) {
      return number.otherwise;
    }
    String text = conf.get(number.key);
    try {
      long value = number.unit == 't' ? conf.getTimeAsMs(number.key)
          : number.unit == 'b' ? conf.getSizeAsBytes(number.key) : Long.parseLong(text.trim());
      if (value >= number.least && value <= number.most) {
        return (int) value;
      }
    } catch (IllegalArgumentException e) {
      throw refused(number, text, e);
    }
    throw refused(number, text, null);
  }

  private static IllegalArgumentException refused(Number number, String text, Exception cause) {
    String unit = number.unit == 't' ? " ms" : number.unit == 'b' ? " bytes" : "";
    return new IllegalArgumentException(number.key + "=" + text + " (in Spark's configuration): from " + number.least
        + " to " + number.most + unit, cause);
  }

  long rememberNanos() {
    return TimeUnit.MILLISECONDS.toNanos(numbers.get(Number.REMEMBER_MS));
  }

  /** Threads that read blocks for peers; 0 means as many as Spark would take for its server, at most 4. */
  int handlers() {
    return numbers.get(Number.HANDLER_THREADS);
  }

  int queue() {
    return numbers.get(Number.QUEUED);
  }

  int batchBytes() {
    return numbers.get(Number.BATCH_BYTES);
  }

  int pieceBytes() {
    return numbers.get(Number.PIECE_BYTES);
  }

  int inFlight() {
    return numbers.get(Number.IN_FLIGHT);
  }

  long idleNanos() {
    return TimeUnit.MILLISECONDS.toNanos(numbers.get(Number.IDLE_MS));
  }

  /** Whether to use the engine or fail. */
  boolean isRequired() {
    return required;
  }

  // The engine.

  EngineConf engine() {
    return engine;
  }

  /** Hadoop's files first, then spark.hadoop.hadoop.rdma.* (which are in its Configuration), then ours. */
  private static EngineConf engineConf(SparkConf conf) {
    EngineConf options = new EngineConf().name("spark").jmx(true);
    Configuration hadoop = hadoop(conf);
    for (Map.Entry<String, String> entry : hadoop) {
      String key = entry.getKey();
      if (key.startsWith(EngineConf.PREFIX) && !key.startsWith(RPC) && !key.startsWith("hadoop.rdma.dev.")) {
        options.set(key, hadoop.get(key), "Hadoop's configuration");
      }
    }
    String device = hadoop.get(HADOOP_DEVICE_NAME, hadoop.get(HADOOP_DEVICE_NUMBER, ""));
    device = conf.get(DEVICE_NAME, conf.get(DEVICE_NUMBER, device)).trim();
    if (!device.isEmpty()) {
      options.set(EngineOption.VERBS_DEVICE.key(), device, DEVICE_NAME + " or " + DEVICE_NUMBER);
    }
    for (Tuple2<String, String> entry : conf.getAll()) {
      if (entry._1().startsWith(PREFIX)) {
        setOption(options, entry._1(), entry._2());
      }
    }
    return options;
  }

  private static void setOption(EngineConf options, String key, String value) {
    if (key.equals(ENABLED) || key.equals(REQUIRED) || key.equals(DEVICE_NAME) || key.equals(DEVICE_NUMBER)
        || Arrays.stream(Number.values()).anyMatch(number -> number.key.equals(key))) {
      return;
    }
    String theirs = EngineConf.PREFIX + key.substring(PREFIX.length());
    if (Arrays.stream(EngineOption.values()).noneMatch(option -> option.key().equals(theirs))) {
      throw new IllegalArgumentException("there is no option " + key + " (in Spark's configuration); there are "
          + names());
    }
    options.set(theirs, value.trim(), key + " in Spark's configuration");
  }

  private static TreeSet<String> names() {
    TreeSet<String> names = new TreeSet<>(Arrays.asList(ENABLED, REQUIRED, DEVICE_NAME, DEVICE_NUMBER));
    for (Number number : Number.values()) {
      names.add(number.key);
    }
    for (EngineOption option : EngineOption.values()) {
      names.add(PREFIX + option.key().substring(EngineConf.PREFIX.length()));
    }
    return names;
  }
}

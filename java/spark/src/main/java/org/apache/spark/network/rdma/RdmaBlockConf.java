package org.apache.spark.network.rdma;

import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.network.util.JavaUtils;

/**
 * How an application, or a shuffle service, wants blocks to go over the engine. What is not valid is refused, unless
 * nobody asked for the engine. It knows nothing of Spark's core, which shuffle services do without. Immutable.
 */
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

  private final Map<String, String> conf;
  private final String where;
  private final Map<Number, Integer> numbers = new LinkedHashMap<>();
  private final String transport;
  private final boolean enabled;
  private final boolean insisted;
  private final EngineConf engine;

  /**
   * @param conf Spark's options
   * @param where they stand, for messages
   * @param files Hadoop's, read only if somebody asks for the engine
   */
  RdmaBlockConf(Map<String, String> conf, String where, Supplier<Configuration> files) {
    this.conf = conf;
    this.where = where;
    this.insisted = flag(REQUIRED);
    boolean hibd = flag(IB) || flag(ROCE);
    boolean asked = conf.containsKey(ENABLED) ? flag(ENABLED) : hibd;
    Configuration hadoop = asked ? files.get() : null;
    this.transport = asked ? transport(hadoop) : "tcp";
    this.enabled = !transport.equals("tcp");
    if (enabled) {
      for (Number number : Number.values()) {
        numbers.put(number, read(number));
      }
    }
    this.engine = enabled ? engineConf(hadoop) : null;
  }

  private String transport(Configuration hadoop) {
    String value = System.getenv("HOWDAH_TRANSPORT");
    for (String key : new String[] {PREFIX + "transport", "spark.hadoop." + EngineOption.TRANSPORT.key()}) {
      value = value == null ? conf.get(key) : value;
    }
    value = value == null ? hadoop.get(EngineOption.TRANSPORT.key(), "") : value;
    return value.trim().isEmpty() ? "auto" : value.trim();
  }

  private boolean flag(String key) {
    String value = conf.getOrDefault(key, "false").trim();
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new IllegalArgumentException(key + "=" + value + " (in " + where + "): true or false is needed");
    }
    return Boolean.parseBoolean(value);
  }

  /** Whether the engine is to be used; if not, nothing below is to be asked for. */
  boolean isEnabled() {
    return enabled;
  }

  /** Whether to use the engine or fail. */
  boolean isRequired() {
    return insisted || !transport.equals("auto");
  }

  /** What made the engine a must, for messages. */
  String origin() {
    return insisted ? REQUIRED + "=true" : EngineOption.TRANSPORT.key() + "=" + transport;
  }

  // Numbers.

  private int read(Number number) {
    if (!conf.containsKey(number.key)) {
      return number.otherwise;
    }
    String text = conf.get(number.key).trim();
    try {
      long value = number.unit == 't' ? JavaUtils.timeStringAsMs(text)
          : number.unit == 'b' ? JavaUtils.byteStringAsBytes(text) : Long.parseLong(text);
      if (value >= number.least && value <= number.most) {
        return (int) value;
      }
    } catch (IllegalArgumentException e) {
      throw refused(number, text, e);
    }
    throw refused(number, text, null);
  }

  private IllegalArgumentException refused(Number number, String text, Exception cause) {
    String unit = number.unit == 't' ? " ms" : number.unit == 'b' ? " bytes" : "";
    return new IllegalArgumentException(number.key + "=" + text + " (in " + where + "): from " + number.least
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

  // The engine.

  EngineConf engine() {
    return engine;
  }

  /** Hadoop's files first, then spark.hadoop.hadoop.rdma.* (which are in its Configuration), then ours. */
  private EngineConf engineConf(Configuration hadoop) {
    EngineConf options = new EngineConf().name("spark").jmx(true).secure(authenticates(hadoop));
    for (Map.Entry<String, String> entry : hadoop) {
      String key = entry.getKey();
      if (key.startsWith(EngineConf.PREFIX) && !key.startsWith(RPC) && !key.startsWith("hadoop.rdma.dev.")) {
        options.set(key, hadoop.get(key), "Hadoop's configuration");
      }
    }
    String device = hadoop.get(HADOOP_DEVICE_NAME, hadoop.get(HADOOP_DEVICE_NUMBER, ""));
    device = conf.getOrDefault(DEVICE_NAME, conf.getOrDefault(DEVICE_NUMBER, device)).trim();
    if (!device.isEmpty()) {
      options.set(EngineOption.VERBS_DEVICE.key(), device, DEVICE_NAME + " or " + DEVICE_NUMBER);
    }
    for (Map.Entry<String, String> entry : conf.entrySet()) {
      if (entry.getKey().startsWith(PREFIX)) {
        setOption(options, entry.getKey(), entry.getValue());
      }
    }
    return options;
  }

  private boolean authenticates(Configuration hadoop) {
    return Boolean.parseBoolean(conf.getOrDefault("spark.authenticate", "false").trim())
        || "kerberos".equalsIgnoreCase(hadoop.getTrimmed("hadoop.security.authentication", ""));
  }

  private void setOption(EngineConf options, String key, String value) {
    if (key.equals(ENABLED) || key.equals(REQUIRED) || key.equals(DEVICE_NAME) || key.equals(DEVICE_NUMBER)
        || Arrays.stream(Number.values()).anyMatch(number -> number.key.equals(key))) {
      return;
    }
    String theirs = EngineConf.PREFIX + key.substring(PREFIX.length());
    if (Arrays.stream(EngineOption.values()).noneMatch(option -> option.key().equals(theirs))) {
      throw new IllegalArgumentException("there is no option " + key + " (in " + where + "); there are "
          + names());
    }
    options.set(theirs, value.trim(), key + " in " + where);
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

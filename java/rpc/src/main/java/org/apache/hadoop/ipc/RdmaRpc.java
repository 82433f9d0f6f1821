package org.apache.hadoop.ipc;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineOption;
import io.howdah.engine.EngineUnavailableException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How a configuration wants RPC to go over the engine, and the engine itself. Immutable. */
final class RdmaRpc {
  static final String ENABLED = "hadoop.rdma.rpc.enabled";
  static final String REQUIRED = "hadoop.rdma.rpc.required";
  static final String REMEMBER = "hadoop.rdma.rpc.fallback.remember";
  static final int REMEMBER_DEFAULT = 60_000;
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.rpc");

  private static final String OURS = "hadoop.rdma.rpc.";
  private static final List<String> KEYS = Arrays.asList(ENABLED, REQUIRED, REMEMBER);
  private static final String IB = "hadoop.ib.enabled";
  private static final String ROCE = "hadoop.roce.enabled";
  private static final String DEVICE_NAME = "hadoop.rdma.dev.name";
  private static final String DEVICE_NUMBER = "hadoop.rdma.dev.num";

  /** Servers that have not taken our greeting: until when (nanoTime) they are not asked. */
  private static final Map<InetSocketAddress, Long> PLAIN = new ConcurrentHashMap<>();
  private static final Map<InetSocketAddress, String> SAID = new ConcurrentHashMap<>();
  private static final int PEERS_REMEMBERED = 10_000;

  private static final AtomicInteger SERVERS = new AtomicInteger();

  private static Engine engine;

  private final boolean required;
  private final long remember;
  private final Engine mine;

  private RdmaRpc(Configuration conf) throws IOException {
    check(conf);
    String transport = transport(conf);
    required = flag(conf, REQUIRED, false) || !transport.equals("auto");
    remember = number(conf, REMEMBER, REMEMBER_DEFAULT);
    mine = engine(conf);
  }

  /**
   * @return null if RPC is to use sockets only
   * @throws IOException for values that are not valid, or if the engine is required and can't be used
   */
  static RdmaRpc of(Configuration conf) throws IOException {
    if (!isEnabled(conf)) {
      return null;
    }
    try {
      return new RdmaRpc(conf);
    } catch (EngineUnavailableException e) {
      if (flag(conf, REQUIRED, false) || !transport(conf).equals("auto")) {
        throw new IOException("RPC has to go over the engine (" + origin(conf) + "), which can't be used: "
            + e.getMessage(), e);
      }
      sayOnce(new InetSocketAddress(0), "RPC uses sockets: " + e.getMessage());
      return null;
    }
  }

  static boolean isEnabled(Configuration conf) throws IOException {
    boolean hibd = flag(conf, IB, false) || flag(conf, ROCE, false);
    return flag(conf, ENABLED, hibd) && !transport(conf).equals("tcp");
  }

  /** What made the engine a must, for messages. */
  private static String origin(Configuration conf) {
    return conf.get(REQUIRED) != null ? REQUIRED + "=" + conf.get(REQUIRED)
        : EngineOption.TRANSPORT.key() + "=" + conf.get(EngineOption.TRANSPORT.key());
  }

  private static String transport(Configuration conf) {
    String environment = System.getenv("HOWDAH_TRANSPORT");
    String value = environment != null ? environment : conf.getTrimmed(EngineOption.TRANSPORT.key(), "auto");
    return value.isEmpty() ? "auto" : value;
  }

  // Values.

  private static void check(Configuration conf) throws IOException {
    for (Map.Entry<String, String> entry : conf) {
      String key = entry.getKey();
      if (key.startsWith(OURS) && !KEYS.contains(key)) {
        throw new IOException("there is no option " + key + where(conf, key) + "; there are " + KEYS);
      }
    }
  }

  private static boolean flag(Configuration conf, String key, boolean otherwise) throws IOException {
    String value = conf.getTrimmed(key, "");
    if (value.isEmpty()) {
      return otherwise;
    }
    if (!value.equalsIgnoreCase("true") && !value.equalsIgnoreCase("false")) {
      throw new IOException(key + "=" + value + where(conf, key) + ": true or false is needed");
    }
    return Boolean.parseBoolean(value);
  }

  private static long number(Configuration conf, String key, int otherwise) throws IOException {
    String value = conf.getTrimmed(key, "");
    try {
      int number = value.isEmpty() ? otherwise : Integer.parseInt(value);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      LOG.debug("{}={}", key, value, e);
    }
    throw new IOException(key + "=" + value + where(conf, key) + ": milliseconds from 0 to 2147483647 are needed");
  }

  private static String where(Configuration conf, String key) {
    String[] sources = conf.getPropertySources(key);
    return sources == null || sources.length == 0 ? "" : " (from " + sources[sources.length - 1] + ")";
  }

  // The engine.

  Engine engine() {
    return mine;
  }

  /** One for the process, kept to its end: connections come and go, links are worth keeping. */
  private static synchronized Engine engine(Configuration conf) throws IOException {
    if (engine == null || !engine.isOpen()) {
      engine = Engine.acquire(options(conf));
      LOG.info("RPC over {}, {}", Engine.description(), engine.affinity());
    }
    return engine;
  }

  private static EngineConf options(Configuration conf) {
    EngineConf options = new EngineConf().name("hadoop").jmx(true);
    for (Map.Entry<String, String> entry : conf) {
      String key = entry.getKey();
      if (key.equals(DEVICE_NAME) || key.equals(DEVICE_NUMBER)) {
        continue;
      }
      if (key.startsWith(EngineConf.PREFIX) && !key.startsWith(OURS)) {
        options.set(key, conf.get(key), source(conf, key));
      }
    }
    String device = conf.getTrimmed(DEVICE_NAME, conf.getTrimmed(DEVICE_NUMBER, ""));
    if (!device.isEmpty()) {
      options.set(EngineOption.VERBS_DEVICE.key(), device, DEVICE_NAME + " or " + DEVICE_NUMBER);
    }
    return options;
  }

  private static String source(Configuration conf, String key) {
    String[] sources = conf.getPropertySources(key);
    return sources == null || sources.length == 0 ? "Hadoop's configuration" : sources[sources.length - 1];
  }

  // Fallback.

  /** Whether to use the engine or fail. */
  boolean isRequired() {
    return required;
  }

  /** Whether this server is known not to take our greeting. */
  static boolean isPlain(InetSocketAddress server) {
    Long until = PLAIN.get(server);
    if (until == null) {
      return false;
    }
    if (System.nanoTime() - until < 0) {
      return true;
    }
    PLAIN.remove(server, until);
    return false;
  }

  void rememberPlain(InetSocketAddress server) {
    if (PLAIN.size() >= PEERS_REMEMBERED) {
      PLAIN.clear();
    }
    PLAIN.put(server, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(remember));
  }

  static void forgetPlain() {
    PLAIN.clear();
  }

  /** Logs a fallback, once for each server and cause. */
  static void sayOnce(InetSocketAddress server, String text) {
    if (SAID.size() >= PEERS_REMEMBERED) {
      SAID.clear();
    }
    if (!text.equals(SAID.put(server, text))) {
      LOG.warn(text);
    }
  }

  /** A name for a server's streams, told to clients as they greet: a process may have several servers on one port. */
  static String newService(int port) {
    return "hadoop.rpc." + port + "." + SERVERS.incrementAndGet();
  }
}

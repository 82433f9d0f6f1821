package org.apache.hadoop.ipc;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineOption;
import io.howdah.engine.EngineUnavailableException;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;

/**
 * How configurations want one of Hadoop's protocols, RPC or block data, to go over the engine: the options that both
 * have, by their prefix, and the process's engine. Thread-safe.
 */
public final class RdmaSettings {
  private static final int REMEMBER_DEFAULT = 60_000;
  private static final String IB = "hadoop.ib.enabled";
  private static final String ROCE = "hadoop.roce.enabled";
  private static final String DEVICE_NAME = "hadoop.rdma.dev.name";
  private static final String DEVICE_NUMBER = "hadoop.rdma.dev.num";
  /** Begins as the engine's names do, and is not the engine's. */
  private static final String RPC = EngineConf.PREFIX + "rpc.";

  private final Logger log;
  private final String subject;
  private final String prefix;
  private final String enabled;
  private final String required;
  private final String remember;
  private final String[] foreign;
  private Engine engine;

  /**
   * Settings of a protocol.
   *
   * @param log of the protocol
   * @param subject what it is called in messages, at the begin of a sentence
   * @param prefix what its options begin with
   * @param foreign what begins so too and is somebody else's to judge
   */
  public RdmaSettings(Logger log, String subject, String prefix, String... foreign) {
    this.log = log;
    this.subject = subject;
    this.prefix = prefix;
    this.enabled = prefix + "enabled";
    this.required = prefix + "required";
    this.remember = prefix + "fallback.remember";
    this.foreign = foreign.clone();
  }

  // What a configuration says.

  /** Whether the engine is to be used where it can be. @throws IOException for values that are not valid */
  public boolean isEnabled(Configuration conf) throws IOException {
    boolean hibd = flag(conf, IB, false) || flag(conf, ROCE, false);
    return flag(conf, enabled, hibd) && !transport(conf).equals("tcp");
  }

  /** Whether it is to be the engine or nothing. @throws IOException for values that are not valid */
  public boolean isRequired(Configuration conf) throws IOException {
    return flag(conf, required, false) || !transport(conf).equals("auto");
  }

  /** Milliseconds for which a peer that knows nothing of us is left in peace. @throws IOException if not valid */
  public long remember(Configuration conf) throws IOException {
    return number(conf, remember, REMEMBER_DEFAULT);
  }

  /**
   * Looks for names that nobody knows. Goes through the whole configuration.
   *
   * @throws IOException that names the option, and where it was read
   */
  public void check(Configuration conf) throws IOException {
    List<String> known = Arrays.asList(enabled, required, remember);
    for (Map.Entry<String, String> entry : conf) {
      String key = entry.getKey();
      if (key.startsWith(prefix) && !known.contains(key) && Arrays.stream(foreign).noneMatch(key::startsWith)) {
        throw new IOException("there is no option " + key + where(conf, key) + "; there are " + known);
      }
    }
  }

  /** What to throw where the engine is required and can't be used. */
  public IOException unusable(Configuration conf, EngineUnavailableException cause) {
    String origin = conf.get(required) != null ? required : EngineOption.TRANSPORT.key();
    return new IOException(subject + " has to go over the engine (" + origin + "=" + conf.get(origin)
        + "), which can't be used: " + cause.getMessage(), cause);
  }

  private static String transport(Configuration conf) {
    String environment = System.getenv("HOWDAH_TRANSPORT");
    String value = environment != null ? environment : conf.getTrimmed(EngineOption.TRANSPORT.key(), "auto");
    return value.isEmpty() ? "auto" : value;
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

  private long number(Configuration conf, String key, int otherwise) throws IOException {
    String value = conf.getTrimmed(key, "");
    try {
      int number = value.isEmpty() ? otherwise : Integer.parseInt(value);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      log.debug("{}={}", key, value, e);
    }
    throw new IOException(key + "=" + value + where(conf, key) + ": milliseconds from 0 to 2147483647 are needed");
  }

  private static String where(Configuration conf, String key) {
    String[] sources = conf.getPropertySources(key);
    return sources == null || sources.length == 0 ? "" : " (from " + sources[sources.length - 1] + ")";
  }

  // The engine.

  /**
   * The process's engine, shared by all protocols and kept to the process's end: connections come and go, links are
   * worth keeping.
   *
   * @throws EngineUnavailableException if it can't be used here
   * @throws IOException if it can't be had with these options
   */
  public synchronized Engine engine(Configuration conf) throws IOException {
    if (engine == null || !engine.isOpen()) {
      engine = Engine.acquire(options(conf));
      log.info("{} over {}, {}", subject, Engine.description(), engine.affinity());
    }
    return engine;
  }

  private static EngineConf options(Configuration conf) {
    EngineConf options = new EngineConf().name("hadoop").jmx(true);
    for (Map.Entry<String, String> entry : conf) {
      String key = entry.getKey();
      boolean other = key.equals(DEVICE_NAME) || key.equals(DEVICE_NUMBER) || key.startsWith(RPC);
      if (key.startsWith(EngineConf.PREFIX) && !other) {
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
}

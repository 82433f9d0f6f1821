package io.howdah.engine;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Options of an engine: those of {@link EngineOption}, set by key, and what only Java has. Values are kept as text and
 * checked by libhowdah when an engine is made, so there is one parser and one set of messages: a bad value or an
 * unknown key is refused with name, value, range or nearest match, and where it was read. Variables of the environment
 * ({@code HOWDAH_CHUNK_SIZE}) override what is set here. Not thread-safe; an engine copies it.
 */
public final class EngineConf {
  /** What begins each key. */
  public static final String PREFIX = "hadoop.rdma.";

  /** What gives peers keys to memory. */
  static final List<EngineOption> REMOTE_ACCESS =
      Collections.unmodifiableList(Arrays.asList(EngineOption.VERBS_REMOTE_ACCESS, EngineOption.UDAPL_REMOTE_ACCESS));

  private final Map<String, String[]> values = new LinkedHashMap<>();
  private boolean environment = true;
  private boolean jmx;
  private boolean secure;
  private String name = "java";

  /** All options at their defaults. */
  public EngineConf() {
  }

  /**
   * Takes every entry whose key begins with {@link #PREFIX}, and leaves the others to their owners. Hadoop's
   * Configuration and Spark's settings can be passed as they are.
   *
   * @param where what to call their source in messages, such as "core-site.xml"
   */
  public static EngineConf from(Iterable<Map.Entry<String, String>> entries, String where) {
    EngineConf conf = new EngineConf();
    for (Map.Entry<String, String> entry : entries) {
      if (entry.getKey().startsWith(PREFIX)) {
        conf.set(entry.getKey(), entry.getValue(), where);
      }
    }
    return conf;
  }

  /** Sets an option by its constant. */
  public EngineConf set(EngineOption option, String value) {
    return set(option.key(), value, "the program");
  }

  /** Sets an option by its full key, {@code hadoop.rdma.chunk.size}. It is checked when an engine is made. */
  public EngineConf set(String key, String value, String where) {
    values.put(Objects.requireNonNull(key),
        new String[] {Objects.requireNonNull(value, key), Objects.requireNonNull(where)});
    return this;
  }

  /** Whether the environment overrides; it does by default. */
  public EngineConf environment(boolean overrides) {
    environment = overrides;
    return this;
  }

  /** What peers and the statistics call this engine; "java" by default. */
  public EngineConf name(String text) {
    name = Objects.requireNonNull(text);
    return this;
  }

  /** Whether the engine's counters are registered with JMX, as {@code io.howdah:type=Engine,...}; not by default. */
  public EngineConf jmx(boolean registered) {
    jmx = registered;
    return this;
  }

  /**
   * Whether the host authenticates its users: Kerberos, block tokens ({@code dfs.block.access.token.enable}) or {@code
   * spark.authenticate}. Each component that does calls this before it acquires the engine. Over verbs and udapl a peer
   * that is given a key to memory can read and write all of it, also what belongs to other users; so {@code
   * verbs.remote.access} and {@code udapl.remote.access} are then off unless they are set by name, and everything is
   * sent. Over shm memory is shared within one user only, whatever this says. In an engine that is acquired by several,
   * one that is secure is enough.
   */
  public EngineConf secure(boolean authenticates) {
    secure = authenticates;
    return this;
  }

  String name() {
    return name;
  }

  boolean jmx() {
    return jmx;
  }

  /** What was set, and what follows from that: value and source by key. */
  Map<String, String[]> settings() {
    Map<String, String[]> settings = new LinkedHashMap<>(values);
    if (secure) {
      for (EngineOption access : REMOTE_ACCESS) {
        settings.putIfAbsent(access.key(), new String[] {"false", "authentication is on"});
      }
    }
    return settings;
  }

  /** Checks everything. Needs the library. */
  public void validate() throws IOException {
    Engine.ensureAvailable();
    Native.confDestroy(toNative());
  }

  /** The same for libhowdah; the caller destroys it. */
  long toNative() throws IOException {
    long conf = Native.confCreate();
    if (conf < 0) {
      throw Errno.failure(conf, null);
    }
    try {
      for (Map.Entry<String, String[]> entry : settings().entrySet()) {
        check(Native.confSet(conf, entry.getKey(), entry.getValue()[0], entry.getValue()[1]));
      }
      if (environment) {
        check(Native.confReadEnvironment(conf));
      }
      check(Native.confTune(conf));
    } catch (IOException | RuntimeException e) {
      Native.confDestroy(conf);
      throw e;
    }
    return conf;
  }

  private static void check(int err) throws EngineException {
    if (err < 0) {
      throw new EngineException(-err, Native.lastError());
    }
  }
}

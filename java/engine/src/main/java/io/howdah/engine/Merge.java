package io.howdah.engine;

import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What happens if somebody acquires the process's engine with other options than it has. Only options that it sets
 * count, be it in its configuration or in the environment; docs/design/java-engine.md has the rules for users.
 */
final class Merge {
  private static final Logger LOG = LoggerFactory.getLogger(Engine.class);

  /** Which network is used: nobody's data goes over another one than it asked for. */
  private static final List<EngineOption> NETWORK = Arrays.asList(EngineOption.TRANSPORT, EngineOption.VERBS_DEVICE,
      EngineOption.VERBS_PORT, EngineOption.VERBS_LINK_LAYER, EngineOption.VERBS_GID_INDEX,
      EngineOption.VERBS_SERVICE_LEVEL, EngineOption.VERBS_TRAFFIC_CLASS, EngineOption.UDAPL_PROVIDER);

  private static final Set<String> SAID = ConcurrentHashMap.newKeySet();

  private final EngineCore core;

  private Merge(EngineCore core) {
    this.core = core;
  }

  /**
   * Makes the engine serve one more.
   *
   * @throws EngineException if it can't serve it as it wants, with the option's name
   */
  static void into(EngineCore core, EngineConf conf) throws IOException {
    new Merge(core).all(wishes(conf));
    core.show(conf);
  }

  /** Value in force and its source, for each option that was set. */
  private static Map<String, String[]> wishes(EngineConf conf) throws IOException {
    Map<String, String[]> wishes = new LinkedHashMap<>();
    long settings = conf.toNative();
    try {
      for (String key : conf.settings().keySet()) {
        wishes.put(key, Native.confGet(settings, key));
      }
    } finally {
      Native.confDestroy(settings);
    }
    return wishes;
  }

  private void all(Map<String, String[]> wishes) throws IOException {
    for (EngineOption option : NETWORK) { // first: nothing is changed for one that is refused
      String[] wish = wishes.remove(option.key());
      if (wish != null && !wish[0].equals(option.defaultValue()) && !wish[0].equals(inForce(option.key()))) {
        throw new EngineException(Errno.EBUSY, option.key() + "=" + wish[0] + " (from " + wish[1]
            + ") can't be had: the process's engine was made before, with " + inForce(option.key())
            + "; set it in one place for all that share the process");
      }
    }
    for (Map.Entry<String, String[]> wish : wishes.entrySet()) {
      String key = wish.getKey();
      String value = wish.getValue()[0];
      if (!value.equals(inForce(key))) {
        one(key, value, wish.getValue()[1]);
      }
    }
  }

  private String inForce(String key) {
    return core.options().get(key);
  }

  private void one(String key, String value, String where) throws IOException {
    if (key.equals(EngineOption.MEMORY_LIMIT.key())) {
      larger(key, value, where);
    } else if (isRemoteAccess(key)) {
      if ("false".equals(value)) {
        core.set(key, value, where);
      } // else it stays off: another user of the engine may have secrets
    } else if (key.equals(EngineOption.LOG_LEVEL.key())) {
      chattier(key, value, where);
    } else if (SAID.add(key + "=" + value)) {
      LOG.warn("{}={} (from {}) has no effect: the process's engine was made before, with {}", key, value, where,
          inForce(key));
    }
  }

  private static boolean isRemoteAccess(String key) {
    for (EngineOption option : EngineConf.REMOTE_ACCESS) {
      if (option.key().equals(key)) {
        return true;
      }
    }
    return false;
  }

  private void larger(String key, String value, String where) throws IOException {
    try {
      core.set(key, value, where);
    } catch (EngineException e) {
      if (e.errno() != Errno.EOPNOTSUPP) {
        throw e;
      } // it is less than there is
    }
  }

  private void chattier(String key, String value, String where) throws IOException {
    List<String> levels = Arrays.asList(EngineOption.LOG_LEVEL.range().split("\\|"));
    if (levels.indexOf(value) > levels.indexOf(inForce(key))) {
      core.set(key, value, where);
    }
  }
}

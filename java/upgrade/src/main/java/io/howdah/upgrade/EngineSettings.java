package io.howdah.upgrade;

import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineException;
import io.howdah.engine.EngineOption;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** The engine's options as a component's settings have them, with the role's defaults. Immutable. */
final class EngineSettings {
  private static final String LINK_LAYER = EngineConf.PREFIX + "verbs.link.layer";

  /** Stands among the values, to tell engines apart. */
  private static final String SECURE = "secure";

  private final String name;
  private final boolean jmx;
  private final boolean secure;
  private final Map<String, String> values = new LinkedHashMap<>();
  private final Map<String, String> origins = new LinkedHashMap<>();

  EngineSettings(Component component, Settings settings, Role role, String linkLayer) throws BadOptionException {
    name = component.engineName();
    jmx = role != Role.COMMAND;
    secure = "kerberos".equalsIgnoreCase(settings.get("hadoop.security.authentication"))
        || "true".equalsIgnoreCase(settings.get("dfs.block.access.token.enable"))
        || "true".equalsIgnoreCase(settings.get("spark.authenticate"));
    put(SECURE, String.valueOf(secure), "");
    put(EngineOption.MEMORY_LIMIT.key(), role.memoryLimit(), "the default of a " + role.text());
    if (role == Role.COMMAND) { // its log is its user's console
      put(EngineOption.LOG_LEVEL.key(), "error", "the default of a command");
    }
    putDevice(settings, Options.DEVICE);
    if (component == Component.SPARK) {
      putDevice(settings, Options.SPARK_DEVICE);
    }
    for (EngineOption option : EngineOption.values()) {
      if (linkLayer != null && option.key().equals(LINK_LAYER)) {
        put(LINK_LAYER, linkLayer, Options.IB + " and " + Options.ROCE);
      }
      take(settings, option.key(), option.key());
      if (component == Component.SPARK) {
        take(settings, component.prefix() + option.key().substring(EngineConf.PREFIX.length()), option.key());
      }
    }
  }

  private void putDevice(Settings settings, Option<String> option) throws BadOptionException {
    String device = option.read(settings);
    if (device != null) {
      put(EngineOption.VERBS_DEVICE.key(), device, option + " or " + option.aliases().get(0));
    }
  }

  private void take(Settings settings, String from, String key) {
    String value = settings.get(from);
    if (value != null) {
      put(key, value, from.equals(key) ? settings.origin(from) : from + " of " + settings.origin(from));
    }
  }

  private void put(String key, String value, String origin) {
    values.put(key, value);
    origins.put(key, origin);
  }

  /** What tells engines apart: components with the same values share one. */
  Map<String, String> values() {
    return values;
  }

  /** For the engine itself. */
  EngineConf conf() {
    EngineConf conf = new EngineConf().name(name).jmx(jmx).secure(secure);
    fill(conf);
    return conf;
  }

  private void fill(EngineConf conf) {
    values.forEach((key, value) -> {
      if (!key.equals(SECURE)) {
        conf.set(key, value, origins.get(key));
      }
    });
  }

  /**
   * Looks at each value by itself. Needs the library.
   *
   * @throws BadOptionException that names the option, its value, where it was read and its range
   */
  void check(Settings settings) throws IOException {
    EngineConf conf = new EngineConf().environment(false);
    fill(conf);
    for (EngineOption option : EngineOption.values()) {
      String value = settings.environment(option.environmentName());
      if (value != null) {
        conf.set(option.key(), value, option.environmentName() + " in the environment");
      }
    }
    conf.set(EngineOption.TUNING_PROFILE, "none"); // one that does not fit is a failure of the engine, not a bad value
    try {
      conf.validate();
    } catch (EngineException e) {
      throw new BadOptionException(e.getMessage(), e);
    }
  }
}

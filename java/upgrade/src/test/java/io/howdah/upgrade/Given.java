package io.howdah.upgrade;

import java.util.LinkedHashMap;
import java.util.Map;

/** Settings of tests: what is set, and an environment of their own. */
final class Given implements Settings {
  private final Map<String, String> values = new LinkedHashMap<>();
  private final Map<String, String> environment = new LinkedHashMap<>();
  private final Settings settings = Settings.of(values, "test-site.xml");

  /** Each is "key=value"; a key in capitals is the environment's. */
  Given(String... settings) {
    for (String setting : settings) {
      String[] parts = setting.split("=", 2);
      (parts[0].startsWith("HOWDAH_") ? environment : values).put(parts[0], parts[1]);
    }
  }

  @Override
  public String get(String key) {
    return settings.get(key);
  }

  @Override
  public Iterable<String> keys() {
    return settings.keys();
  }

  @Override
  public String origin(String key) {
    return settings.origin(key);
  }

  @Override
  public String environment(String name) {
    return environment.get(name);
  }
}

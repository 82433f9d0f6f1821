package io.howdah.upgrade;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Where options are read: Hadoop's Configuration, Spark's settings, a map. Thread-safe if its source is. */
public interface Settings {
  /** The value, without white space at its ends; null if it is not set or empty. */
  String get(String key);

  /** All keys that are set. May be expensive. */
  Iterable<String> keys();

  /** Where the value of a key was read, for messages: "core-site.xml". */
  String origin(String key);

  /** A variable of the environment, or null. */
  default String environment(String name) {
    return System.getenv(name);
  }

  /**
   * Settings of a map.
   *
   * @param where what to call it in messages
   */
  static Settings of(Map<String, String> values, String where) {
    return new Settings() {
      @Override
      public String get(String key) {
        String value = values.get(key);
        return value == null || value.trim().isEmpty() ? null : value.trim();
      }

      @Override
      public Iterable<String> keys() {
        return values.keySet();
      }

      @Override
      public String origin(String key) {
        return where;
      }
    };
  }

  /** The first settings, and the second for keys that the first does not have. The environment is the first's. */
  static Settings chain(Settings first, Settings second) {
    return new Settings() {
      @Override
      public String get(String key) {
        String value = first.get(key);
        return value != null ? value : second.get(key);
      }

      @Override
      public Iterable<String> keys() {
        List<String> keys = new ArrayList<>();
        first.keys().forEach(keys::add);
        second.keys().forEach(keys::add);
        return keys;
      }

      @Override
      public String origin(String key) {
        return first.get(key) != null ? first.origin(key) : second.origin(key);
      }

      @Override
      public String environment(String name) {
        return first.environment(name);
      }
    };
  }
}

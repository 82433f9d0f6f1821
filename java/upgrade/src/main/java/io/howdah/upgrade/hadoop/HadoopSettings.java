package io.howdah.upgrade.hadoop;

import io.howdah.upgrade.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;

/** Hadoop's Configuration as the source of options. Sees later changes. Thread-safe. */
public final class HadoopSettings implements Settings {
  private final Configuration conf;

  /** Settings of a configuration. */
  public HadoopSettings(Configuration conf) {
    this.conf = conf;
  }

  @Override
  public String get(String key) {
    String value = conf.getTrimmed(key);
    return value == null || value.isEmpty() ? null : value;
  }

  @Override
  public Iterable<String> keys() {
    List<String> keys = new ArrayList<>();
    for (Map.Entry<String, String> entry : conf) {
      keys.add(entry.getKey());
    }
    return keys;
  }

  @Override
  public String origin(String key) {
    String[] sources = conf.getPropertySources(key);
    if (sources == null || sources.length == 0) {
      return "Hadoop's configuration";
    }
    String source = sources[sources.length - 1];
    return source.startsWith("from ") ? source.substring("from ".length()) : source; // "from command line"
  }
}

package io.howdah.cluster;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;

/** Settings that daemons take when they start, and that a start beside running daemons cannot change. */
final class RunningSettings {
  /** How many daemons there are; a start may add some. */
  private static final Set<String> COUNTS = Collections.unmodifiableSet(
      new HashSet<>(Arrays.asList("datanodes", "nodemanagers", "yarn", "history", "secondary")));
  /** Of sizes and counts. */
  private static final String UNSET = "0";

  private RunningSettings() {
  }

  /**
   * Checks that a start changes no setting of daemons that run.
   *
   * @param record of the cluster
   * @throws ClusterException if it does; the message names the settings
   */
  static void check(Properties record, ClusterSpec spec, Ports ports, Set<DaemonId> running) {
    if (running.isEmpty()) {
      return;
    }
    Properties runs = saved(ClusterSpec.load(record));
    Properties asked = saved(spec);
    boolean leavesSome = !spec.daemons().containsAll(running);
    List<String> differ = new ArrayList<>();
    Set<String> names = new TreeSet<>(runs.stringPropertyNames());
    names.addAll(asked.stringPropertyNames());
    for (String name : names) {
      if (leavesSome || !COUNTS.contains(name)) {
        compare(option(name), runs.getProperty(name), asked.getProperty(name), differ);
      }
    }
    Map<String, Integer> recorded = ClusterDir.ports(record);
    for (DaemonId id : running) {
      for (PortKind kind : PortKind.of(id.kind())) {
        compare("--port " + kind.of(id), String.valueOf(recorded.get(kind.of(id))),
            String.valueOf(ports.get(kind, id)), differ);
      }
    }
    if (!differ.isEmpty()) {
      throw new ClusterException(
          "the cluster is running, and a start changes nothing of it: " + String.join(", ", differ),
          "stop it first (howdah cluster stop), or leave that out");
    }
  }

  /** The settings, without what a start only keeps account of. */
  private static Properties saved(ClusterSpec spec) {
    Properties saved = new Properties();
    spec.save(saved);
    saved.remove("left");
    saved.remove("made");
    return saved;
  }

  private static String option(String name) {
    return name.startsWith(ClusterSpec.SITE) ? "-D " + name.substring(ClusterSpec.SITE.length()) : "--" + name;
  }

  private static void compare(String option, String runs, String asked, List<String> differ) {
    if (asked == null ? runs != null : !asked.equals(runs)) {
      differ.add(option + " " + word(option, asked) + " (now " + word(option, runs) + ")");
    }
  }

  private static String word(String option, String value) {
    if (value == null || UNSET.equals(value)) {
      return "--mode".equals(option) ? Modes.NONE : "not set";
    }
    return value;
  }
}

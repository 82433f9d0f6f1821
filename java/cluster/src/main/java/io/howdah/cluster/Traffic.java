package io.howdah.cluster;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** How many calls, bytes and connections of a cluster went over which transport, and why over sockets. */
final class Traffic {
  /** The transport of what the engine did not carry. */
  static final String SOCKETS = "sockets";

  private static final String TCP = "tcp";
  private static final List<String> FIGURES = Arrays.asList("calls", "bytes", "connections");
  private static final int CALLS = 0;
  private static final int BYTES = 1;
  private static final int CONNECTIONS = 2;

  private final Map<TrafficKind, Map<String, long[]>> rows = new EnumMap<>(TrafficKind.class);
  private final Map<String, Long> reasons = new TreeMap<>();
  private final Set<TrafficKind> available = EnumSet.noneOf(TrafficKind.class);
  private final Set<TrafficKind> expected = EnumSet.noneOf(TrafficKind.class);

  /** Adds what a daemon served. */
  void add(DaemonCounts counts) {
    for (TrafficKind kind : TrafficKind.values()) {
      long[] engine = new long[FIGURES.size()];
      boolean socketsCounted = addCounted(kind, counts.engine(), engine);
      long[] all = kind.all(counts);
      if (all != null && !socketsCounted) {
        addSockets(kind, all, engine);
      }
      String state = counts.states().get(kind.component());
      if (state != null && !state.startsWith("false") && !state.contains(": sockets, since ")) {
        available.add(kind);
      }
    }
    counts.reasons().forEach((reason, count) -> reasons.merge(reason, count, Long::sum));
  }

  /** Adds what is counted by transport, and to engine what of it is the engine's. @return whether sockets are in it */
  private boolean addCounted(TrafficKind kind, Map<String, Long> counted, long[] engine) {
    boolean sockets = false;
    String prefix = kind.counted() + ".";
    for (Map.Entry<String, Long> entry : counted.entrySet()) {
      String[] parts = entry.getKey().startsWith(prefix) ? entry.getKey().substring(prefix.length()).split("\\.")
          : new String[0];
      int figure = parts.length == 2 ? FIGURES.indexOf(parts[1]) : -1;
      if (figure >= 0) {
        boolean tcp = parts[0].equals(TCP);
        sockets |= tcp;
        add(kind, tcp ? SOCKETS : parts[0], figure, entry.getValue());
        engine[figure] += tcp ? 0 : entry.getValue();
      }
    }
    return sockets;
  }

  private void addSockets(TrafficKind kind, long[] all, long[] engine) {
    // Figures of two moments: the engine's may be ahead.
    add(kind, SOCKETS, CALLS, Math.max(0, all[CALLS] - engine[CALLS]));
    add(kind, SOCKETS, BYTES, Math.max(0, all[BYTES] - engine[BYTES]));
    add(kind, SOCKETS, CONNECTIONS, all[CONNECTIONS]);
  }

  private void add(TrafficKind kind, String transport, int figure, long count) {
    rows.computeIfAbsent(kind, k -> new TreeMap<>()).computeIfAbsent(transport, t -> new long[FIGURES.size()])[figure]
        += count;
  }

  /** Adds what was counted elsewhere. */
  void add(TrafficKind kind, String transport, long calls, long bytes, long connections) {
    add(kind, transport, CALLS, calls);
    add(kind, transport, BYTES, bytes);
    add(kind, transport, CONNECTIONS, connections);
  }

  /** Notes that the engine could be used for a kind where it was counted elsewhere. */
  void available(TrafficKind kind) {
    available.add(kind);
  }

  /** Notes that there must have been traffic of a kind: {@link #idle} names it if nothing was counted, too. */
  void expect(TrafficKind kind) {
    expected.add(kind);
  }

  /** Adds a cause for which sockets were used although the engine was wanted. */
  void reason(TrafficKind kind, String cause, long times) {
    reasons.merge(kind.component() + ": " + cause, times, Long::sum);
  }

  /** One figure: of a kind over a transport. */
  long calls(TrafficKind kind, String transport) {
    return rows.getOrDefault(kind, new TreeMap<>()).getOrDefault(transport, new long[FIGURES.size()])[CALLS];
  }

  /** What the engine carried nothing of although it was there, as sentences; empty if all is well. */
  List<String> idle() {
    List<String> idle = new ArrayList<>();
    for (TrafficKind kind : available) {
      long engine = 0;
      long all = 0;
      for (Map.Entry<String, long[]> entry : rows.getOrDefault(kind, new TreeMap<>()).entrySet()) {
        all += entry.getValue()[CALLS];
        engine += entry.getKey().equals(SOCKETS) ? 0 : entry.getValue()[CALLS];
      }
      if (engine == 0 && (all > 0 || expected.contains(kind))) {
        idle.add("the engine was there and carried nothing of: " + kind.label());
      }
    }
    return idle;
  }

  JsonObject json() {
    JsonArray figures = new JsonArray();
    rows.forEach((kind, transports) -> transports.forEach((transport, row) -> {
      if (row[CALLS] == 0 && row[CONNECTIONS] == 0) {
        return;
      }
      JsonObject entry = new JsonObject();
      entry.addProperty("traffic", kind.label());
      entry.addProperty("transport", transport);
      for (int i = 0; i < row.length; i++) {
        entry.addProperty(FIGURES.get(i), row[i]);
      }
      figures.add(entry);
    }));
    JsonObject why = new JsonObject();
    reasons.forEach(why::addProperty);
    JsonObject all = new JsonObject();
    all.add("rows", figures);
    all.add("fallbacks", why);
    return all;
  }

  /** The table, and a line for each reason to use sockets. */
  @Override
  public String toString() {
    Table table = new Table("TRAFFIC", "OVER", "CALLS", "BYTES", "CONNECTIONS");
    rows.forEach((kind, transports) -> transports.forEach((transport, row) -> {
      if (row[CALLS] > 0 || row[CONNECTIONS] > 0) {
        table.row(kind.label(), transport, row[CALLS], Sizes.format(row[BYTES]),
            row[CONNECTIONS] > 0 ? Long.toString(row[CONNECTIONS]) : "-");
      }
    }));
    StringBuilder text = new StringBuilder(table.toString());
    reasons.forEach((reason, count) -> text.append(String.format("sockets %d times: %s%n", count, reason)));
    return text.toString();
  }
}

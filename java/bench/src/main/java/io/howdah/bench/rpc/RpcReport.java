package io.howdah.bench.rpc;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.howdah.bench.Undisturbed;
import io.howdah.bench.rpc.Sample.Case;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** What a run of the RPC benchmark saw: as a table, and as JSON. Not thread-safe. */
final class RpcReport {
  /**
   * How often the engines count a payload at least. Both ends count it there and back, four times in all; but of the
   * calls that are on their way when a measurement begins or ends, some parts only.
   */
  private static final double MOVED = 2;
  private static final String[] LATENCY = {"mean", "p50", "p90", "p99", "p99.9", "max"};
  private static final String[] COST = {"cpuClient", "cpuServer", "heapClient", "heapServer"};

  private final RpcPlan plan;
  private final RpcBench.Transport transport;
  private final Map<String, Object> conditions;
  private List<Sample> samples = new ArrayList<>();
  private Map<String, JsonObject> profiles = new LinkedHashMap<>();
  private int again;
  private int disturbed;

  RpcReport(RpcPlan plan, RpcBench.Transport transport, Map<String, Object> conditions) {
    this.plan = plan;
    this.transport = transport;
    this.conditions = conditions;
  }

  /** What has been measured until now; again after each round. */
  void take(RpcRounds run) {
    samples = run.samples();
    profiles = run.profiles();
    conditions.put("rounds", samples.stream().mapToInt(sample -> sample.round).max().orElse(0));
    again = run.undisturbed().again();
    disturbed = run.undisturbed().disturbed();
    conditions.put("measured_again", again);
    conditions.put("disturbed", disturbed);
    conditions.put("jvm_options", plan.jvmOptions);
    conditions.put("transport", transport.toString());
    conditions.put("server", plan.remote != null ? plan.remote : "on this host, " + plan.address);
    conditions.put("client_processes", plan.processes);
    conditions.put("settle_seconds", plan.settleSeconds);
    conditions.put("seconds", plan.seconds);
    Map<String, Integer> calls = new LinkedHashMap<>();
    plan.sizes.forEach(size -> calls.put(size + " B", plan.iterations(size)));
    conditions.put("calls_a_round", calls);
    conditions.put("sides", run.about());
  }

  Map<String, Object> conditions() {
    return conditions;
  }

  RpcPlan plan() {
    return plan;
  }

  /** The sides, in the order of the command line. */
  List<String> sides() {
    List<String> names = new ArrayList<>();
    for (String name : new String[] {"this", "ours", "reference"}) {
      if (samples.stream().anyMatch(sample -> sample.side.equals(name))) {
        names.add(name);
      }
    }
    return names;
  }

  /** One value of a case on one side, round by round; empty if it was not measured. */
  double[] rounds(String side, Case what, String value) {
    return samples.stream()
        .filter(sample -> sample.side.equals(side) && sample.measure.equals(what.measure)
            && sample.type.equalsIgnoreCase(what.type.name()) && sample.bytes == what.bytes
            && sample.clients == what.clients && sample.handlers == what.handlers && sample.values.containsKey(value))
        .mapToDouble(sample -> sample.values.get(value))
        .toArray();
  }

  /** The median over the rounds; NaN if there is none. */
  double median(String side, Case what, String value) {
    return median(rounds(side, what, value));
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    int middle = values.length / 2;
    if (values.length == 0) {
      return Double.NaN;
    }
    return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }

  /** How far the best and the worst round are from the median, in percent: below zero is less. */
  private String deviation(String side, Case what, String value) {
    double median = median(side, what, value);
    double[] values = rounds(side, what, value);
    return String.format(Locale.ROOT, "%+.0f/%+.0f", (Arrays.stream(values).min().orElse(median) / median - 1) * 100,
        (Arrays.stream(values).max().orElse(median) / median - 1) * 100);
  }

  void print(PrintStream out) {
    out.println("Times in microseconds, medians of " + plan.rounds + " rounds; dev: least and greatest round, in "
        + "percent of the median;\ncpu: microseconds a call; heap: bytes allocated a call; client/server.");
    List<Case> cases = RpcRounds.cases(plan);
    printLatency(out, "Latency", cases, "latency");
    printLatency(out, "Types", cases, "type");
    printLoad(out, cases);
    printIdle(out, cases);
    printDisturbances(out);
    profiles.forEach((name, profile) -> printProfile(out, name, profile));
  }

  private void printLatency(PrintStream out, String title, List<Case> cases, String measure) {
    boolean first = true;
    for (Case what : cases) {
      if (!what.measure.equals(measure)) {
        continue;
      }
      if (first) {
        out.printf("%n%-10s %-9s %9s %6s %9s %9s %9s %9s %9s %9s %9s %11s %15s%n", title, "", "bytes", "calls",
            "mean", "p50", "p90", "p99", "p99.9", "max", "dev", "cpu", "heap");
      }
      first = false;
      for (String side : sides()) {
        StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "%-10s %-9s %9d %6.0f", side,
            what.type.name().toLowerCase(Locale.ROOT), what.bytes, median(side, what, "count")));
        for (String value : LATENCY) {
          line.append(String.format(Locale.ROOT, " %9.1f", median(side, what, value)));
        }
        out.println(line + String.format(Locale.ROOT, " %9s", deviation(side, what, "mean")) + cost(side, what));
      }
      printRatio(out, what, "mean", "p99");
    }
  }

  private String cost(String side, Case what) {
    double[] values = Arrays.stream(COST).mapToDouble(name -> median(side, what, name)).toArray();
    return String.format(Locale.ROOT, " %11s %15s", String.format(Locale.ROOT, "%.1f/%.1f", values[0], values[1]),
        String.format(Locale.ROOT, "%.0f/%.0f", values[2], values[3]));
  }

  private void printRatio(PrintStream out, Case what, String... values) {
    if (sides().size() < 2) {
      return;
    }
    StringBuilder line = new StringBuilder("           ours is better by");
    for (String value : values) {
      double ratio = ratio(what, value);
      line.append(String.format(Locale.ROOT, " %.2f (%s)", value.equals("rate") ? 1 / ratio : ratio, value));
    }
    out.println(line);
  }

  /** How many times less ours is, the median of the rounds: both sides of a round are measured one after the other. */
  double ratio(Case what, String value) {
    double[] ours = rounds("ours", what, value);
    double[] reference = rounds("reference", what, value);
    return median(IntStream.range(0, Math.min(ours.length, reference.length))
        .mapToDouble(round -> reference[round] / ours[round]).toArray());
  }

  private void printLoad(PrintStream out, List<Case> cases) {
    boolean first = true;
    for (Case what : cases) {
      if (!what.measure.equals("throughput")) {
        continue;
      }
      if (first) {
        out.printf("%n%-10s %9s %8s %8s %10s %9s %9s %9s %9s %11s %15s%n", "Throughput", "bytes", "clients", "handlers",
            "calls/s", "p50", "p99", "max", "dev", "cpu", "heap");
      }
      first = false;
      for (String side : sides()) {
        out.println(String.format(Locale.ROOT, "%-10s %9d %8d %8d %10.0f %9.1f %9.1f %9.1f %9s", side, what.bytes,
            what.clients, what.handlers, median(side, what, "rate"), median(side, what, "p50"),
            median(side, what, "p99"), median(side, what, "max"), deviation(side, what, "rate")) + cost(side, what));
      }
      printRatio(out, what, "rate");
    }
  }

  private void printIdle(PrintStream out, List<Case> cases) {
    for (Case what : cases) {
      if (what.measure.equals("idle")) {
        out.println();
        for (String side : sides()) {
          out.printf(Locale.ROOT, "Idle       %-10s processor time while connections rest: client %.1f, server %.1f ms "
              + "a second%n", side, median(side, what, "cpuClient") / 1e3, median(side, what, "cpuServer") / 1e3);
        }
      }
    }
  }

  private void printDisturbances(PrintStream out) {
    if (again + disturbed > 0) {
      out.printf(Locale.ROOT, "%nWhile the host kept %.0f %% of the processors or more: %d measurements were made "
          + "again, %d were kept all the same%n", Undisturbed.MUCH, again, disturbed);
    }
  }

  private static void printProfile(PrintStream out, String name, JsonObject profile) {
    out.printf("%nProfile, %s (%d stacks)%n", name, profile.get("samples").getAsInt());
    for (String part : new String[] {"cpu", "frames", "stacks"}) {
      for (Map.Entry<String, JsonElement> entry : profile.getAsJsonObject(part).entrySet()) {
        out.printf("  %-6s %9s  %s%n", part, entry.getValue().getAsString(), entry.getKey());
      }
    }
  }

  /** A forced transport that carried nothing is a failure, whatever the figures say. */
  void checkOverEngine(String side) {
    for (Sample sample : samples) {
      boolean calls = !sample.measure.equals("idle");
      if (calls && sample.side.equals(side) && sample.values.getOrDefault("engine", 0.0) < MOVED * sample.bytes) {
        throw new BenchException(String.format(Locale.ROOT, "%s with %d bytes did not go over the engine, which "
            + "moved %.0f bytes a call: is this tree's RPC integration in force? (bin/howdah conf --explain)",
            sample.measure, sample.bytes, sample.values.getOrDefault("engine", 0.0)));
      }
    }
  }

  String json() {
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("name", "rpc");
    document.put("conditions", conditions);
    document.put("units", Collections.unmodifiableMap(new TreeMap<>(units())));
    document.put("samples", samples);
    document.put("profiles", profiles);
    return new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().serializeSpecialFloatingPointValues().create()
        .toJson(document);
  }

  private static Map<String, String> units() {
    Map<String, String> units = new LinkedHashMap<>();
    Arrays.asList(LATENCY).forEach(name -> units.put(name, "us"));
    units.put("rate", "calls/s");
    units.put("cpuClient", "us a call; idle: us a second");
    units.put("cpuServer", "us a call; idle: us a second");
    units.put("heapClient", "bytes allocated a call");
    units.put("heapServer", "bytes allocated a call");
    units.put("stolen", "% of the processors, kept by the host");
    units.put("engine", "bytes sent and received by the engines of both ends a call");
    return units;
  }
}

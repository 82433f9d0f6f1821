package io.howdah.bench.spark;

import com.google.gson.GsonBuilder;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What a run of the Spark benchmark saw: as a table, and as JSON. Immutable. */
final class SparkReport {
  private final SparkPlan plan;
  private final List<SparkSide> sides;
  private final Map<String, Object> conditions;
  private final List<SparkSample> samples;

  SparkReport(SparkPlan plan, List<SparkSide> sides, Map<String, Object> conditions, List<SparkSample> samples) {
    this.plan = plan;
    this.sides = sides;
    this.conditions = conditions;
    this.samples = samples;
  }

  private static Map<String, String> units() {
    Map<String, String> units = new LinkedHashMap<>();
    units.put("seconds", "s, the job's own");
    units.put("wait", "s, of all tasks together, waiting for blocks");
    units.put("gc", "s, of all tasks together, collecting garbage");
    units.put("remoteMb", "MB of shuffled blocks from other executors");
    units.put("remoteBlocks", "shuffled blocks from other executors");
    for (String way : new String[] {"engine", "netty"}) {
      units.put(way + "Mb", "MB of blocks of all kinds that executors fetched over " + way);
      units.put(way + "Blocks", "blocks of all kinds that executors fetched over " + way);
    }
    return units;
  }

  private double[] values(String side, String job, int executors, String value) {
    return samples.stream().filter(s -> s.side.equals(side) && s.job.equals(job) && s.executors == executors)
        .mapToDouble(s -> s.value(value)).sorted().toArray();
  }

  private double median(String side, String job, int executors, String value) {
    double[] values = values(side, job, executors, value);
    int middle = values.length / 2;
    return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }

  void print(PrintStream out) {
    out.printf("Medians of %d rounds; wait and gc are sums over all tasks; fetched: by executors, of all kinds.%n%n",
        plan.rounds);
    out.printf("%-10s %9s %-10s %9s %17s %9s %9s %11s %11s%n", "job", "executors", "side", "time s", "min-max",
        "wait s", "gc s", "engine MB", "netty MB");
    for (String job : plan.jobs) {
      for (int executors : plan.executors) {
        sides.forEach(side -> printLine(out, side, job, executors));
        String[] names = sides.stream().map(side -> side.name).toArray(String[]::new);
        double ours = median(names[0], job, executors, "seconds");
        double theirs = median(names[1], job, executors, "seconds");
        out.printf(Locale.ROOT, "%31s %+.1f %% time%n", names[0] + ":", (ours / theirs - 1) * 100);
      }
    }
  }

  private void printLine(PrintStream out, SparkSide side, String job, int executors) {
    double[] times = values(side.name, job, executors, "seconds");
    String spread = String.format(Locale.ROOT, "%.2f-%.2f", times[0], times[times.length - 1]);
    StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "%-10s %9d %-10s %9.2f %17s", job, executors,
        side, median(side.name, job, executors, "seconds"), spread));
    for (String value : Arrays.asList("wait", "gc")) {
      line.append(String.format(Locale.ROOT, " %9.2f", median(side.name, job, executors, value)));
    }
    for (String value : Arrays.asList("engineMb", "nettyMb")) {
      boolean counted = samples.stream().anyMatch(s -> s.side.equals(side.name) && s.values.containsKey(value));
      line.append(counted ? String.format(Locale.ROOT, " %11.1f", median(side.name, job, executors, value))
          : String.format(" %11s", "-"));
    }
    out.println(line);
  }

  String json() {
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("name", "spark");
    document.put("conditions", conditions);
    document.put("units", units());
    document.put("samples", samples);
    return new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create().toJson(document);
  }
}

package io.howdah.bench.spark;

import com.google.gson.GsonBuilder;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

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
    units.put("seconds", "s, the job's own, without making its input");
    units.put("runs", "times that the job was run: a short one several times; sums and seconds are of one, on average");
    units.put("spent", "s, of all runs together");
    units.put("begin", "s by System.nanoTime(), on Linux CLOCK_MONOTONIC: when the first began, to cut a profile by");
    units.put("wait", "s, of all tasks together, waiting for blocks");
    units.put("cpu", "s of processors, of all executors' processes");
    units.put("taskSeconds", "s, of all tasks together, running");
    units.put("busiestTasks", "tasks of the executor that ran most of them, for which a job waits");
    units.put("taskCpu", "s of processors, of the tasks' own threads");
    units.put("gc", "s, of all executors, collecting garbage");
    units.put("heapMb", "MB that all threads of all executors allocated on their heaps");
    units.put("moversHeapMb", "the same of the threads that move blocks, Netty's and the engine's, without tasks");
    units.put("rssMb", "MB, the most that an executor had resident, its shared memory with it");
    units.put("pinnedMb", "MB of registered memory of an executor after the job, the most of all");
    units.put("stolen", "% of the processors, kept by the host while both sides ran the job");
    units.put("remoteMb", "MB of shuffled blocks from other executors");
    units.put("remoteBlocks", "shuffled blocks from other executors");
    units.put("localMb", "MB of shuffled blocks from the same executor");
    units.put("spilledMb", "MB that did not fit into memory and went to disk");
    for (String way : new String[] {"engine", "netty"}) {
      units.put(way + "Mb", "MB of blocks of all kinds that executors fetched over " + way);
      units.put(way + "Blocks", "blocks of all kinds that executors fetched over " + way);
    }
    return units;
  }

  private double[] values(String side, String job, int executors, ToDoubleFunction<SparkSample> value) {
    return samples.stream().filter(s -> s.side.equals(side) && s.job.equals(job) && s.executors == executors)
        .mapToDouble(value).sorted().toArray();
  }

  private double median(String side, String job, int executors, String value) {
    double[] values = values(side, job, executors, s -> s.value(value));
    int middle = values.length / 2;
    return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }

  void print(PrintStream out) {
    out.printf("Medians of %d rounds; wait: sum over all tasks; cpu, gc, heap (allocated there), engine and netty "
        + "(fetched): of all executors; rss: of the largest.%n%n", plan.applications * plan.rounds);
    out.printf("%-20s %4s %-10s %8s %15s %8s %7s %6s %8s %7s %9s %9s%n", "job", "ex.", "side", "time s", "min-max",
        "wait s", "cpu s", "gc s", "heap MB", "rss MB", "engine MB", "netty MB");
    for (int executors : plan.executors) {
      for (String job : plan.jobs) {
        sides.forEach(side -> printLine(out, side, job, executors));
        String[] names = sides.stream().map(side -> side.name).toArray(String[]::new);
        double ours = median(names[0], job, executors, "seconds");
        double theirs = median(names[1], job, executors, "seconds");
        out.printf(Locale.ROOT, "%36s %+.1f %% time%n", names[0] + ":", (ours / theirs - 1) * 100);
      }
    }
  }

  private void printLine(PrintStream out, SparkSide side, String job, int executors) {
    double[] times = values(side.name, job, executors, s -> s.value("seconds"));
    String spread = String.format(Locale.ROOT, "%.2f-%.2f", times[0], times[times.length - 1]);
    StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "%-20s %4d %-10s %8.2f %15s", job, executors,
        side, median(side.name, job, executors, "seconds"), spread));
    line.append(String.format(Locale.ROOT, " %8.2f %7.2f %6.2f %8.0f %7.0f",
        Arrays.asList("wait", "cpu", "gc", "heapMb", "rssMb").stream()
            .map(value -> median(side.name, job, executors, value)).toArray()));
    for (String value : Arrays.asList("engineMb", "nettyMb")) {
      boolean counted = samples.stream().anyMatch(s -> s.side.equals(side.name) && s.values.containsKey(value));
      line.append(counted ? String.format(Locale.ROOT, " %9.1f", median(side.name, job, executors, value))
          : String.format(" %9s", "-"));
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

package io.howdah.bench.spark;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What is to be measured, and in what surroundings. Filled by the command line, then only read. */
final class SparkPlan {
  /** Of each side, one after the other; rounds of each. */
  int applications = 1;
  int rounds;
  /** Rounds of each application before those; at least one, which loads classes and brings files into memory. */
  int warmUp = 1;
  List<String> jobs = Collections.emptyList();
  List<Integer> executors = Collections.emptyList();
  /** Of all executors together; memory in MB of heap. */
  int cores;
  int memory;
  int maps;
  int pairs;
  int valueBytes;
  int reducers;
  /** Size of all jobs but GroupBy and SortBy, and in how many partitions their data is. */
  double scale = 1;
  int partitions;
  String address;
  /** Jar with the jobs, for both sides. */
  File examples;
  /** Where clusters and their shuffle files are. */
  File folder;
  /** Spark's configuration of both sides, name=value. */
  List<String> settings = new ArrayList<>();
  /** Commands that run workers in turn, with blanks between their words. */
  List<String> bindings = new ArrayList<>();

  List<String> arguments() {
    return Arrays.asList("" + maps, "" + pairs, "" + valueBytes, "" + reducers, "" + scale, "" + partitions);
  }

  double shuffledMegabytes() {
    return (double) maps * pairs * valueBytes / (1 << 20);
  }

  int coresOfEach(int count) {
    return cores / count;
  }

  int memoryOfEach(int count) {
    return memory / count;
  }

  /** The words before the command of a worker, counted from 1, of so many. */
  List<String> bindingOf(int worker, int workers) {
    if (bindings.isEmpty() || workers < bindings.size()) {
      return Collections.emptyList();
    }
    return Arrays.asList(bindings.get((worker - 1) % bindings.size()).trim().split("\\s+"));
  }

  Map<String, Object> conditions() {
    Map<String, Object> conditions = new TreeMap<>();
    conditions.put("applications", applications);
    conditions.put("rounds", rounds);
    conditions.put("warm_up", warmUp);
    conditions.put("shape", String.format("%d maps, %d pairs, %d B, %d reducers", maps, pairs, valueBytes, reducers));
    conditions.put("shuffled_mb", Math.round(shuffledMegabytes()));
    conditions.put("other_jobs", String.format(Locale.ROOT, "scale %g, %d partitions", scale, partitions));
    conditions.put("executors_together", cores + " cores, " + memory + " MB of heap");
    conditions.put("settings", settings);
    conditions.put("bind", bindings);
    return conditions;
  }
}

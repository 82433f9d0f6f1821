package io.howdah.examples.spark.workload;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a job came to that was run once or several times, as lines that {@code howdah bench} reads: "value NAME NUMBER"
 * and, of each run, "result WORDS". Times and sums are of one run, on average. For one thread.
 */
final class JobReport {
  private final Map<String, Double> values = new TreeMap<>();
  private final List<Outcome> outcomes = new ArrayList<>();

  /** It was run once more. Whether all runs found the same is for the reader to see. */
  void ran(Outcome found) {
    outcomes.add(found);
  }

  /** When the first run began and how long all took, in seconds. */
  void times(double began, double spent) {
    values.put("begin", began);
    values.put("spent", spent);
    values.put("runs", (double) outcomes.size());
    values.put("seconds", spent / outcomes.size());
  }

  void tasks(Map<String, Double> sums) {
    sums.forEach((name, value) -> values.put(name, value / outcomes.size()));
  }

  /** Sums of all executors; of levels, the highest. */
  void executors(Map<String, ExecutorReadings> before, Map<String, ExecutorReadings> after) {
    if (!before.keySet().equals(after.keySet())) {
      throw new IllegalStateException("executors came or went: " + before.keySet() + " and " + after.keySet());
    }
    after.forEach((executor, reading) -> {
      Map<String, Double> then = before.get(executor).sums;
      reading.sums.forEach((name, value) -> values.merge(name, (value - then.getOrDefault(name, 0.0))
          / outcomes.size(), Double::sum));
      reading.levels.forEach((name, value) -> values.merge(name, value, Math::max));
    });
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    values.forEach((name, value) -> text.append(String.format(Locale.ROOT, "value %s %.6f%n", name, value)));
    outcomes.forEach(outcome -> text.append(String.format("result %s%n", outcome)));
    return text.toString().trim();
  }
}

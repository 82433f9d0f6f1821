package io.howdah.examples.spark.workload;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a job came to that was run once or several times, as lines that {@code howdah bench} reads: "value NAME NUMBER"
 * and "result WORDS". Times and sums are of one run, on average. For one thread.
 */
final class JobReport {
  private final Map<String, Double> values = new TreeMap<>();
  private Outcome outcome;
  private int runs;

  /** It was run once more. Each run has to find the same. */
  void ran(Outcome found) {
    if (outcome != null && !outcome.agrees(found)) {
      throw new IllegalStateException("run " + (runs + 1) + " of a job found " + found + ", the first " + outcome);
    }
    outcome = outcome == null ? found : outcome;
    runs++;
  }

  /** When the first run began and how long all took, in seconds. */
  void times(double began, double spent) {
    values.put("begin", began);
    values.put("spent", spent);
    values.put("runs", (double) runs);
    values.put("seconds", spent / runs);
  }

  void tasks(Map<String, Double> sums) {
    sums.forEach((name, value) -> values.put(name, value / runs));
  }

  /** Sums of all executors; of levels, the highest. */
  void executors(Map<String, ExecutorReadings> before, Map<String, ExecutorReadings> after) {
    if (!before.keySet().equals(after.keySet())) {
      throw new IllegalStateException("executors came or went: " + before.keySet() + " and " + after.keySet());
    }
    after.forEach((executor, reading) -> {
      Map<String, Double> then = before.get(executor).sums;
      reading.sums.forEach((name, value) -> values.merge(name, (value - then.getOrDefault(name, 0.0)) / runs,
          Double::sum));
      reading.levels.forEach((name, value) -> values.merge(name, value, Math::max));
    });
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    values.forEach((name, value) -> text.append(String.format(Locale.ROOT, "value %s %.6f%n", name, value)));
    return text.append("result ").append(outcome).toString();
  }
}

package io.howdah.examples.spark.workload;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What a job came to, as lines that {@code howdah bench} reads: "value NAME NUMBER" and "result WORDS". */
final class JobReport {
  private final Map<String, Double> values = new TreeMap<>();
  private Outcome outcome;

  void put(String name, double value) {
    values.put(name, value);
  }

  void outcome(Outcome found) {
    outcome = found;
  }

  void tasks(Map<String, Double> sums) {
    values.putAll(sums);
  }

  /** Sums of all executors; of levels, the highest. */
  void executors(Map<String, ExecutorReadings> before, Map<String, ExecutorReadings> after) {
    if (!before.keySet().equals(after.keySet())) {
      throw new IllegalStateException("executors came or went: " + before.keySet() + " and " + after.keySet());
    }
    after.forEach((executor, reading) -> {
      Map<String, Double> then = before.get(executor).sums;
      reading.sums.forEach((name, value) -> values.merge(name, value - then.getOrDefault(name, 0.0), Double::sum));
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

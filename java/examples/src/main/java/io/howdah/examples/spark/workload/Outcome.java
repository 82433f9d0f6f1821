package io.howdah.examples.spark.workload;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What a job found, as words without blanks: NAME=VALUE is the same in every right run; NAME~NUMBER is a sum of
 * floating point numbers, whose last digits depend on the order in which parts came. For one thread.
 */
final class Outcome {
  private final List<String> words = new ArrayList<>();

  Outcome exact(String name, Object value) {
    words.add(name + "=" + String.valueOf(value).replaceAll("\\s+", "_"));
    return this;
  }

  Outcome about(String name, double value) {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      throw new IllegalStateException(name + " is " + value);
    }
    words.add(String.format(Locale.ROOT, "%s~%.12e", name, value));
    return this;
  }

  @Override
  public String toString() {
    return String.join(" ", words);
  }
}

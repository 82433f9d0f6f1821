package io.howdah.examples.spark.workload;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** How much the workloads move: OHB's parameters for GroupBy and SortBy, and a factor for all others. Immutable. */
final class WorkloadSize implements Serializable {
  static final String USAGE = "MAPS PAIRS-PER-MAP VALUE-BYTES REDUCERS SCALE PARTITIONS";

  final int maps;
  final int pairs;
  final int valueBytes;
  final int reducers;
  /** 1 is what takes two cores some seconds. */
  final double scale;
  /** Of the other workloads, before and behind each shuffle. */
  final int partitions;

  WorkloadSize(int maps, int pairs, int valueBytes, int reducers, double scale, int partitions) {
    this.maps = maps;
    this.pairs = pairs;
    this.valueBytes = valueBytes;
    this.reducers = reducers;
    this.scale = scale;
    this.partitions = partitions;
  }

  static WorkloadSize parse(String... words) {
    if (words.length != 6) {
      throw new IllegalArgumentException("usage: " + USAGE);
    }
    return new WorkloadSize(atLeastOne(words[0]), atLeastOne(words[1]), atLeastOne(words[2]), atLeastOne(words[3]),
        Double.parseDouble(words[4]), atLeastOne(words[5]));
  }

  private static int atLeastOne(String word) {
    int number = Integer.parseInt(word);
    if (number < 1) {
      throw new IllegalArgumentException("at least 1 is needed, not " + word + "; usage: " + USAGE);
    }
    return number;
  }

  /** So many at scale 1, in each partition; at least one. */
  int each(int atScaleOne) {
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, Math.round(atScaleOne * scale / partitions)));
  }

  /** The same, all together. */
  int all(int atScaleOne) {
    return each(atScaleOne) * partitions;
  }

  /** One number for each of so many partitions. */
  static JavaRDD<Integer> numbers(JavaSparkContext spark, int count) {
    List<Integer> numbers = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      numbers.add(number);
    }
    return spark.parallelize(numbers, count);
  }
}

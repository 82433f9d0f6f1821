package io.howdah.examples.spark;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** How much a shuffle job moves, in the order of arguments that Spark's own GroupByTest takes. Immutable. */
final class ShuffleSize implements Serializable {
  static final String USAGE = "[MAPS [PAIRS-PER-MAP [VALUE-BYTES [REDUCERS]]]]";

  private final int maps;
  private final int pairs;
  private final int valueBytes;
  private final int reducers;

  ShuffleSize(int maps, int pairs, int valueBytes, int reducers) {
    this.maps = maps;
    this.pairs = pairs;
    this.valueBytes = valueBytes;
    this.reducers = reducers;
  }

  /**
   * Reads the arguments; by default 2 maps of 1000 pairs of 1000 bytes, and as many reducers as maps.
   *
   * @throws IllegalArgumentException naming the argument that is not a positive number
   */
  static ShuffleSize parse(String... arguments) {
    if (arguments.length > 4) {
      throw new IllegalArgumentException("too many arguments: " + arguments.length + "; usage: " + USAGE);
    }
    int maps = argument(arguments, 0, "MAPS", 2);
    return new ShuffleSize(maps, argument(arguments, 1, "PAIRS-PER-MAP", 1000),
        argument(arguments, 2, "VALUE-BYTES", 1000), argument(arguments, 3, "REDUCERS", maps));
  }

  private static int argument(String[] arguments, int index, String name, int otherwise) {
    if (index >= arguments.length) {
      return otherwise;
    }
    if (!arguments[index].matches("0*[1-9][0-9]{0,8}")) {
      throw new IllegalArgumentException(name + " is not a number from 1 to 999999999: " + arguments[index]
          + "; usage: " + USAGE);
    }
    return Integer.parseInt(arguments[index]);
  }

  /** The pairs, made on the executors and kept there, so that what is timed next is the shuffle alone. */
  JavaPairRDD<Integer, byte[]> generate(JavaSparkContext spark) {
    List<Integer> seeds = new ArrayList<>();
    for (int seed = 0; seed < maps; seed++) {
      seeds.add(seed);
    }
    int count = pairs;
    int bytes = valueBytes;
    JavaPairRDD<Integer, byte[]> generated =
        spark.parallelize(seeds, maps).flatMapToPair(seed -> new RandomPairs(seed, count, bytes)).cache();
    generated.count();
    return generated;
  }

  int reducers() {
    return reducers;
  }

  long total() {
    return (long) maps * pairs;
  }

  @Override
  public String toString() {
    return total() + " pairs of " + valueBytes + " bytes, " + maps + " maps, " + reducers + " reducers";
  }
}

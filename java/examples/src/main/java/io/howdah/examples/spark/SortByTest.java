package io.howdah.examples.spark;

import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Times sortByKey over random pairs. Fails if a pair got lost or the keys are not in order. */
public final class SortByTest {
  private SortByTest() {
  }

  /** Runs it: [MAPS [PAIRS-PER-MAP [VALUE-BYTES [REDUCERS]]]]. */
  public static void main(String[] arguments) {
    ShuffleSize size = ShuffleSize.parse(arguments);
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setIfMissing("spark.app.name", "SortByTest"))) {
      System.out.println("SortByTest: " + size + ": " + run(spark, size));
    }
  }

  /** Sorts; says how long it took. */
  static String run(JavaSparkContext spark, ShuffleSize size) {
    JavaPairRDD<Integer, byte[]> pairs = size.generate(spark);
    long started = System.nanoTime();
    List<int[]> parts = pairs.sortByKey(true, size.reducers()).mapPartitions(SortByTest::summary).collect();
    double seconds = (System.nanoTime() - started) / 1e9;
    long total = 0;
    int last = Integer.MIN_VALUE;
    for (int[] part : parts) {
      if (part[1] < last || part[3] == 0) {
        throw new IllegalStateException("the keys are not in order");
      }
      last = part[2];
      total += part[0];
    }
    if (total != size.total()) {
      throw new IllegalStateException("pairs got lost: " + total + " of " + size.total() + " were sorted");
    }
    return String.format(Locale.ROOT, "sorted, %.3f s", seconds);
  }

  /** Count, first key, last key, and 1 if all between are in order; nothing for an empty part. */
  private static Iterator<int[]> summary(Iterator<Tuple2<Integer, byte[]>> pairs) {
    int[] part = {0, 0, 0, 1};
    while (pairs.hasNext()) {
      int key = pairs.next()._1;
      if (part[0]++ == 0) {
        part[1] = key;
      } else if (key < part[2]) {
        part[3] = 0;
      }
      part[2] = key;
    }
    return part[0] == 0 ? Collections.emptyIterator() : Collections.singletonList(part).iterator();
  }
}

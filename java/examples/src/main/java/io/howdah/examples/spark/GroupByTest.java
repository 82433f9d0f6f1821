package io.howdah.examples.spark;

import java.util.Locale;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Times groupByKey over random pairs: every value crosses the shuffle. Fails if a pair got lost. */
public final class GroupByTest {
  private GroupByTest() {
  }

  /** Runs it: [MAPS [PAIRS-PER-MAP [VALUE-BYTES [REDUCERS]]]]. */
  public static void main(String[] arguments) {
    ShuffleSize size = ShuffleSize.parse(arguments);
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setIfMissing("spark.app.name", "GroupByTest"))) {
      System.out.println("GroupByTest: " + size + ": " + run(spark, size));
    }
  }

  /** Groups; says how many groups there are and how long it took. */
  static String run(JavaSparkContext spark, ShuffleSize size) {
    JavaPairRDD<Integer, byte[]> pairs = size.generate(spark);
    long started = System.nanoTime();
    Tuple2<Long, Long> totals = pairs.groupByKey(size.reducers())
        .map(group -> new Tuple2<>(1L, count(group._2)))
        .fold(new Tuple2<>(0L, 0L), (a, b) -> new Tuple2<>(a._1 + b._1, a._2 + b._2));
    double seconds = (System.nanoTime() - started) / 1e9;
    if (totals._2 != size.total()) {
      throw new IllegalStateException("pairs got lost: " + totals._2 + " of " + size.total() + " were grouped");
    }
    return String.format(Locale.ROOT, "%d groups, %.3f s", totals._1, seconds);
  }

  private static long count(Iterable<byte[]> values) {
    long count = 0;
    for (byte[] value : values) {
      count += value == null ? 0 : 1;
    }
    return count;
  }
}

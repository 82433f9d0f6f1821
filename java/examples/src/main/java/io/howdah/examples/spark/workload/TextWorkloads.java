package io.howdah.examples.spark.workload;

import java.util.Arrays;
import java.util.Collections;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Jobs over lines of words, few of which are frequent. */
final class TextWorkloads {
  private static final int LINES = 1_500_000;
  private static final int WORDS = 8;
  private static final int DICTIONARY = 300_000;
  private static final String LOOKED_FOR = "q7";
  private static final long SEED = 12;

  private TextWorkloads() {
  }

  static JavaRDD<String> lines(JavaSparkContext spark, WorkloadSize size) {
    return Generated.cached(spark, size, LINES, SEED, TextWorkloads::line);
  }

  private static String line(SplittableRandom random, long number) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < WORDS; i++) {
      double rank = random.nextDouble();
      long word = (long) (DICTIONARY * rank * rank * rank);
      line.append(i == 0 ? "" : " ").append(Long.toString((word + 1) * 0x9e3779b1L & 0xffffffffL, 36));
    }
    return line.toString();
  }

  /** How often each word is there. */
  static Callable<Outcome> wordCount(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<String> lines = lines(spark, size);
    return () -> {
      long[] totals = Totals.of(lines.flatMap(line -> Arrays.asList(line.split(" ")).iterator())
          .mapToPair(word -> new Tuple2<>(word, 1L)).reduceByKey(Long::sum, size.partitions).map(pair -> pair), 3,
          pair -> new long[] {1, pair._2, Totals.mark(pair._1) * pair._2});
      return new Outcome().exact("words", totals[0]).exact("total", totals[1])
          .exact("sum", Long.toHexString(totals[2]));
    };
  }

  /** The lines in which a piece of text is. */
  static Callable<Outcome> grep(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<String> lines = lines(spark, size);
    return () -> {
      long[] totals = Totals.of(lines.filter(line -> line.contains(LOOKED_FOR)), 2,
          line -> new long[] {1, Totals.mark(line)});
      return new Outcome().exact("lines", totals[0]).exact("sum", Long.toHexString(totals[1]));
    };
  }

  /** All lines in order. */
  static Callable<Outcome> sort(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<String> lines = lines(spark, size);
    return () -> Order.outcome(lines.sortBy(line -> line, true, size.partitions)
        .mapPartitions(part -> Collections.singletonList(
            Order.of(part, (String line) -> line, Totals::mark)).iterator()).collect());
  }
}

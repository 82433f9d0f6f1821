package io.howdah.examples.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.StringTokenizer;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * Groups all tokens of a text by groupByKey and writes how large each group is, as "token TAB count". A token is what
 * Hadoop's WordCount takes for one, so both must give the same.
 */
public final class TokenGroups {
  private TokenGroups() {
  }

  /** Runs it: INPUT OUTPUT REDUCERS; the output folder must not exist. */
  public static void main(String[] arguments) {
    if (arguments.length != 3) {
      throw new IllegalArgumentException("usage: TokenGroups INPUT OUTPUT REDUCERS");
    }
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setIfMissing("spark.app.name", "TokenGroups"))) {
      run(spark, arguments[0], arguments[1], Integer.parseInt(arguments[2]));
    }
  }

  static void run(JavaSparkContext spark, String input, String output, int reducers) {
    spark.textFile(input, reducers)
        .flatMap(line -> tokens(line).iterator())
        .mapToPair(token -> new Tuple2<>(token, 1))
        .groupByKey(reducers)
        .map(group -> group._1 + "\t" + count(group._2))
        .saveAsTextFile(output);
  }

  static List<String> tokens(String line) {
    List<String> tokens = new ArrayList<>();
    StringTokenizer words = new StringTokenizer(line);
    while (words.hasMoreTokens()) {
      tokens.add(words.nextToken());
    }
    return tokens;
  }

  private static long count(Iterable<Integer> ones) {
    long count = 0;
    for (int one : ones) {
      count += one;
    }
    return count;
  }
}

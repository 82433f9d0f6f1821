package io.howdah.examples.spark;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Comparator;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Sorts TeraGen's records of 100 bytes by sortByKey, and writes what they came to: {@link RecordSummary}. */
public final class RecordSort {
  private static final int RECORD = 100;

  private RecordSort() {
  }

  /** Runs it: INPUT RESULT-FILE PARTITIONS; the result file must not exist. */
  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 3) {
      throw new IllegalArgumentException("usage: RecordSort INPUT RESULT-FILE PARTITIONS");
    }
    SparkConf conf = new SparkConf().setIfMissing("spark.app.name", "RecordSort");
    try (JavaSparkContext spark = new JavaSparkContext(conf)) {
      RecordSummary summary = run(spark, arguments[0], Integer.parseInt(arguments[2]));
      Path result = new Path(arguments[1]);
      try (FSDataOutputStream out = result.getFileSystem(spark.hadoopConfiguration()).create(result, false)) {
        out.write((summary + "\n").getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  static RecordSummary run(JavaSparkContext spark, String input, int partitions) {
    RecordSummary all = RecordSummary.empty();
    for (RecordSummary part : spark.binaryRecords(input, RECORD)
        .mapToPair(record -> new Tuple2<>(new RecordKey(record), record))
        .sortByKey(Comparator.<RecordKey>naturalOrder(), true, partitions)
        .mapPartitions(records -> Collections.singletonList(RecordSummary.of(records)).iterator())
        .collect()) {
      all = all.then(part);
    }
    return all;
  }
}

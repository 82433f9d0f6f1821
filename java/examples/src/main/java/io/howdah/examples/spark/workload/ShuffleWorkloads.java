package io.howdah.examples.spark.workload;

import io.howdah.examples.spark.RandomPairs;
import io.howdah.examples.spark.RecordKey;
import io.howdah.examples.spark.RecordSummary;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.apache.spark.Partitioner;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** Jobs that are nearly all shuffle: OHB's GroupBy and SortBy, and TeraSort. */
final class ShuffleWorkloads {
  private static final int RECORD = 100;
  private static final int RECORDS = 2_000_000;
  private static final long SEED = 11;

  private ShuffleWorkloads() {
  }

  private static JavaPairRDD<Integer, byte[]> pairs(JavaSparkContext spark, WorkloadSize size) {
    int count = size.pairs;
    int bytes = size.valueBytes;
    JavaPairRDD<Integer, byte[]> pairs = WorkloadSize.numbers(spark, size.maps)
        .flatMapToPair(seed -> new RandomPairs(seed, count, bytes)).cache();
    pairs.count();
    return pairs;
  }

  /** What a pair counts for: the key and both ends of the value, which is cheap. */
  private static long mark(int key, byte[] value) {
    long ends = value.length;
    if (value.length >= Long.BYTES) {
      ByteBuffer bytes = ByteBuffer.wrap(value);
      ends += bytes.getLong(0) * 31 + bytes.getLong(value.length - Long.BYTES);
    }
    return (key + ends) * 0x9e3779b97f4a7c15L;
  }

  /** groupByKey over random pairs: every value crosses the shuffle. */
  static Callable<Outcome> groupBy(JavaSparkContext spark, WorkloadSize size) {
    JavaPairRDD<Integer, byte[]> pairs = pairs(spark, size);
    return () -> {
      long[] totals = Totals.of(pairs.groupByKey(size.reducers).map(group -> group), 3,
          ShuffleWorkloads::group);
      return new Outcome().exact("groups", totals[0]).exact("pairs", totals[1])
          .exact("sum", Long.toHexString(totals[2]));
    };
  }

  private static long[] group(Tuple2<Integer, Iterable<byte[]>> group) {
    long[] counts = {1, 0, 0};
    for (byte[] value : group._2) {
      counts[1]++;
      counts[2] += mark(group._1, value);
    }
    return counts;
  }

  /** sortByKey over the same. */
  static Callable<Outcome> sortBy(JavaSparkContext spark, WorkloadSize size) {
    JavaPairRDD<Integer, byte[]> pairs = pairs(spark, size);
    return () -> Order.outcome(pairs.sortByKey(true, size.reducers)
        .mapPartitions(part -> Collections.singletonList(
            Order.of(part, (Tuple2<Integer, byte[]> pair) -> pair._1, pair -> mark(pair._1, pair._2))).iterator())
        .collect());
  }

  /** TeraSort: records of 100 bytes go to the range of their key and are sorted there. */
  static Callable<Outcome> teraSort(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<byte[]> records = Generated.cached(spark, size, RECORDS, SEED, ShuffleWorkloads::record);
    long total = size.all(RECORDS);
    return () -> {
      RecordSummary summary = RecordSummary.empty();
      for (RecordSummary part : records.mapToPair(record -> new Tuple2<>(new RecordKey(record), record))
          .repartitionAndSortWithinPartitions(new KeyRanges(size.reducers))
          .mapPartitions(part -> Collections.singletonList(RecordSummary.of(part)).iterator()).collect()) {
        summary = summary.then(part);
      }
      String text = summary.toString();
      if (!text.startsWith("records " + total + " inOrder true ")) {
        throw new IllegalStateException(text + " where there are to be " + total);
      }
      return new Outcome().exact("records", text.replace(' ', '_'));
    };
  }

  private static byte[] record(SplittableRandom random, long number) {
    ByteBuffer record = ByteBuffer.allocate(RECORD);
    record.putLong(random.nextLong()).putShort((short) random.nextInt()).putLong(number);
    while (record.hasRemaining()) {
      record.put((byte) ('A' + random.nextInt(26)));
    }
    return record.array();
  }

  /** Keys are random, so ranges of the same width hold about as many. */
  private static final class KeyRanges extends Partitioner {
    private static final long serialVersionUID = 1;
    private final int count;

    KeyRanges(int count) {
      this.count = count;
    }

    @Override
    public int numPartitions() {
      return count;
    }

    @Override
    public int getPartition(Object key) {
      return (int) (((RecordKey) key).prefix() * count >>> Integer.SIZE);
    }
  }
}

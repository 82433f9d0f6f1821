package io.howdah.examples.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkException;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import scala.Tuple2;

/**
 * Shuffles again and again, and compares every byte that arrives with what was sent, which each reducer makes anew. For
 * clusters that lose executors and links: a round that Spark gives up is run again, and said; a wrong byte ends it all.
 * A line of the standard input is a round.
 */
public final class ChecksummedShuffles {
  /** The exit status for data that is wrong or missing. */
  static final int WRONG = 3;
  private static final int ATTEMPTS = 10;
  private static final int HEADER = 2 * Integer.BYTES;
  private static final int BROADCAST = 3 << 20;

  private final JavaSparkContext spark;
  private final int partitions;
  private final int pairs;
  private final int valueBytes;

  ChecksummedShuffles(JavaSparkContext spark, int partitions, int pairs, int valueBytes) {
    this.spark = spark;
    this.partitions = partitions;
    this.pairs = pairs;
    this.valueBytes = valueBytes;
  }

  /** Runs it: PARTITIONS PAIRS-PER-PARTITION VALUE-BYTES (on average; from none to twice as many). */
  public static void main(String[] arguments) throws IOException {
    if (arguments.length != 3) {
      throw new IllegalArgumentException("usage: ChecksummedShuffles PARTITIONS PAIRS-PER-PARTITION VALUE-BYTES");
    }
    int[] numbers = Arrays.stream(arguments).mapToInt(Integer::parseInt).toArray();
    SparkConf conf = new SparkConf().setIfMissing("spark.app.name", "ChecksummedShuffles");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (JavaSparkContext spark = new JavaSparkContext(conf)) {
      ChecksummedShuffles shuffles = new ChecksummedShuffles(spark, numbers[0], numbers[1], numbers[2]);
      for (int round = 1; in.readLine() != null; round++) {
        Seen seen = shuffles.insist(round);
        System.out.println("round " + round + " done: " + seen);
        if (!shuffles.isRight(round, seen)) {
          System.out.println("WRONG DATA in round " + round);
          System.exit(WRONG);
        }
      }
    }
  }

  /** Runs a round until Spark does not give it up. */
  private Seen insist(int round) {
    for (int attempt = 1;; attempt++) {
      System.out.println("round " + round + " started");
      try {
        return run(round);
      } catch (Exception e) {
        if (!(e instanceof SparkException) || attempt == ATTEMPTS) {
          throw e;
        }
        System.out.println("round " + round + " given up by Spark: " + e.getMessage().split("\n")[0]);
      }
    }
  }

  /** One shuffle: in odd rounds into groups, in even ones sorted. Each task also looks at a broadcast. */
  Seen run(int round) {
    int count = pairs;
    int mean = valueBytes;
    byte[] sent = content(new SplittableRandom(round), BROADCAST);
    Broadcast<byte[]> broadcast = spark.broadcast(sent);
    try {
      JavaPairRDD<Integer, byte[]> made = spark.parallelize(
          IntStream.range(0, partitions).boxed().collect(Collectors.toList()), partitions)
          .flatMapToPair(map -> new Sent(round, map, count, mean));
      JavaPairRDD<Integer, byte[]> moved = round % 2 == 0 ? made.sortByKey(true, partitions)
          : made.groupByKey(partitions).flatMapValues(values -> values);
      return moved.mapPartitions(arrived -> {
        Seen seen = new Seen();
        seen.wrong += Arrays.equals(broadcast.value(), content(new SplittableRandom(round), BROADCAST)) ? 0 : 1;
        while (arrived.hasNext()) {
          seen.add(round, mean, arrived.next());
        }
        return Collections.singletonList(seen).iterator();
      }).reduce(Seen::and);
    } finally {
      broadcast.unpersist(); // destroy() waits for executors, of which one may stand still
    }
  }

  /** Whether everything came, once, and nothing else. */
  boolean isRight(int round, Seen seen) {
    long numbers = 0;
    for (int map = 0; map < partitions; map++) {
      for (int i = 0; i < pairs; i++) {
        numbers += number(map, i);
      }
    }
    return seen.wrong == 0 && seen.count == (long) partitions * pairs && seen.numbers == numbers;
  }

  private static long number(int map, int index) {
    return ((long) map << Integer.SIZE | index) * 0x9e3779b97f4a7c15L;
  }

  private static byte[] content(SplittableRandom random, int length) {
    ByteBuffer bytes = ByteBuffer.allocate(length + Long.BYTES);
    while (bytes.position() < length) {
      bytes.putLong(random.nextLong());
    }
    return Arrays.copyOf(bytes.array(), length);
  }

  private static byte[] value(int round, int map, int index, int mean) {
    SplittableRandom random = new SplittableRandom(number(map, index) + round);
    byte[] value = content(random, HEADER + random.nextInt(2 * mean + 1));
    ByteBuffer.wrap(value).putInt(map).putInt(index);
    return value;
  }

  /** What a map task sends. */
  private static final class Sent implements Iterator<Tuple2<Integer, byte[]>> {
    private final int round;
    private final int map;
    private final int count;
    private final int mean;
    private int next;

    Sent(int round, int map, int count, int mean) {
      this.round = round;
      this.map = map;
      this.count = count;
      this.mean = mean;
    }

    @Override
    public boolean hasNext() {
      return next < count;
    }

    @Override
    public Tuple2<Integer, byte[]> next() {
      int index = next++;
      return new Tuple2<>((int) (number(map, index) >>> 33), value(round, map, index, mean));
    }
  }

  /** What reducers saw. */
  static final class Seen implements Serializable {
    private static final long serialVersionUID = 1;
    private long count;
    private long bytes;
    private long numbers;
    private long wrong;

    void add(int round, int mean, Tuple2<Integer, byte[]> pair) {
      count++;
      bytes += pair._2.length;
      if (pair._2.length < HEADER) {
        wrong++;
        return;
      }
      ByteBuffer header = ByteBuffer.wrap(pair._2);
      int map = header.getInt();
      int index = header.getInt();
      numbers += number(map, index);
      wrong += pair._1 == (int) (number(map, index) >>> 33) && Arrays.equals(pair._2, value(round, map, index, mean))
          ? 0 : 1;
    }

    Seen and(Seen other) {
      count += other.count;
      bytes += other.bytes;
      numbers += other.numbers;
      wrong += other.wrong;
      return this;
    }

    @Override
    public String toString() {
      return count + " values of " + bytes + " bytes, " + wrong + " wrong";
    }
  }
}

package io.howdah.examples.spark;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/** A shuffle whose every map sends as much to every reducer: as many blocks as there are pairs of the two. */
public final class BlockGrid {
  private BlockGrid() {
  }

  /** Runs it: MAPS REDUCERS VALUES VALUE-BYTES, the latter two of each block. Fails if anything is lost or doubled. */
  public static void main(String[] arguments) {
    if (arguments.length != 4) {
      throw new IllegalArgumentException("usage: BlockGrid MAPS REDUCERS VALUES VALUE-BYTES");
    }
    int[] numbers = Arrays.stream(arguments).mapToInt(Integer::parseInt).toArray();
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setIfMissing("spark.app.name", "BlockGrid"))) {
      run(spark, numbers[0], numbers[1], numbers[2], numbers[3]);
      System.out.println("BlockGrid: " + (long) numbers[0] * numbers[1] + " blocks of " + numbers[2] + " values of "
          + numbers[3] + " bytes: all came once");
    }
  }

  static void run(JavaSparkContext spark, int maps, int reducers, int values, int valueBytes) {
    List<Integer> numbers = IntStream.range(0, maps).boxed().collect(Collectors.toList());
    List<long[]> parts = spark.parallelize(numbers, maps)
        .flatMapToPair(map -> sent(map, reducers, values, valueBytes))
        .partitionBy(new HashPartitioner(reducers))
        .mapPartitionsWithIndex((reducer, pairs) ->
            Collections.singletonList(seen(reducer, valueBytes, pairs)).iterator(), false)
        .collect();
    long sum = (long) maps * (maps - 1) / 2 * values;
    for (long[] part : parts) {
      if (part[0] != (long) maps * values || part[1] != sum || part[2] != 0) {
        throw new IllegalStateException("a reducer saw " + part[0] + " values of maps that add up to " + part[1] + ", "
            + part[2] + " of them wrong; expected were " + (long) maps * values + " and " + sum);
      }
    }
  }

  /** A key is the reducer that it is for; a value ends with its map. */
  private static Iterator<Tuple2<Integer, byte[]>> sent(int map, int reducers, int values, int valueBytes) {
    return IntStream.range(0, reducers * values).mapToObj(number -> {
      byte[] value = new byte[valueBytes + Integer.BYTES];
      ByteBuffer.wrap(value).putInt(valueBytes, map);
      return new Tuple2<>(number / values, value);
    }).iterator();
  }

  private static long[] seen(int reducer, int valueBytes, Iterator<Tuple2<Integer, byte[]>> pairs) {
    long[] seen = new long[3];
    while (pairs.hasNext()) {
      Tuple2<Integer, byte[]> pair = pairs.next();
      boolean right = pair._1 == reducer && pair._2.length == valueBytes + Integer.BYTES;
      seen[0]++;
      seen[1] += right ? ByteBuffer.wrap(pair._2).getInt(valueBytes) : 0;
      seen[2] += right ? 0 : 1;
    }
    return seen;
  }
}

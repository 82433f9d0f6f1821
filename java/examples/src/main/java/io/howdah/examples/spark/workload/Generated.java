package io.howdah.examples.spark.workload;

import java.io.Serializable;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.SplittableRandom;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/** Data made by a seed, element by element, kept by the executors. */
final class Generated {
  private Generated() {
  }

  /** Makes an element; the number is that of the element among all. */
  interface Maker<T> extends Serializable {
    T make(SplittableRandom random, long number);
  }

  /** Elements of the job that the seed stands for, in memory when this returns. */
  static <T> JavaRDD<T> cached(JavaSparkContext spark, WorkloadSize size, int atScaleOne, long seed, Maker<T> maker) {
    JavaRDD<T> made = of(spark, size, atScaleOne, seed, maker).cache();
    made.count();
    return made;
  }

  static <T> JavaRDD<T> of(JavaSparkContext spark, WorkloadSize size, int atScaleOne, long seed, Maker<T> maker) {
    int each = size.each(atScaleOne);
    return WorkloadSize.numbers(spark, size.partitions)
        .flatMap(partition -> new Elements<>(seed, partition, each, maker));
  }

  private static final class Elements<T> implements Iterator<T> {
    private final SplittableRandom random;
    private final Maker<T> maker;
    private final long end;
    private long next;

    Elements(long seed, int partition, int count, Maker<T> maker) {
      this.random = new SplittableRandom(seed * 1_000_003 + partition);
      this.maker = maker;
      this.next = (long) partition * count;
      this.end = next + count;
    }

    @Override
    public boolean hasNext() {
      return next < end;
    }

    @Override
    public T next() {
      if (next >= end) {
        throw new NoSuchElementException();
      }
      return maker.make(random, next++);
    }
  }
}

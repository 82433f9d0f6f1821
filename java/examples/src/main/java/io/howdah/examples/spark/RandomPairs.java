package io.howdah.examples.spark;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Random;
import scala.Tuple2;

/** Pairs of a random key and a value of a given size, made one at a time; the same for the same seed. */
public final class RandomPairs implements Iterator<Tuple2<Integer, byte[]>> {
  private final Random random;
  private final int valueSize;
  private int left;

  /** Pairs from a seed. */
  public RandomPairs(long seed, int count, int valueSize) {
    this.random = new Random(seed);
    this.left = count;
    this.valueSize = valueSize;
  }

  @Override
  public boolean hasNext() {
    return left > 0;
  }

  @Override
  public Tuple2<Integer, byte[]> next() {
    if (left == 0) {
      throw new NoSuchElementException();
    }
    left--;
    byte[] value = new byte[valueSize];
    random.nextBytes(value);
    return new Tuple2<>(random.nextInt(Integer.MAX_VALUE), value);
  }
}

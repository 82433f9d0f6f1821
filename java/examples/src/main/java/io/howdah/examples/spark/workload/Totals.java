package io.howdah.examples.spark.workload;

import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.Function;

/** Whole numbers that are added up over all elements: sums do not depend on the order. */
final class Totals {
  private Totals() {
  }

  /** The sums of what each element counts for. @param width how many numbers that are */
  static <T> long[] of(JavaRDD<T> elements, int width, Function<T, long[]> counts) {
    return elements.mapPartitions(part -> Collections.singletonList(sum(part, width, counts)).iterator())
        .reduce(Totals::add);
  }

  private static <T> long[] sum(Iterator<T> elements, int width, Function<T, long[]> counts) throws Exception {
    long[] sum = new long[width];
    while (elements.hasNext()) {
      add(sum, counts.call(elements.next()));
    }
    return sum;
  }

  private static long[] add(long[] sum, long[] more) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += more[i];
    }
    return sum;
  }

  /** A number that stands for a text; the same in every process. */
  static long mark(CharSequence text) {
    long mark = 0xcbf29ce484222325L;
    for (int i = 0; i < text.length(); i++) {
      mark = (mark ^ text.charAt(i)) * 0x100000001b3L;
    }
    return mark;
  }
}

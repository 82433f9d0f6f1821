package io.howdah.examples.spark.workload;

import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.Function;

/** What is known of a run of sorted elements: how many, the sum of their marks, and whether they are in order. */
final class Order<K extends Comparable<K> & Serializable> implements Serializable {
  private static final long serialVersionUID = 1;

  private long count;
  private long sum;
  private boolean sorted = true;
  private K first;
  private K last;

  /** Of one partition. */
  static <T, K extends Comparable<K> & Serializable> Order<K> of(Iterator<T> elements, Function<T, K> key,
      Function<T, Long> mark) throws Exception {
    Order<K> order = new Order<>();
    while (elements.hasNext()) {
      T element = elements.next();
      order.add(key.call(element), mark.call(element));
    }
    return order;
  }

  private void add(K key, long mark) {
    sorted &= last == null || last.compareTo(key) <= 0;
    first = first == null ? key : first;
    last = key;
    sum += mark;
    count++;
  }

  /** Of all partitions, one behind the other. @throws IllegalStateException if they are not in order */
  static <K extends Comparable<K> & Serializable> Outcome outcome(List<Order<K>> parts) {
    long count = 0;
    long sum = 0;
    K last = null;
    for (Order<K> part : parts) {
      if (!part.sorted || part.first != null && last != null && last.compareTo(part.first) > 0) {
        throw new IllegalStateException("what was sorted is not in order");
      }
      last = part.last == null ? last : part.last;
      count += part.count;
      sum += part.sum;
    }
    return new Outcome().exact("count", count).exact("sum", Long.toHexString(sum));
  }
}

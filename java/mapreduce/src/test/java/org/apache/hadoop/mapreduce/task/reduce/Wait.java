package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Waits for what other threads do. */
final class Wait {
  /** Far above what anything takes on a busy machine: its end means that it never comes. */
  private static final long MOST_S = 240;

  private Wait() {
  }

  static void until(String what, BooleanSupplier isDone) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(MOST_S);
    while (!isDone.getAsBoolean()) {
      assertThat(System.nanoTime()).as("waited %d s for %s", MOST_S, what).isLessThan(end);
      TimeUnit.MILLISECONDS.sleep(20);
    }
  }
}

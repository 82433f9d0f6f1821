package io.howdah.storage;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSConfigKeys;

/**
 * Verifies copies that upstream's scanner of blocks does not see, by that one's options: all of them once in
 * {@code dfs.datanode.scan.period.hours}, and no faster than {@code dfs.block.scanner.volume.bytes.per.second}. Used by
 * one thread at a time, but where it says otherwise.
 */
public final class Scrub<K> {
  /** What was not read in so many seconds may be made up for. */
  private static final int BURST_S = 60;

  private final long rate;
  private final long period;
  private final Deque<K> left = new ArrayDeque<>();
  private final Queue<K> doubted = new ConcurrentLinkedQueue<>();
  private boolean isBegun;
  private long began;
  private long last;
  private double credit;

  /** One that has verified nothing yet. */
  public Scrub(Configuration conf) {
    long hours = conf.getLong(DFSConfigKeys.DFS_DATANODE_SCAN_PERIOD_HOURS_KEY, 0);
    period = TimeUnit.HOURS.toMillis(hours == 0 ? DFSConfigKeys.DFS_DATANODE_SCAN_PERIOD_HOURS_DEFAULT : hours);
    rate = period < 0 ? 0 : conf.getLong(DFSConfigKeys.DFS_BLOCK_SCANNER_VOLUME_BYTES_PER_SECOND,
        DFSConfigKeys.DFS_BLOCK_SCANNER_VOLUME_BYTES_PER_SECOND_DEFAULT);
  }

  /** Has the next round verify one first, whatever the options say. By any thread. */
  public void doubt(K one) {
    doubted.add(one);
  }

  /**
   * Verifies some.
   *
   * @param now milliseconds of a clock that only goes forward
   * @param all what there is, asked for when all were verified and the period is over
   * @param verify verifies one, which may be gone, and says how many bytes that took
   */
  public void round(long now, Supplier<? extends Collection<K>> all, ToLongFunction<K> verify) {
    for (K one = doubted.poll(); one != null; one = doubted.poll()) {
      verify.applyAsLong(one);
    }
    if (rate <= 0) {
      return;
    }
    credit = isBegun ? Math.min(credit + rate * Math.max(0, now - last) / 1000.0, (double) rate * BURST_S) : rate;
    last = now;
    if (left.isEmpty() && (!isBegun || now - began >= period)) {
      left.addAll(all.get());
      began = now;
    }
    isBegun = true;
    while (credit > 0 && !left.isEmpty()) {
      credit -= verify.applyAsLong(left.poll());
    }
  }
}

package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/**
 * The part of one map attempt's output, as windows that are fetched while the merge reads. The merge's thread takes
 * windows, a fetching one adds them. The IFile's checksum is checked over all windows: what differs is an error before
 * the last window is read. Thread-safe.
 */
final class MapStream {
  /** Bytes of the checksum at the end. */
  static final int CHECKSUM = 4;
  private static final int WEIGHT_MOST = 16;
  /** Windows without a wait after which a stream's weight falls by half. */
  private static final int CALM = 8;
  private static final int LOOK_MILLIS = 1000;

  /** Who fetches, once the merge has begun. Called with the stream's lock held. */
  interface Supply {
    /** Bytes are wanted from where they have arrived to where they were asked for. */
    void ask(MapStream stream, boolean urgent);

    /** Still waiting: the task goes on. */
    void waiting();

    /** The merge waited so long. */
    void waited(long nanos);
  }

  private final TaskAttemptID map;
  private final String base;
  private final long length;
  private final MergeBudget budget;
  private final MergeBudget.Account account;
  private final ArrayDeque<byte[]> ready = new ArrayDeque<>();
  private final CRC32 sum = new CRC32();
  private Supply supply;
  private long asked;
  private long arrived;
  private long consumed;
  private int taken;
  private int weight = 1;
  private int calm;
  private IOException failure;
  private boolean closed;

  /**
   * A stream whose first bytes, as many as the account has, are on their way.
   *
   * @param base URL of the host's outputs, up to the maps' names
   * @param length bytes of the part with its checksum
   */
  MapStream(TaskAttemptID map, String base, long length, MergeBudget budget, MergeBudget.Account account) {
    this.map = map;
    this.base = base;
    this.length = length;
    this.budget = budget;
    this.account = account;
    this.asked = extent(length, budget.bytes(account));
  }

  /** So many bytes, or all if only the checksum or a piece of it would be left. */
  private static long extent(long length, long bytes) {
    return length - bytes <= CHECKSUM ? length : bytes;
  }

  /** How many bytes a window has. @param from where it begins @param to where what was asked for ends */
  int windowLength(long from, long to) {
    long most = Math.min(budget.packet(), to - from);
    return (int) (to == length && to - from - most <= CHECKSUM ? to - from : most);
  }

  TaskAttemptID map() {
    return map;
  }

  String base() {
    return base;
  }

  long length() {
    return length;
  }

  synchronized long asked() {
    return asked;
  }

  synchronized long arrived() {
    return arrived;
  }

  /** Whether all bytes are here. */
  synchronized boolean isComplete() {
    return arrived == length;
  }

  /** Whether it has ended, or nobody wants its bytes. */
  synchronized boolean isClosed() {
    return closed;
  }

  /** Whether bytes that were asked for are not here, and the stream has not failed. */
  synchronized boolean isWanted() {
    return !closed && failure == null && arrived < asked;
  }

  // The fetching side.

  /** The next window is here. */
  synchronized void add(long offset, byte[] window) {
    if (closed) {
      return;
    }
    if (offset != arrived || window.length > length - arrived) {
      throw new IllegalStateException(window.length + " bytes at " + offset + " of " + map + " in place of " + arrived);
    }
    ready.add(window);
    arrived += window.length;
    notifyAll();
  }

  /** No more windows will come. */
  synchronized void fail(IOException cause) {
    failure = cause;
    notifyAll();
  }

  // The merge's side.

  /** From now on windows are taken, and others asked for. */
  synchronized void begin(Supply by) {
    supply = by;
  }

  /** Takes the next window; the one before is not used any more. @return null at the end */
  byte[] take() throws IOException {
    byte[] window;
    synchronized (this) {
      budget.release(account, taken);
      taken = 0;
      if (consumed == length) {
        return null;
      }
      if (ready.isEmpty()) {
        await();
      } else if (weight > 1 && ++calm == CALM) {
        weight /= 2;
        calm = 0;
      }
      window = ready.remove();
      taken = window.length;
      consumed += window.length;
      if (ready.isEmpty()) {
        want(false);
      }
    }
    check(window);
    return window;
  }

  private void await() throws IOException {
    long began = System.nanoTime();
    weight = Math.min(WEIGHT_MOST, 2 * weight);
    calm = 0;
    while (ready.isEmpty()) {
      if (closed || failure != null) {
        throw new IOException("the output of " + map + " ended at " + consumed + " of " + length + " bytes", failure);
      }
      want(true);
      try {
        wait(LOOK_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while waiting for the output of " + map);
      }
      supply.waiting();
    }
    supply.waited(System.nanoTime() - began);
  }

  /** Asks for windows unless some are on their way; those are hurried. */
  private void want(boolean urgent) {
    if (asked == arrived && asked < length) {
      long most = Math.min(length - asked, (long) weight * budget.packet());
      asked = extent(length, asked + budget.grant(account, most));
      if (asked > arrived) {
        supply.ask(this, urgent);
      }
    } else if (urgent) {
      supply.ask(this, true);
    }
  }

  private void check(byte[] window) throws IOException {
    boolean last = consumed == length;
    int records = window.length - (last ? CHECKSUM : 0);
    sum.update(window, 0, records);
    if (!last) {
      return;
    }
    int expected = 0;
    for (int i = records; i < window.length; i++) {
      expected = expected << 8 | window[i] & 0xff;
    }
    if (expected != (int) sum.getValue()) {
      throw new ChecksumException("the output of " + map + " has another checksum than the map wrote", 0);
    }
  }

  /** Gives all windows back. */
  synchronized void close() {
    closed = true;
    ready.clear();
    budget.close(account);
    notifyAll();
  }

  @Override
  public String toString() {
    return map.toString();
  }

  /** Time in milliseconds, for counters. */
  static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }
}

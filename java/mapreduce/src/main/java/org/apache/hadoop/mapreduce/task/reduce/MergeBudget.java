package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.upgrade.Options;
import io.howdah.upgrade.Upgrade;
import java.io.IOException;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;

/**
 * The memory of a reducer's heap that map output takes while it is fetched and merged. About half of it holds whole
 * outputs, the rest windows of streamed ones. Of that, half belongs to the streams, two windows each, so a stream that
 * the merge waits for always gets one; the other half goes to whoever asks first. Outputs that come when half of all
 * is in use have a weight, which falls by half with each 16th more: the share of an output that is fetched at first.
 * Thread-safe.
 */
final class MergeBudget {
  /** Smallest window. */
  static final int WINDOW_LEAST = 16 << 10;
  private static final double GREEDY = 0.5;
  private static final int HALVINGS = 8;

  private final long budget;
  private final long whole;
  private final long single;
  private final long windows;
  private final int window;
  private final int packet;
  private final long mostStreams;
  private long streams;
  private long held;
  private long streamed;
  private long extra;
  private long peak;
  private boolean fetched;

  /** Bytes of one stream. Guarded by the budget. */
  static final class Account {
    private long bytes;
    private boolean closed;

    private Account() {
    }
  }

  /**
   * A budget.
   *
   * @param budget bytes in all
   * @param maps how many outputs there will be
   * @param packet bytes of a window where there is room
   */
  MergeBudget(long budget, int maps, int packet) {
    this.budget = budget;
    this.packet = packet;
    whole = budget / 2;
    single = whole / 4;
    windows = budget - whole - single;
    window = (int) Math.max(WINDOW_LEAST, Math.min(packet, windows / 4 / Math.max(1, maps)));
    mostStreams = windows / 2 / (2L * window);
  }

  /** What a job's options give: no more than stock's shuffle takes. */
  static MergeBudget of(JobConf job, Upgrade upgrade) throws IOException {
    long megabytes = job.getLong(MRJobConfig.REDUCE_MEMORY_MB, MRJobConfig.DEFAULT_REDUCE_MEMORY_MB);
    long container = megabytes > 0 ? megabytes << 20 : Long.MAX_VALUE;
    long heap = job.getLong(MRJobConfig.REDUCE_MEMORY_TOTAL_BYTES,
        Math.min(container, Runtime.getRuntime().maxMemory()));
    double stock = job.getFloat(MRJobConfig.SHUFFLE_INPUT_BUFFER_PERCENT,
        MRJobConfig.DEFAULT_SHUFFLE_INPUT_BUFFER_PERCENT);
    double share = Math.min(stock, upgrade.get(Options.SHUFFLE_MEMORY_SHARE));
    return new MergeBudget((long) (heap * share), job.getNumMapTasks(),
        upgrade.get(Options.SHUFFLE_PACKET_SIZE).intValue());
  }

  /** Memory for outputs that are held whole. */
  long whole() {
    return whole;
  }

  /** Longest window. */
  int packet() {
    return packet;
  }

  /** Whether there is room for a whole output without one being written to disk. */
  synchronized boolean hasRoom(long bytes) {
    return bytes <= single && held + bytes < whole / 8 * 7;
  }

  /** Bytes of a whole output are held. */
  synchronized void hold(long bytes) {
    held += bytes;
    peak = Math.max(peak, held + streamed);
  }

  /** Bytes of a whole output are held no longer. */
  synchronized void free(long bytes) {
    held -= bytes;
  }

  /** All outputs have been met: what whole outputs leave is for windows. */
  synchronized void allMet() {
    fetched = true;
  }

  /** The share of an output that is fetched at first. */
  synchronized double weight() {
    double used = (double) (held + streamed) / budget;
    return used < GREEDY ? 1 : Math.pow(2, -HALVINGS * (used - GREEDY) / GREEDY);
  }

  /** An account with the first windows of an output. @return null if there is no room for one more stream */
  synchronized Account open(long length) {
    if (streams >= mostStreams) {
      return null;
    }
    long packets = (long) (weight() * length) / packet * packet;
    streams++;
    Account account = new Account();
    grant(account, Math.min(length, Math.max(window, packets)));
    return account;
  }

  /** Bytes of an account. */
  synchronized long bytes(Account account) {
    return account.bytes;
  }

  /**
   * Asks for more bytes.
   *
   * @return how many there are; 0 only if the account has some already
   */
  synchronized long grant(Account account, long bytes) {
    if (account.closed) {
      return 0;
    }
    long room = Math.max(0, (fetched ? budget - windows / 2 - held : windows / 2) - extra);
    long most = Math.max(2L * window, account.bytes) + room;
    long granted = Math.min(bytes, most - account.bytes);
    if (granted < Math.min(bytes, window)) {
      return 0;
    }
    change(account, granted);
    return granted;
  }

  /** Gives bytes back. */
  synchronized void release(Account account, long bytes) {
    if (!account.closed) {
      change(account, -bytes);
    }
  }

  /** Gives all bytes back. A second call has no effect. */
  synchronized void close(Account account) {
    if (!account.closed) {
      change(account, -account.bytes);
      account.closed = true;
      streams--;
    }
  }

  private void change(Account account, long by) {
    extra -= Math.max(0, account.bytes - 2L * window);
    account.bytes += by;
    extra += Math.max(0, account.bytes - 2L * window);
    streamed += by;
    peak = Math.max(peak, held + streamed);
  }

  /** Bytes in use now. */
  synchronized long used() {
    return held + streamed;
  }

  /** Most bytes that were in use at a time. */
  synchronized long peak() {
    return peak;
  }
}

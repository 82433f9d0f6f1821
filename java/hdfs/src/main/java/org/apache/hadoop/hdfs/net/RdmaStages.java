package org.apache.hadoop.hdfs.net;

import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;

/**
 * The threads of a DataNode that receive, forward and verify packets ahead of the threads that write them. There are so
 * many and no more: a block that finds none free is received by its own thread, as without. Thread-safe.
 */
final class RdmaStages implements Closeable {
  static final String PREFIX = "dfs.rdma.stages.";
  static final String ENABLED = PREFIX + "enabled";
  static final String HANDLERS = PREFIX + "handlers";
  static final String QUEUE = PREFIX + "queue";
  static final List<String> NAMES = Arrays.asList(ENABLED, HANDLERS, QUEUE);
  private static final int HANDLERS_DEFAULT = 8;
  private static final int QUEUE_DEFAULT = 16;
  private static final int MOST = 4096;
  private static final int IDLE_SECONDS = 60;

  private final ThreadPoolExecutor threads;
  private final int queue;

  private RdmaStages(int handlers, int queue) {
    this.queue = queue;
    // DataNode counts the threads of the group that serves connections as transfers: these are none.
    ThreadGroup group = Thread.currentThread().getThreadGroup();
    AtomicInteger number = new AtomicInteger();
    threads = new ThreadPoolExecutor(0, handlers, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), work -> {
      Thread thread = new Thread(group, work, "DataNode packets " + number.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    });
  }

  /**
   * Those of a DataNode.
   *
   * @return null if they are not enabled
   * @throws IOException for values that are not valid
   */
  static RdmaStages of(Configuration conf) throws IOException {
    String enabled = conf.getTrimmed(ENABLED, "false");
    if (!enabled.equalsIgnoreCase("true") && !enabled.equalsIgnoreCase("false")) {
      throw new IOException(ENABLED + "=" + enabled + ": true or false is needed");
    }
    int handlers = number(conf, HANDLERS, HANDLERS_DEFAULT);
    int queue = number(conf, QUEUE, QUEUE_DEFAULT);
    return Boolean.parseBoolean(enabled) ? new RdmaStages(handlers, queue) : null;
  }

  private static int number(Configuration conf, String key, int otherwise) throws IOException {
    String value = conf.getTrimmed(key, "");
    try {
      int number = value.isEmpty() ? otherwise : Integer.parseInt(value);
      if (number >= 1 && number <= MOST) {
        return number;
      }
    } catch (NumberFormatException e) {
      RdmaHdfs.LOG.debug("{}={}", key, value, e);
    }
    throw new IOException(key + "=" + value + ": a number from 1 to " + MOST + " is needed");
  }

  /** Packets of a block that may wait to be written. */
  int queue() {
    return queue;
  }

  /** Has a thread do it at once. @return false if none is free */
  boolean start(Runnable work) {
    try {
      threads.execute(work);
      return true;
    } catch (RejectedExecutionException e) {
      RdmaMetrics.get().stageRefusals().incr();
      return false;
    }
  }

  /** What was begun is ended by its blocks. */
  @Override
  public void close() {
    threads.shutdown();
  }
}

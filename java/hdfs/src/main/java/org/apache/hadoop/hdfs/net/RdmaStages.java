package org.apache.hadoop.hdfs.net;

import io.howdah.upgrade.Options;
import io.howdah.upgrade.Upgrade;
import java.io.Closeable;
import java.io.IOException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The threads of a DataNode that receive, forward and verify packets ahead of the threads that write them. There are so
 * many and no more: a block that finds none free is received by its own thread, as without. Thread-safe.
 */
final class RdmaStages implements Closeable {
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
  static RdmaStages of(Upgrade upgrade) throws IOException {
    int handlers = upgrade.get(Options.HDFS_STAGE_HANDLERS);
    int queue = upgrade.get(Options.HDFS_STAGE_QUEUE);
    return upgrade.get(Options.HDFS_STAGES) ? new RdmaStages(handlers, queue) : null;
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

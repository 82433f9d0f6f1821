package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import org.apache.hadoop.mapred.TaskUmbilicalProtocol;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/**
 * Asks for the ends of maps ten times a second where stock asks once: up to a second lies between the last map's end
 * and the last fetch. All reducers of a job together ask the ApplicationMaster at most a thousand times a second.
 */
final class QuickEventFetcher<K, V> extends EventFetcher<K, V> {
  private static final int LEAST_MILLIS = 100;
  private static final int MOST_MILLIS = 1000;
  private static final int FAILURES = 10;
  private static final int AFTER_FAILURE_MILLIS = 5000;

  private final ExceptionReporter exceptions;
  private final int pauseMillis;
  private volatile boolean stopped;
  private volatile long lastNanos = System.nanoTime();

  QuickEventFetcher(TaskAttemptID reduce, TaskUmbilicalProtocol umbilical, ShuffleScheduler<K, V> scheduler,
      ExceptionReporter exceptions, int most, int reducers) {
    super(reduce, umbilical, scheduler, exceptions, most);
    this.exceptions = exceptions;
    this.pauseMillis = pauseMillis(reducers);
  }

  /** When the last end of a map became known. */
  long lastNanos() {
    return lastNanos;
  }

  static int pauseMillis(int reducers) {
    return Math.max(LEAST_MILLIS, Math.min(MOST_MILLIS, reducers));
  }

  @Override
  public void run() {
    int failures = 0;
    try {
      while (!stopped) {
        try {
          if (getMapCompletionEvents() > 0) {
            lastNanos = System.nanoTime();
          }
          failures = 0;
          Thread.sleep(pauseMillis);
        } catch (IOException e) {
          if (++failures == FAILURES) {
            throw new IOException("asking for the ends of maps failed " + failures + " times", e);
          }
          Thread.sleep(AFTER_FAILURE_MILLIS);
        }
      }
    } catch (InterruptedException e) {
      interrupt(); // the shuffle is over
    } catch (Throwable e) {
      if (!stopped) {
        exceptions.reportException(e);
      }
    }
  }

  @Override
  public void shutDown() {
    stopped = true;
    super.shutDown();
  }
}

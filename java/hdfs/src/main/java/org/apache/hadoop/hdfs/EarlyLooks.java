package org.apache.hadoop.hdfs;

import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hdfs.net.RdmaSocketFactory;

/**
 * A writer's waits for the NameNode to hear of a replica, before its configured retries. DataNodes report a replica and
 * acknowledge it at the same time, so the NameNode mostly knows within a millisecond, but the first configured retry is
 * 400 ms later ({@code dfs.client.block.write.locateFollowingBlock.initial.delay.ms}). These waits begin at 1 ms, or at
 * what the NameNode took to answer if that is more, and double until they reach that delay; then the configured retries
 * follow, all of them. Without the engine there are none. For one thread.
 */
final class EarlyLooks {
  private static final long FIRST = TimeUnit.MILLISECONDS.toNanos(1);

  private final long end;
  private long delay;
  private long asked = System.nanoTime();

  /** Begins when the NameNode is asked for the first time. */
  EarlyLooks(DFSClient client) {
    this(client.socketFactory instanceof RdmaSocketFactory
        ? client.getConf().getBlockWriteLocateFollowingInitialDelayMs() : 0);
  }

  EarlyLooks(int endMillis) {
    end = TimeUnit.MILLISECONDS.toNanos(endMillis);
  }

  /** How long to wait after an answer that took so many nanoseconds; 0: no more. */
  long next(long answer) {
    delay = Math.max(Math.max(FIRST, answer), 2 * delay);
    return delay < end ? delay : 0;
  }

  /**
   * Waits, unless it is time for a configured retry. An interrupt ends the wait, as it ends a retry's.
   *
   * @return whether to ask again
   */
  boolean again() {
    long wait = next(System.nanoTime() - asked);
    if (wait == 0) {
      return false;
    }
    try {
      TimeUnit.NANOSECONDS.sleep(wait);
    } catch (InterruptedException e) {
      DFSClient.LOG.warn("Interrupted while waiting for the NameNode to hear of a replica", e);
    }
    asked = System.nanoTime();
    return true;
  }
}

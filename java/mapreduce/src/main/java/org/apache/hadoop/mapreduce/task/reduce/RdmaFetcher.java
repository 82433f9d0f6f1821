package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.net.URL;
import java.util.Locale;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;

/** Stock's Fetcher, whose connections go over the engine where the NodeManager takes them there. */
final class RdmaFetcher<K, V> extends Fetcher<K, V> {
  /** Group of the job's counters of shuffled bytes by transport, BYTES_SHM and the like, and by {@link #SHARED}. */
  static final String COUNTERS = "Howdah Shuffle";
  /** Bytes that the reducer read from maps' files over a shared path. */
  static final String SHARED = "BYTES_SHARED_PATH";
  /** How long reducers waited for map output when all maps had ended. */
  static final String WAIT = "FETCH_WAIT_MILLIS";

  /** Makes the connection to a URL. */
  interface Connections {
    RdmaShuffleConnection to(URL url);
  }

  private final Connections connections;
  private RdmaShuffleConnection ours;

  RdmaFetcher(ShuffleConsumerPlugin.Context<K, V> of, ShuffleSchedulerImpl<K, V> scheduler, MergeManager<K, V> merger,
      ShuffleClientMetrics metrics, ExceptionReporter exceptions, Connections connections) {
    super(of.getJobConf(), of.getReduceId(), scheduler, merger, of.getReporter(), metrics, exceptions,
        of.getReduceTask().getShuffleSecret());
    this.connections = connections;
  }

  @Override
  protected synchronized void openConnection(URL url) throws IOException {
    finish();
    ours = connections.to(url);
    connection = ours;
  }

  /** The connection that it reads; null if there is none. */
  synchronized RdmaShuffleConnection current() {
    return ours;
  }

  /** As a MergeManager knows it. */
  int number() {
    return id;
  }

  @Override
  public void run() {
    try {
      super.run();
    } finally {
      finish();
    }
  }

  /** Counts the last connection, and releases it if nobody read it to its end. */
  private synchronized void finish() {
    if (ours != null) {
      reporter.incrCounter(COUNTERS, "BYTES_" + ours.transport().toUpperCase(Locale.ROOT), ours.bytes());
      if (ours.sharedBytes() > 0) {
        reporter.incrCounter(COUNTERS, SHARED, ours.sharedBytes());
      }
      ours.release();
      ours = null;
    }
  }
}

package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.io.InputStream;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/** A map output of which stock's Fetcher copies the first windows; the merge fetches the others. */
final class StreamedMapOutput<K, V> extends MapOutput<K, V> {
  private final StreamMergeManager<K, V> manager;
  private final MergeBudget budget;
  private final MergeBudget.Account account;
  private MapStream stream;
  private boolean committed;

  StreamedMapOutput(StreamMergeManager<K, V> manager, TaskAttemptID map, long size, MergeBudget budget,
      MergeBudget.Account account) {
    super(map, size, true);
    this.manager = manager;
    this.budget = budget;
    this.account = account;
  }

  @Override
  public void shuffle(MapHost host, InputStream input, long compressed, long raw, ShuffleClientMetrics metrics,
      Reporter reporter) throws IOException {
    if (compressed != raw + MapStream.CHECKSUM) {
      throw new IOException("an output of " + compressed + " bytes with " + raw + " bytes of records");
    }
    MapStream started = new MapStream(getMapId(), host.getBaseUrl(), compressed, budget, account);
    while (started.arrived() < started.asked()) {
      long at = started.arrived();
      byte[] window = new byte[started.windowLength(at, started.asked())];
      IOUtils.readFully(input, window, 0, window.length);
      started.add(at, window);
      metrics.inputBytes(window.length);
      reporter.progress();
    }
    IOUtils.skipFully(input, compressed - started.arrived());
    stream = started;
  }

  @Override
  public void commit() {
    committed = true;
    manager.add(stream);
  }

  boolean isCommitted() {
    return committed;
  }

  @Override
  public void abort() {
    budget.close(account);
  }

  @Override
  public String getDescription() {
    return "STREAM";
  }
}

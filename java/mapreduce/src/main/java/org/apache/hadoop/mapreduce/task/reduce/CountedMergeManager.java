package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapOutputFile;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapred.Task;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/** Stock's merge manager, which counts what it holds in memory and how often it writes to disk. Thread-safe. */
class CountedMergeManager<K, V> extends MergeManagerImpl<K, V> {
  private final ShuffleConsumerPlugin.Context<K, V> context;
  private long held;
  private long peak;
  private int runs;

  /** @param job whose settings hold, in place of those of the context's job */
  CountedMergeManager(ShuffleConsumerPlugin.Context<K, V> of, JobConf job, MapOutputFile files,
      ExceptionReporter exceptions) {
    super(of.getReduceId(), job, of.getLocalFS(), of.getLocalDirAllocator(), of.getReporter(), of.getCodec(),
        of.getCombinerClass(), of.getCombineCollector(), of.getSpilledRecordsCounter(),
        of.getReduceCombineInputCounter(), of.getMergedMapOutputsCounter(), exceptions, of.getMergePhase(), files);
    this.context = of;
  }

  @Override
  public synchronized MapOutput<K, V> reserve(TaskAttemptID map, long size, int fetcher) throws IOException {
    MapOutput<K, V> output = super.reserve(map, size, fetcher);
    if (output instanceof InMemoryMapOutput) {
      held += size;
      peak = Math.max(peak, held);
    }
    return output;
  }

  @Override
  synchronized void unreserve(long size) {
    held -= size;
    super.unreserve(size);
  }

  @Override
  public synchronized void closeOnDiskFile(CompressAwarePath file) {
    if (file.getName().endsWith(Task.MERGED_OUTPUT_PREFIX)) {
      runs++;
    }
    super.closeOnDiskFile(file);
  }

  @Override
  public RawKeyValueIterator close() throws Throwable {
    countLastRun();
    return super.close();
  }

  /** What is in memory at the end goes to disk if reduce() is to have its memory. */
  private synchronized void countLastRun() {
    long left = 0;
    for (InMemoryMapOutput<K, V> output : inMemoryMapOutputs) {
      left += output.getSize();
    }
    if (left > getMaxInMemReduceLimit()) {
      runs++;
    }
  }

  /** Most bytes that were in memory at a time. */
  synchronized long peak() {
    return peak;
  }

  /** Counts, at the end. */
  void end() {
    count("MERGE_PASSES", 1 + runs());
    count("MERGE_MEMORY_PEAK", peak());
  }

  /** How many times it wrote to disk what it had merged. */
  final synchronized int runs() {
    return runs;
  }

  /** Adds to a counter of the job. */
  final void count(String name, long amount) {
    context.getReporter().incrCounter(RdmaFetcher.COUNTERS, name, amount);
  }

  /** What the shuffle was given. */
  final ShuffleConsumerPlugin.Context<K, V> context() {
    return context;
  }
}

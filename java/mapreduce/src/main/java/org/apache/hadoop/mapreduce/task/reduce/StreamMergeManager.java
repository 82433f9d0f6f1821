package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.upgrade.Options;
import io.howdah.upgrade.Upgrade;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapOutputFile;
import org.apache.hadoop.mapred.MergeInput;
import org.apache.hadoop.mapred.PrefixMerge;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.RecordInput;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.CryptoUtils;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/**
 * A merge manager that feeds reduce() from memory while map output is fetched. Outputs are fetched whole while there is
 * room; of others the first windows are, and the merge fetches the rest. What can't be streamed (compressed, encrypted,
 * or fetched over HTTP) and what has no room for a window goes to stock's code, which writes runs to disk. Thread-safe.
 */
final class StreamMergeManager<K, V> extends CountedMergeManager<K, V> {
  private static final float MERGE_SHARE = 0.9f;
  private static final float SINGLE_SHARE = 0.25f;
  private static final int FETCHERS = 5;

  private final JobConf job;
  private final MergeBudget budget;
  private final IntFunction<RdmaShuffleConnection> connections;
  private final StreamRefills refills;
  private final boolean streams;
  private final Map<Integer, MapStream> byMap = new TreeMap<>();
  private int open;

  /** @param connections what a fetcher reads, by its number */
  StreamMergeManager(ShuffleConsumerPlugin.Context<K, V> of, MergeBudget budget, MapOutputFile files,
      ExceptionReporter exceptions, IntFunction<RdmaShuffleConnection> connections, StreamRefills refills) {
    super(of, limited(of.getJobConf(), budget), files, exceptions);
    this.job = of.getJobConf();
    this.budget = budget;
    this.connections = connections;
    this.refills = refills;
    this.streams = of.getCodec() == null && !CryptoUtils.isEncryptedSpillEnabled(job);
  }

  /**
   * Whether an attempt is to merge this way. Only a reducer's first one is; the others come through as stock's do. Who
   * sets how much memory stock's merge may keep while reduce() runs has that, unless this merge is asked for, too.
   */
  static boolean isWanted(Upgrade upgrade, JobConf job, TaskAttemptID reduce) throws IOException {
    if (!upgrade.get(Options.SHUFFLE_MERGE) || reduce.getId() > 0 || !StreamScheduler.isPossible()) {
      return false;
    }
    boolean isStocks = isSet(job, MRJobConfig.REDUCE_INPUT_BUFFER_PERCENT)
        && !isSet(job, Options.SHUFFLE_MERGE.key());
    if (isStocks) {
      SharedReads.LOG.info("Stock Hadoop's merge serves this reducer: {} is set, and {} is not",
          MRJobConfig.REDUCE_INPUT_BUFFER_PERCENT, Options.SHUFFLE_MERGE.key());
    }
    return !isStocks;
  }

  /** Whether a value is the job's or the site's own. A task's configuration says where the job's client had it from. */
  private static boolean isSet(JobConf job, String key) {
    String[] sources = job.getPropertySources(key);
    return sources != null && sources.length > 0 && !sources[0].endsWith("-default.xml");
  }

  /** Stock's settings for its share of the memory. It merges nothing in memory, and leaves there what is there. */
  private static JobConf limited(JobConf job, MergeBudget budget) {
    JobConf limited = new JobConf(job);
    limited.setLong(MRJobConfig.REDUCE_MEMORY_TOTAL_BYTES, budget.whole());
    limited.setFloat(MRJobConfig.SHUFFLE_INPUT_BUFFER_PERCENT, 1);
    limited.setFloat(MRJobConfig.SHUFFLE_MERGE_PERCENT, MERGE_SHARE);
    limited.setFloat(MRJobConfig.SHUFFLE_MEMORY_LIMIT_PERCENT, SINGLE_SHARE);
    limited.setFloat(MRJobConfig.REDUCE_INPUT_BUFFER_PERCENT, 1);
    limited.setBoolean(MRJobConfig.REDUCE_MEMTOMEM_ENABLED, false);
    return limited;
  }

  // While maps are met.

  @Override
  public synchronized MapOutput<K, V> reserve(TaskAttemptID map, long size, int fetcher) throws IOException {
    RdmaShuffleConnection connection = streams && !budget.hasRoom(size) ? connections.apply(fetcher) : null;
    if (connection != null && connection.isOverEngine()) {
      MergeBudget.Account account = budget.open(size + MapStream.CHECKSUM);
      if (account != null) {
        connection.limit(map.toString(), budget.bytes(account));
        return new StreamedMapOutput<>(this, map, size, budget, account);
      }
    }
    MapOutput<K, V> output = super.reserve(map, size, fetcher);
    if (output instanceof InMemoryMapOutput) {
      budget.hold(size);
    }
    return output;
  }

  @Override
  synchronized void unreserve(long size) {
    budget.free(size);
    super.unreserve(size);
  }

  /** The first windows of an output are here. */
  synchronized void add(MapStream stream) {
    byMap.put(stream.map().getTaskID().getId(), stream);
  }

  /** Gives an attempt up of which not all is here. @return whether there was one */
  synchronized boolean drop(TaskAttemptID map) {
    MapStream stream = byMap.get(map.getTaskID().getId());
    if (stream == null || !stream.map().equals(map) || stream.isComplete()) {
      return false;
    }
    byMap.remove(map.getTaskID().getId());
    stream.close();
    return true;
  }

  // The merge.

  @Override
  public RawKeyValueIterator close() throws Throwable {
    List<InMemoryMapOutput<K, V>> memory = takeMemory();
    RawKeyValueIterator disk = super.close();
    budget.allMet();
    Map<Integer, MergeInput> inputs = new TreeMap<>();
    long bytes = 0;
    for (InMemoryMapOutput<K, V> output : memory) {
      inputs.put(output.getMapId().getTaskID().getId(), new WholeInput(output.getMemory()));
      bytes += output.getSize();
    }
    for (MapStream stream : byMap.values()) {
      inputs.put(stream.map().getTaskID().getId(), input(stream));
      bytes += stream.length();
    }
    context().getMergedMapOutputsCounter().increment(inputs.size());
    open = byMap.size();
    refills.start(byMap.values(), job.getInt(MRJobConfig.SHUFFLE_PARALLEL_COPIES, FETCHERS));
    byMap.values().forEach(stream -> stream.begin(refills));
    List<MergeInput> all = new ArrayList<>(inputs.values());
    all.add(MergeInput.of(disk));
    PrefixMerge merge = new PrefixMerge(job, all, bytes);
    long arrived = byMap.values().stream().mapToLong(MapStream::arrived).sum();
    long length = byMap.values().stream().mapToLong(MapStream::length).sum();
    SharedReads.LOG.info("reduce() is fed from {} map outputs in memory, {} that are fetched on ({} of {} bytes are "
        + "here) and {} runs on disk; keys are compared {}", memory.size(), byMap.size(), arrived, length, runs(),
        merge.comparesPrefixes() ? "by their first bytes" : "by the job's comparator");
    return merge;
  }

  /** Stock's close would write it to disk. */
  private synchronized List<InMemoryMapOutput<K, V>> takeMemory() {
    List<InMemoryMapOutput<K, V>> memory = new ArrayList<>(inMemoryMapOutputs);
    memory.addAll(inMemoryMergedMapOutputs);
    inMemoryMapOutputs.clear();
    inMemoryMergedMapOutputs.clear();
    return memory;
  }

  /** An output that is here as a whole. Its memory is given back with the last record. */
  private final class WholeInput extends RecordInput {
    private final int size;
    private byte[] rest;

    WholeInput(byte[] bytes) {
      super(bytes.length);
      size = bytes.length;
      rest = bytes;
    }

    @Override
    protected byte[] more() {
      byte[] all = rest;
      rest = null;
      return all;
    }

    @Override
    public void close() {
      rest = null;
      unreserve(size);
    }
  }

  private MergeInput input(MapStream stream) {
    return new RecordInput(stream.length() - MapStream.CHECKSUM) {
      @Override
      protected byte[] more() throws IOException {
        return stream.take();
      }

      @Override
      public void close() {
        stream.close();
        if (--open == 0) {
          refills.close();
        }
      }
    };
  }

  @Override
  long peak() {
    return budget.peak();
  }

  /** Ends what is still fetched, and counts. */
  @Override
  void end() {
    refills.close();
    super.end();
    count("STREAMED_REDUCES", 1);
    count("STREAMED_MAPS", byMap.size());
    count(RdmaFetcher.WAIT, MapStream.millis(refills.waitedNanos()));
  }
}

package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.upgrade.Component;
import io.howdah.upgrade.Options;
import io.howdah.upgrade.Upgrade;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.io.IOException;
import java.net.URL;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapOutputFile;
import org.apache.hadoop.mapred.OutputFolders;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapred.TaskStatus;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * The reducer's shuffle, which takes map output over the engine from NodeManagers that have it, and over HTTP from
 * others. Scheduling, retries, penalties, limits and merges are stock's. The patched ReduceTask uses it wherever
 * stock's Shuffle is configured.
 */
public final class RdmaShuffle<K, V> implements ShuffleConsumerPlugin<K, V>, ExceptionReporter {
  private static final int PROGRESS_MILLIS = 2000;
  private static final int EVENTS_MOST = 10_000;
  private static final int EVENTS_LEAST = 100;
  private static final int EVENTS_OF_ALL = 3_000_000;
  private static final int FETCHERS = 5;

  /** Stock's, where the engine is off, the shuffle is encrypted, or the maps' output is this process's own. */
  private Shuffle<K, V> stock;
  private Upgrade upgrade;
  private SharedReads reads;
  private Context<K, V> context;
  private JobConf conf;
  private ShuffleSchedulerImpl<K, V> scheduler;
  private CountedMergeManager<K, V> merger;
  private QuickEventFetcher<K, V> ends;
  /** The same as the scheduler, if reduce() is fed while map output is fetched; else null. */
  private StreamScheduler<K, V> streamScheduler;
  private final Map<Integer, RdmaFetcher<K, V>> fetchers = new ConcurrentHashMap<>();
  private int windowBytes;
  private int ahead;
  private Throwable failure;
  private String failedThread;

  /** As ReduceTask makes it. */
  public RdmaShuffle() {
  }

  /** The plug-in for a job: this one in place of stock's, others as they are configured. */
  @SuppressWarnings("rawtypes")
  public static Class<? extends ShuffleConsumerPlugin> inPlaceOf(Class<? extends ShuffleConsumerPlugin> configured) {
    return configured == Shuffle.class ? RdmaShuffle.class : configured;
  }

  @Override
  public void init(Context<K, V> given) {
    context = given;
    conf = given.getJobConf();
    MapOutputFile files;
    try {
      upgrade = Upgrade.of(Component.SHUFFLE, new HadoopSettings(conf));
      windowBytes = upgrade.get(Options.SHUFFLE_PACKET_SIZE).intValue();
      ahead = upgrade.get(Options.SHUFFLE_PACKETS_AHEAD);
      boolean encrypted = conf.getBoolean(MRConfig.SHUFFLE_SSL_ENABLED_KEY, MRConfig.SHUFFLE_SSL_ENABLED_DEFAULT);
      reads = SharedReads.of(upgrade, given.getReduceId(),
          UserGroupInformation.getCurrentUser().getUserName()); // whose folders NodeManagers have
      if (encrypted || given.getLocalMapFiles() != null || !upgrade.isUsable()) {
        initStock(encrypted);
        return;
      }
      files = OutputFolders.of(given.getMapOutputFile(), conf);
      if (StreamMergeManager.isWanted(upgrade, conf, given.getReduceId())) {
        initStreams(files);
        return;
      }
    } catch (IOException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
    scheduler = new ShuffleSchedulerImpl<>(conf, given.getStatus(), given.getReduceId(), this, given.getCopyPhase(),
        given.getShuffledMapsCounter(), given.getReduceShuffleBytes(), given.getFailedShuffleCounter());
    merger = new CountedMergeManager<>(given, conf, files, this);
  }

  private void initStreams(MapOutputFile files) throws IOException {
    StreamRefills refills = new StreamRefills(conf, new Refilled(), context.getReporter(),
        context.getReduceTask().getShuffleSecret());
    streamScheduler = new StreamScheduler<>(context, conf, this);
    StreamMergeManager<K, V> streams = new StreamMergeManager<>(context, MergeBudget.of(conf, upgrade), files, this,
        number -> fetchers.get(number).current(), refills);
    streamScheduler.streams(streams);
    scheduler = streamScheduler;
    merger = streams;
  }

  private void initStock(boolean encrypted) throws IOException {
    if (encrypted && upgrade.isRequired()) {
      throw new IOException("MapReduce's shuffle has to go over the engine (" + upgrade.origin()
          + "), which does not encrypt (" + MRConfig.SHUFFLE_SSL_ENABLED_KEY + ")");
    }
    if (reads != null && context.getLocalMapFiles() == null) {
      upgrade.component().log().info("Map output is fetched over HTTP, and not read over the shared path ({}={}): {}",
          Options.SHUFFLE_LUSTRE.key(), SharedReads.ON_SHARED_PATH,
          encrypted ? MRConfig.SHUFFLE_SSL_ENABLED_KEY + " is on" : "NodeManagers are asked over the engine alone");
    }
    stock = new Shuffle<>();
    stock.init(context);
  }

  @Override
  public RawKeyValueIterator run() throws IOException, InterruptedException {
    return stock != null ? stock.run() : shuffle();
  }

  private RawKeyValueIterator shuffle() throws IOException, InterruptedException {
    int reducers = conf.getNumReduceTasks();
    int events = Math.min(EVENTS_MOST, Math.max(EVENTS_LEAST, EVENTS_OF_ALL / Math.max(1, reducers)));
    ends = new QuickEventFetcher<>(context.getReduceId(), context.getUmbilical(), scheduler, this, events, reducers);
    ends.start();
    startFetchers();
    while (!scheduler.waitUntilDone(PROGRESS_MILLIS) || streamScheduler != null && !streamScheduler.begin()) {
      context.getReporter().progress();
      throwFailure();
    }
    merger.count(RdmaFetcher.WAIT, MapStream.millis(System.nanoTime() - ends.lastNanos()));
    stopFetching();
    scheduler.close();
    return merge();
  }

  private void stopFetching() throws InterruptedException {
    ends.shutDown();
    for (Fetcher<K, V> fetcher : fetchers.values()) {
      fetcher.shutDown();
    }
  }

  private void startFetchers() throws IOException {
    ShuffleClientMetrics metrics = new ShuffleClientMetrics(context.getReduceId(), conf);
    for (int i = conf.getInt(MRJobConfig.SHUFFLE_PARALLEL_COPIES, FETCHERS); i > 0; i--) {
      RdmaFetcher<K, V> fetcher = new RdmaFetcher<>(context, scheduler, merger, metrics, this,
          url -> connection(url, reads));
      fetchers.put(fetcher.number(), fetcher);
      fetcher.start();
    }
  }

  private RdmaShuffleConnection connection(URL url, SharedReads files) {
    return new RdmaShuffleConnection(url, upgrade, windowBytes, ahead, files);
  }

  /** The reducer, as what fetches while it runs knows it. */
  private final class Refilled implements StreamRefills.Reducer {
    @Override
    public RdmaShuffleConnection connection(URL url) {
      return RdmaShuffle.this.connection(url, null);
    }

    @Override
    public void lost(List<TaskAttemptID> maps) {
      maps.forEach(map -> context.getStatus().addFetchFailedMap(
          org.apache.hadoop.mapred.TaskAttemptID.downgrade(map)));
      try {
        context.getReduceTask().statusUpdate(context.getUmbilical());
      } catch (IOException e) {
        upgrade.component().log().warn("The ApplicationMaster was not told that {} are lost", maps, e);
      }
    }
  }

  private RawKeyValueIterator merge() throws IOException {
    context.getCopyPhase().complete();
    context.getStatus().setPhase(TaskStatus.Phase.SORT);
    context.getReduceTask().statusUpdate(context.getUmbilical());
    RawKeyValueIterator records;
    try {
      records = merger.close();
    } catch (Throwable e) {
      throw new Shuffle.ShuffleError("Error while doing final merge ", e);
    }
    throwFailure();
    return records;
  }

  @Override
  public void reportException(Throwable cause) {
    synchronized (this) {
      if (failure != null) {
        return;
      }
      failure = cause;
      failedThread = Thread.currentThread().getName();
    }
    synchronized (scheduler) {
      scheduler.notifyAll();
    }
  }

  private synchronized void throwFailure() throws IOException {
    if (failure != null) {
      throw new Shuffle.ShuffleError("error in shuffle in " + failedThread, failure);
    }
  }

  @Override
  public void close() {
    if (stock != null) {
      stock.close();
    }
    try {
      if (ends != null) {
        stopFetching(); // after a failure they are at work
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (merger != null) {
      merger.end();
    }
    upgrade.close();
  }
}

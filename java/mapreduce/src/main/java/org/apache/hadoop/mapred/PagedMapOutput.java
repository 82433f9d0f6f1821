package org.apache.hadoop.mapred;

import io.howdah.upgrade.Component;
import io.howdah.upgrade.Options;
import io.howdah.upgrade.Role;
import io.howdah.upgrade.Upgrade;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.io.IOException;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.Serializer;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.QuickSort;
import org.apache.hadoop.util.StringUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The collector of map output in place of stock's MapOutputBuffer, for jobs whose comparator is known to compare bytes.
 * Records are kept as the file has them and sorted by prefixes of their keys. Output that fits in
 * {@code mapreduce.task.io.sort.mb}, or in the heap ({@link SpareHeap}), is written once. Files, counters, combiner,
 * codec, encryption and failures are as in stock. The patched MapTask uses it where {@link Options#MAP_OUTPUT_SORT} is
 * on and stock's is configured. Thread-safe as stock's is: mappers with several threads may collect.
 */
public final class PagedMapOutput<K, V> implements MapOutputCollector<K, V> {
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.mapoutput");
  private static final String STOCKS = "Stock Hadoop's collector sorts the map output: {}";
  private static final int PARTITIONS_MOST = 1 << 16;
  private static final int SORT_MB_MOST = 2047;
  private static final int SORT_MB = 100;

  private MapTask task;
  private Task.TaskReporter reporter;
  private int partitions;
  private Class<?> keyClass;
  private Class<?> valueClass;
  private SerializationFactory serializations;
  private Serializer<K> keys;
  private Serializer<V> values;
  private Counters.Counter bytesCounter;
  private Counters.Counter recordsCounter;
  private Counters.Counter fileBytesCounter;
  private RecordPages pages;
  private MapSpills<K, V> spills;
  private Throwable failure;

  /** As MapTask makes it. */
  public PagedMapOutput() {
  }

  /**
   * The collectors of a job: this one before stock's if it serves the job, others as they are configured. MapTask takes
   * the first one that can be initialized.
   */
  public static Class<?>[] inPlaceOf(Class<?>[] configured, JobConf job) {
    if (configured.length != 1 || configured[0] != MapTask.MapOutputBuffer.class || !isWanted(job)) {
      return configured;
    }
    String obstacle = obstacle(job);
    if (obstacle != null) {
      if (Role.ofThisProcess() == Role.COMMAND) { // a job in one process, whose log is its user's console
        LOG.debug(STOCKS, obstacle);
      } else {
        LOG.info(STOCKS, obstacle);
      }
      return configured;
    }
    return new Class<?>[] {PagedMapOutput.class, MapTask.MapOutputBuffer.class};
  }

  /** Options that are not valid end the job here: a collector that can't be initialized would be replaced. */
  private static boolean isWanted(JobConf job) {
    HadoopSettings settings = new HadoopSettings(job);
    try {
      return Options.MAP_OUTPUT_SORT.read(settings) && isOn(settings);
    } catch (IOException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  private static boolean isOn(HadoopSettings settings) throws IOException {
    Options.MAP_OUTPUT_FASTEST.read(settings);
    Options.MAP_OUTPUT_RAM_SHARE.read(settings);
    Options.MAP_OUTPUT_MEMORY.read(settings);
    try (Upgrade upgrade = Upgrade.of(Component.SHUFFLE, settings)) {
      return !upgrade.isOff();
    }
  }

  /** Why this collector does not serve a job; null if it does. Settings that are not valid are left to stock's. */
  static String obstacle(JobConf job) {
    try {
      int megabytes = job.getInt(JobContext.IO_SORT_MB, SORT_MB);
      float percent = job.getFloat(JobContext.MAP_SORT_SPILL_PERCENT, 1);
      if (megabytes < 1 || megabytes > SORT_MB_MOST || !(percent > 0 && percent <= 1)) {
        return "its settings are not valid";
      }
      if (job.getNumReduceTasks() > PARTITIONS_MOST) {
        return "there are more than " + PARTITIONS_MOST + " reducers";
      }
      Class<?> sorter = job.getClass("map.sort.class", QuickSort.class);
      if (sorter != QuickSort.class) {
        return "the job has a sorter of its own, " + sorter.getName();
      }
      if (!Writable.class.isAssignableFrom(job.getMapOutputKeyClass())) {
        return "keys are no Writables: " + job.getMapOutputKeyClass().getName();
      }
      Class<?> comparator = KeyOrder.comparatorOf(job);
      return KeyOrder.of(comparator) != null ? null : "keys may not compare by bytes: " + comparator.getName();
    } catch (RuntimeException e) {
      LOG.debug("a job's classes", e);
      return "its classes are not valid: " + e.getMessage();
    }
  }

  @Override
  public void init(Context context) throws IOException, ClassNotFoundException {
    JobConf job = context.getJobConf();
    task = context.getMapTask();
    reporter = context.getReporter();
    partitions = job.getNumReduceTasks();
    keyClass = job.getMapOutputKeyClass();
    valueClass = job.getMapOutputValueClass();
    bytesCounter = reporter.getCounter(TaskCounter.MAP_OUTPUT_BYTES);
    recordsCounter = reporter.getCounter(TaskCounter.MAP_OUTPUT_RECORDS);
    fileBytesCounter = reporter.getCounter(TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES);
    spills = new MapSpills<>(context, OutputFolders.of(task.getMapOutputFile(), job));
    pages = new RecordPages((long) job.getInt(JobContext.IO_SORT_MB, SORT_MB) << 20, lender(job), partitions,
        KeyOrder.of(KeyOrder.comparatorOf(job)), this::spill);
    serializations = new SerializationFactory(job);
    open();
  }

  /** Opens new serializers. Those of a record that failed may have kept a part of it. */
  @SuppressWarnings("unchecked")
  private void open() throws IOException {
    keys = (Serializer<K>) serializations.getSerializer(keyClass);
    keys.open(pages.output());
    values = (Serializer<V>) serializations.getSerializer(valueClass);
    values.open(pages.output());
  }

  /** The first attempt of a map may take more of the heap. If that was wrong, the next one succeeds as in stock. */
  private RecordPages.Lender lender(JobConf job) throws IOException {
    return Options.MAP_OUTPUT_MEMORY.read(new HadoopSettings(job)) && task.getTaskID().getId() == 0
        ? new SpareHeap(job)::hasRoom : (held, more) -> false;
  }

  @Override
  public synchronized void collect(K key, V value, int partition) throws IOException {
    reporter.progress();
    check("key", key, keyClass);
    check("value", value, valueClass);
    if (partition < 0 || partition >= partitions) {
      throw new IOException("Illegal partition for " + key + " (" + partition + ")");
    }
    checkFailure();
    try {
      pages.begin();
      keys.serialize(key);
      int keyLength = pages.written();
      values.serialize(value);
      int length = pages.written();
      pages.finish(partition, keyLength);
      bytesCounter.increment(length);
    } catch (RecordPages.TooLargeException e) {
      LOG.info("A record is written to a file of its own: {}", e.getMessage());
      open();
      guard(() -> bytesCounter.increment(spills.spill(key, value, partition)));
    } catch (IOException | RuntimeException e) {
      open();
      throw e;
    }
    recordsCounter.increment(1);
  }

  private static void check(String what, Object given, Class<?> expected) throws IOException {
    if (given.getClass() != expected) {
      throw new IOException("Type mismatch in " + what + " from map: expected " + expected.getName() + ", received "
          + given.getClass().getName());
    }
  }

  // Spills.

  private interface Work {
    void run() throws IOException, InterruptedException, ClassNotFoundException;
  }

  private void spill() throws IOException {
    LOG.info("Spilling {} records, {} bytes: {} MB of memory are used up", pages.count(), pages.bytes(),
        pages.budget() >> 20);
    guard(() -> spills.spill(new SortedRecords(pages, partitions, reporter)));
  }

  /** Does what may fail. As in stock, a map whose spill failed can't go on, whatever its mapper catches. */
  private void guard(Work work) throws IOException {
    try {
      work.run();
    } catch (Throwable e) { // Errors are reported to the task's master
      failure = e;
      checkFailure();
    }
  }

  private void checkFailure() throws IOException {
    if (failure == null) {
      return;
    }
    if (failure instanceof Error) {
      task.reportFatalError(task.getTaskID(), failure, "Task " + task.getTaskID() + " failed : "
          + StringUtils.stringifyException(failure));
    }
    if (failure instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    throw new IOException("Spill failed", failure);
  }

  @Override
  public synchronized void flush() throws IOException, InterruptedException, ClassNotFoundException {
    checkFailure();
    if (pages == null) {
      return;
    }
    long began = System.nanoTime();
    try {
      long length = spills.finish(new SortedRecords(pages, partitions, reporter), pages.budget());
      fileBytesCounter.increment(length);
      LOG.debug("Map output of {} bytes was sorted and written in {} ms", length,
          (System.nanoTime() - began) / 1_000_000);
    } finally {
      close(); // MapTask flushes once more after a failure
    }
  }

  @Override
  public synchronized void close() {
    if (pages != null) {
      pages.release();
      pages = null;
    }
  }
}

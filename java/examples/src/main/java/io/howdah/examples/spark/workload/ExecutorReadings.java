package io.howdah.examples.spark.workload;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.io.Serializable;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;
import scala.collection.JavaConverters;

/**
 * What an executor's process has used since it started: processor time, time of the collectors, memory allocated on
 * the heap, blocks by transport; and the most memory that was resident since the last reset. Read in the executor by
 * a task.
 */
final class ExecutorReadings implements Serializable {
  private static final long serialVersionUID = 1;
  private static final double MEGABYTE = 1 << 20;
  private static final double KILOBYTES = 1 << 10;
  /** Threads that move blocks, of Netty and of ours. What tasks allocate as they read is not in it. */
  private static final Pattern MOVES_BLOCKS = Pattern.compile("(shuffle-(client|server)|rdma-block|howdah).*");
  private static final Path STATUS = Paths.get("/proc/self/status");
  private static final Path CLEAR = Paths.get("/proc/self/clear_refs");
  private static final String PEAK_OF_KERNEL = "VmHWM:";
  private static final String RESET_PEAK = "5\n";

  /** By thread: what each had allocated when it was last seen. */
  private static final Map<Long, Long> ALLOCATED = new HashMap<>();
  private static long allocated;
  private static long allocatedByMovers;

  final String executor;
  /** Grow from reading to reading; {@link JobReport} shows the differences. */
  final Map<String, Double> sums = new TreeMap<>();
  /** As they are. */
  final Map<String, Double> levels = new TreeMap<>();

  private ExecutorReadings(String executor) {
    this.executor = executor;
  }

  /** Collects garbage, forgets the peak of resident memory, and reads. */
  static ExecutorReadings anew() {
    System.gc();
    try {
      Files.write(CLEAR, RESET_PEAK.getBytes(StandardCharsets.US_ASCII));
    } catch (IOException e) {
      throw new IllegalStateException("the peak of resident memory can't be reset: " + e, e);
    }
    return now();
  }

  static ExecutorReadings now() {
    ExecutorReadings readings = new ExecutorReadings(SparkEnv.get().executorId());
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    readings.sums.put("cpu", (double) system.getProcessCpuTime() / TimeUnit.SECONDS.toNanos(1));
    double collecting = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      collecting += collector.getCollectionTime() / 1e3;
    }
    readings.sums.put("gc", collecting);
    readings.allocation();
    readings.levels.put("rssMb", peak());
    readings.blocks();
    return readings;
  }

  /** Threads that came and went between two readings are not seen. */
  private void allocation() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long[] ids = threads.getAllThreadIds();
    long[] bytes = threads.getThreadAllocatedBytes(ids);
    ThreadInfo[] infos = threads.getThreadInfo(ids);
    synchronized (ALLOCATED) {
      for (int i = 0; i < ids.length; i++) {
        if (bytes[i] >= 0 && infos[i] != null) {
          Long before = ALLOCATED.put(ids[i], bytes[i]);
          long more = bytes[i] - (before == null ? 0 : before);
          allocated += more;
          allocatedByMovers += MOVES_BLOCKS.matcher(infos[i].getThreadName()).matches() ? more : 0;
        }
      }
      sums.put("heapMb", allocated / MEGABYTE);
      sums.put("moversHeapMb", allocatedByMovers / MEGABYTE);
    }
  }

  private static double peak() {
    try {
      for (String line : Files.readAllLines(STATUS, StandardCharsets.ISO_8859_1)) {
        if (line.startsWith(PEAK_OF_KERNEL)) {
          return Double.parseDouble(line.replaceAll("[^0-9]", "")) / KILOBYTES;
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException("the memory of the process can't be read: " + e, e);
    }
    throw new IllegalStateException("there is no " + PEAK_OF_KERNEL + " in " + STATUS);
  }

  /** What our service counts, where there is one. */
  private void blocks() {
    for (Source source : JavaConverters.seqAsJavaListConverter(
        SparkEnv.get().metricsSystem().getSourcesByName("blockTransfer")).asJava()) {
      MetricRegistry registry = source.metricRegistry();
      Map<String, Counter> counters = registry.getCounters();
      sums.put("engineMb", counters.get("engine.bytes").getCount() / MEGABYTE);
      sums.put("engineBlocks", (double) counters.get("engine.blocks").getCount());
      sums.put("nettyMb", counters.get("netty.bytes").getCount() / MEGABYTE);
      sums.put("nettyBlocks", (double) counters.get("netty.blocks").getCount());
      sums.put("fallbacks", (double) counters.get("fallbacks").getCount());
      @SuppressWarnings("rawtypes")
      Gauge pinned = registry.getGauges().get("engine.memory.pinned");
      if (pinned != null) {
        levels.put("pinnedMb", ((Number) pinned.getValue()).doubleValue() / MEGABYTE);
      }
    }
  }
}

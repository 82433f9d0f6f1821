package io.howdah.examples.spark.workload;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.Success$;
import org.apache.spark.executor.ShuffleReadMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;

/** Adds up what tasks say of themselves. Thread-safe. */
final class JobListener extends SparkListener {
  private static final double MILLIS = 1e3;
  private static final double MEGABYTE = 1 << 20;

  private final Map<String, Double> sums = new TreeMap<>();
  private final Map<String, Integer> tasksByExecutor = new HashMap<>();

  JobListener() {
    take();
  }

  @Override
  public synchronized void onTaskEnd(SparkListenerTaskEnd end) {
    if (end.reason() != Success$.MODULE$) {
      add("failedTasks", 1);
    }
    TaskMetrics metrics = end.taskMetrics();
    if (metrics == null) {
      return;
    }
    ShuffleReadMetrics read = metrics.shuffleReadMetrics();
    add("tasks", 1);
    tasksByExecutor.merge(end.taskInfo().executorId(), 1, Integer::sum);
    add("wait", read.fetchWaitTime() / MILLIS);
    add("remoteMb", read.remoteBytesRead() / MEGABYTE);
    add("remoteBlocks", read.remoteBlocksFetched());
    add("localMb", read.localBytesRead() / MEGABYTE);
    add("spilledMb", metrics.diskBytesSpilled() / MEGABYTE);
    add("taskSeconds", metrics.executorRunTime() / MILLIS);
    add("taskCpu", (double) metrics.executorCpuTime() / TimeUnit.SECONDS.toNanos(1));
  }

  private void add(String name, double value) {
    sums.merge(name, value, Double::sum);
  }

  /** The sums since the last call. */
  synchronized Map<String, Double> take() {
    Map<String, Double> taken = new TreeMap<>(sums);
    taken.put("busiestTasks", (double) tasksByExecutor.values().stream().max(Integer::compare).orElse(0));
    tasksByExecutor.clear();
    for (String name : new String[] {"tasks", "failedTasks", "wait", "remoteMb", "remoteBlocks", "localMb", "spilledMb",
        "taskSeconds", "taskCpu"}) {
      sums.put(name, 0.0);
    }
    return taken;
  }
}

package org.apache.spark.network.rdma;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkContext$;
import org.apache.spark.SparkEnv;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerExecutorAdded;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import scala.Option;

/**
 * Counts what tasks wait for blocks, and brings the page of block transfers into the driver's web UI: the executors
 * page of Spark 2.1 has fixed columns. The service adds it to spark.extraListeners, by which Spark makes it.
 * Thread-safe.
 */
public final class TransferListener extends SparkListener {
  private static final String LISTENERS = "spark.extraListeners";

  private final TransferReports reports = new TransferReports(SparkEnv.get());
  /** By executor: milliseconds that its tasks waited for blocks. */
  private final Map<String, Long> waits = new ConcurrentHashMap<>();
  private boolean attached;

  /** Spark makes it as the driver starts, before any executor is there. */
  public TransferListener() {
    SparkEnv.get().rpcEnv().setupEndpoint(TransferReports.NAME, reports);
  }

  /** Has Spark make one, if this is a driver. */
  static void add(SparkConf conf) {
    if (conf.get("spark.executor.id", "").equals("driver") && !isWanted(conf)) {
      String others = conf.get(LISTENERS, "").trim();
      conf.set(LISTENERS, (others.isEmpty() ? "" : others + ",") + TransferListener.class.getName());
    }
  }

  /** Whether the driver has one; executors have its configuration. */
  static boolean isWanted(SparkConf conf) {
    return conf.get(LISTENERS, "").contains(TransferListener.class.getName());
  }

  @Override
  public void onExecutorAdded(SparkListenerExecutorAdded added) {
    attach();
  }

  @Override
  public void onJobStart(SparkListenerJobStart start) {
    attach();
  }

  @Override
  public void onTaskEnd(SparkListenerTaskEnd end) {
    if (end.taskMetrics() != null) {
      long wait = end.taskMetrics().shuffleReadMetrics().fetchWaitTime();
      waits.merge(end.taskInfo().executorId(), wait, Long::sum);
      reports.sources().forEach(source -> source.metricRegistry().counter(BlockMetrics.TASK_WAIT).inc(wait));
    }
  }

  /** The web UI is known only once the context is whole. */
  private synchronized void attach() {
    Option<SparkContext> context = SparkContext$.MODULE$.getActive();
    if (!attached && context.isDefined() && context.get().ui().isDefined()) {
      attached = true;
      context.get().ui().get().attachTab(new TransferTab(context.get().ui().get(), reports, waits));
    }
  }
}

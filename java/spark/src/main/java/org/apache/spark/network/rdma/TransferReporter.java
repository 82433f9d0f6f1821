package org.apache.spark.network.rdma;

import com.codahale.metrics.MetricRegistry;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.util.RpcUtils;
import org.apache.spark.util.ThreadUtils;

/** Sends an executor's counters to the driver's web page, as often as its heartbeat, when they have changed. */
final class TransferReporter {
  private final SparkEnv environment;
  private final MetricRegistry registry;
  private final ScheduledExecutorService timer =
      ThreadUtils.newDaemonSingleThreadScheduledExecutor("rdma-block-report");
  private RpcEndpointRef driver;
  private TransferReport last;
  private boolean failed;

  private TransferReporter(SparkEnv environment, MetricRegistry registry) {
    this.environment = environment;
    this.registry = registry;
  }

  /** @return null in a driver, and if the driver has no such page */
  static TransferReporter start(SparkEnv environment, MetricRegistry registry) {
    SparkConf conf = environment.conf();
    if (environment.executorId().equals("driver") || !TransferListener.isWanted(conf)
        || !conf.getBoolean("spark.ui.enabled", true)) {
      return null;
    }
    TransferReporter reporter = new TransferReporter(environment, registry);
    long millis = conf.getTimeAsMs("spark.executor.heartbeatInterval", "10s");
    reporter.timer.scheduleWithFixedDelay(reporter::report, millis, millis, TimeUnit.MILLISECONDS);
    return reporter;
  }

  private void report() {
    try {
      TransferReport report = new TransferReport(environment.executorId(), registry);
      if (!report.saysAsMuchAs(last)) {
        if (driver == null) {
          driver = RpcUtils.makeDriverRef(TransferReports.NAME, environment.conf(), environment.rpcEnv());
        }
        driver.send(report);
        last = report;
      }
    } catch (Exception e) { // Scala's methods throw what they do not declare; a thrown exception would end the timer
      if (!failed) {
        failed = true;
        BlockLog.LOG.warn("The driver's page of block transfers is not told of this executor's: {}", e.toString());
      }
    }
  }

  void close() {
    timer.shutdownNow();
  }
}

package io.howdah.examples.spark.workload;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;

/**
 * One application that runs workloads as it is told, so that executors stay what they are from job to job: a line of
 * its standard input is a name; what it writes is a {@link JobReport} and "end". It ends with its input, or at a
 * failure.
 */
public final class WorkloadDriver {
  private static final long EVENTS_MILLIS = 60_000;
  private static final long START_SECONDS = 600;

  private final JavaSparkContext spark;
  private final WorkloadSize size;
  private final JobListener listener = new JobListener();
  private final ExecutorProbe probe;

  WorkloadDriver(JavaSparkContext spark, WorkloadSize size) {
    this.spark = spark;
    this.size = size;
    this.probe = new ExecutorProbe(spark);
    spark.sc().addSparkListener(listener);
  }

  /** Runs it: EXECUTORS and the words of {@link WorkloadSize#parse}. */
  public static void main(String[] arguments) throws Exception {
    WorkloadSize size = WorkloadSize.parse(Arrays.copyOfRange(arguments, 1, arguments.length));
    SparkConf conf = new SparkConf().setIfMissing("spark.app.name", "workloads");
    try (JavaSparkContext spark = new JavaSparkContext(conf)) {
      WorkloadDriver driver = new WorkloadDriver(spark, size);
      driver.await(Integer.parseInt(arguments[0]));
      driver.serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)), System.out);
    }
  }

  private void await(int executors) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (probe.executors() < executors) {
      if (System.nanoTime() - end >= 0) {
        throw new IllegalStateException(probe.executors() + " of " + executors + " executors came in "
            + START_SECONDS + " s");
      }
      Thread.sleep(50);
    }
  }

  private void serve(BufferedReader in, PrintStream out) throws Exception {
    out.println("ready");
    for (String line; (line = in.readLine()) != null;) {
      out.println(run(line.trim()));
      out.println("end");
      out.flush();
    }
  }

  /** Runs a workload; whatever it kept is gone afterwards. */
  JobReport run(String name) throws Exception {
    Workload workload = Workloads.named(name);
    JobReport report = new JobReport();
    try {
      Callable<Outcome> job = workload.prepare(spark, size);
      spark.sc().listenerBus().waitUntilEmpty(EVENTS_MILLIS);
      Map<String, ExecutorReadings> before = probe.read(true);
      spark.sc().listenerBus().waitUntilEmpty(EVENTS_MILLIS);
      listener.take();
      long started = System.nanoTime();
      report.outcome(job.call());
      report.put("seconds", (double) (System.nanoTime() - started) / TimeUnit.SECONDS.toNanos(1));
      report.put("begin", (double) started / TimeUnit.SECONDS.toNanos(1));
      spark.sc().listenerBus().waitUntilEmpty(EVENTS_MILLIS);
      report.tasks(listener.take());
      report.executors(before, probe.read(false));
    } finally {
      clean();
    }
    return report;
  }

  /** What is kept in memory goes now; shuffle files go when Spark's cleaner sees that nobody refers to them. */
  private void clean() throws IOException {
    for (JavaRDD<?> kept : spark.getPersistentRDDs().values()) {
      kept.unpersist(true);
    }
    System.gc();
  }
}

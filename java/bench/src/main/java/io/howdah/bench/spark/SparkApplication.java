package io.howdah.bench.spark;

import io.howdah.bench.rpc.BenchException;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** An application on a cluster that runs one job after the other, so that its executors stay. For one thread. */
final class SparkApplication {
  static final String MAIN = "io.howdah.examples.spark.workload.WorkloadDriver";

  private final SparkCluster cluster;
  private final Process driver;
  private final BufferedReader out;
  private final Writer in;

  SparkApplication(SparkCluster cluster, Process driver) {
    this.cluster = cluster;
    this.driver = driver;
    this.out = new BufferedReader(new InputStreamReader(driver.getInputStream(), StandardCharsets.UTF_8));
    this.in = new BufferedWriter(new OutputStreamWriter(driver.getOutputStream(), StandardCharsets.UTF_8));
  }

  /** Waits until all executors are there. */
  void await() throws IOException {
    while (!line().equals("ready")) {
      continue; // whatever libraries write
    }
  }

  private String line() throws IOException {
    String line = out.readLine();
    if (line == null) {
      throw new BenchException("the driver ended; its last words:\n" + cluster.lastWords(SparkCluster.DRIVER));
    }
    return line;
  }

  /** Runs a job; the sample takes what it says. */
  void run(SparkSample sample) throws IOException {
    try {
      in.write(sample.job + "\n");
      in.flush();
    } catch (IOException e) {
      throw new BenchException(sample + ": the driver is gone; its last words:\n"
          + cluster.lastWords(SparkCluster.DRIVER), e);
    }
    List<String> lines = new ArrayList<>();
    for (String line = line(); !line.equals("end"); line = line()) {
      if (line.startsWith("value ") || line.startsWith("result ")) {
        lines.add(line);
      }
    }
    sample.read(lines);
  }

  /** Tells the driver that there is no more to do, and waits for its end. */
  void end() throws IOException {
    in.close();
    try {
      int status = driver.waitFor();
      if (status != 0) {
        throw new BenchException("the driver ended with " + status + "; its last words:\n"
            + cluster.lastWords(SparkCluster.DRIVER));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BenchException("interrupted", e);
    }
  }
}

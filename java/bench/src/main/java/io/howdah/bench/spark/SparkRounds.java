package io.howdah.bench.spark;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Runs each job on each side in each round, the sides in turn, in an order that changes from round to round. A side
 * gets a fresh cluster each time. For one thread.
 */
final class SparkRounds {
  private static final List<String> SMALL = Arrays.asList("2", "100", "1000", "2");

  private final SparkPlan plan;
  private final List<SparkSide> sides;
  private final PrintStream progress;
  private final List<SparkSample> samples = new ArrayList<>();
  private volatile SparkCluster running;

  SparkRounds(SparkPlan plan, List<SparkSide> sides, PrintStream progress) {
    this.plan = plan;
    this.sides = sides;
    this.progress = progress;
  }

  List<SparkSample> samples() {
    return samples;
  }

  void run() throws IOException {
    Thread atExit = new Thread(this::stop, "end of the cluster");
    Runtime.getRuntime().addShutdownHook(atExit);
    for (int round = 1; round <= plan.rounds; round++) {
      List<SparkSide> order = new ArrayList<>(sides);
      Collections.rotate(order, round - 1);
      for (int executors : plan.executors) {
        for (SparkSide side : order) {
          cluster(side, executors, round);
        }
      }
    }
    Runtime.getRuntime().removeShutdownHook(atExit);
  }

  private void stop() {
    SparkCluster cluster = running;
    if (cluster != null) {
      cluster.stop();
    }
  }

  private void cluster(SparkSide side, int executors, int round) throws IOException {
    SparkCluster cluster = new SparkCluster(plan, side, executors);
    running = cluster;
    boolean whole = false;
    try {
      cluster.start();
      if (round == 1) { // jars come from the disk once, which is not counted
        cluster.run(SMALL, new SparkSample(side.name, 0, plan.jobs.get(0), executors));
      }
      for (String job : plan.jobs) {
        SparkSample sample = new SparkSample(side.name, round, job, executors);
        cluster.run(plan.arguments(), sample);
        samples.add(sample);
        progress.printf(Locale.ROOT, "round %d of %d, %s: %.1f s, of all tasks %.1f s waiting for blocks%n", round,
            plan.rounds, sample, sample.value("seconds"), sample.value("wait"));
      }
      whole = true;
    } finally {
      if (whole) {
        cluster.close();
      } else {
        cluster.stop();
        progress.println("what the processes left is in " + cluster.folder());
      }
      running = null;
    }
  }
}

package io.howdah.bench.spark;

import io.howdah.bench.Undisturbed;
import io.howdah.bench.rpc.BenchException;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Runs each job on each side in each round. Both sides' clusters stand side by side, each with one application that
 * stays for some rounds; a job runs on the one and then on the other, in an order that changes from round to round,
 * and all runs have to find the same. Applications of equal trees were up to 7 % apart, and the one that started first
 * was mostly the slower: so there should be several, and the sides start in turn. What the host of a virtual machine
 * disturbed is run again, on both sides. For one thread.
 */
final class SparkRounds {
  private final SparkPlan plan;
  private final List<SparkSide> sides;
  private final PrintStream progress;
  private final Undisturbed undisturbed;
  private final List<SparkSample> samples = new ArrayList<>();
  /** The first run of each job, of whichever side. */
  private final Map<String, SparkSample> found = new HashMap<>();
  private final Map<SparkSide, SparkCluster> clusters = new LinkedHashMap<>();
  /** A signal ends this process. */
  private boolean ending;

  SparkRounds(SparkPlan plan, List<SparkSide> sides, PrintStream progress) {
    this.plan = plan;
    this.sides = sides;
    this.progress = progress;
    // As many again as there are at all: at worst a run takes twice its time.
    undisturbed = new Undisturbed(plan.applications * plan.rounds * plan.executors.size() * plan.jobs.size());
  }

  List<SparkSample> samples() {
    return samples;
  }

  /** What was run again, and what was disturbed all the same. */
  Undisturbed undisturbed() {
    return undisturbed;
  }

  void run() throws IOException, InterruptedException {
    Thread atExit = new Thread(this::end, "end of the clusters");
    Runtime.getRuntime().addShutdownHook(atExit);
    for (int application = 0; application < plan.applications; application++) {
      for (int executors : plan.executors) {
        shape(application, executors);
      }
    }
    Runtime.getRuntime().removeShutdownHook(atExit);
  }

  /** Whoever interrupts a benchmark does not want to see what its processes left. */
  private synchronized void end() {
    ending = true;
    for (SparkCluster cluster : clusters.values()) {
      try {
        cluster.close();
      } catch (IOException e) {
        progress.println("cannot remove " + cluster.folder() + ": " + e);
      }
    }
    clusters.clear();
  }

  private synchronized SparkCluster cluster(SparkSide side, int executors) throws IOException {
    if (ending) {
      throw new BenchException("the benchmark was interrupted");
    }
    SparkCluster cluster = new SparkCluster(plan, side, executors);
    clusters.put(side, cluster);
    return cluster;
  }

  private void shape(int application, int executors) throws IOException, InterruptedException {
    boolean whole = false;
    try {
      Map<SparkSide, SparkApplication> applications = new HashMap<>();
      for (SparkSide side : inTurn(application)) {
        SparkCluster cluster = cluster(side, executors);
        cluster.start();
        applications.put(side, cluster.application());
      }
      for (int round = 1 - plan.warmUp; round <= plan.rounds; round++) {
        round(application, round, executors, applications);
      }
      for (SparkApplication each : applications.values()) {
        each.end();
      }
      whole = true;
    } finally {
      leave(whole);
    }
  }

  private synchronized void leave(boolean whole) throws IOException, InterruptedException {
    while (ending) {
      wait(); // for the end: that the clusters are gone is no failure to be told of
    }
    for (SparkCluster cluster : clusters.values()) {
      if (whole) {
        cluster.close();
      } else {
        cluster.stop();
        progress.println("what the processes left is in " + cluster.folder());
      }
    }
    clusters.clear();
  }

  private List<SparkSide> inTurn(int number) {
    List<SparkSide> order = new ArrayList<>(sides);
    Collections.rotate(order, number);
    return order;
  }

  /** Rounds up to 0 load classes, compile and bring files into memory; they count for results alone. */
  private void round(int application, int round, int executors, Map<SparkSide, SparkApplication> applications)
      throws IOException, InterruptedException {
    int number = application + plan.warmUp + round;
    for (String job : plan.jobs) {
      List<SparkSide> order = inTurn(number++);
      if (round <= 0) {
        both(0, job, executors, order, applications);
        continue;
      }
      int counted = application * plan.rounds + round;
      List<SparkSample> both = undisturbed.measure(() -> both(counted, job, executors, order, applications));
      both.forEach(sample -> sample.values.put("stolen", undisturbed.stolen()));
      samples.addAll(both);
    }
  }

  private List<SparkSample> both(int round, String job, int executors, List<SparkSide> order,
      Map<SparkSide, SparkApplication> applications) throws IOException {
    List<SparkSample> both = new ArrayList<>();
    for (SparkSide side : order) {
      SparkSample sample = new SparkSample(side.name, round, job, executors);
      applications.get(side).run(sample);
      check(side, sample);
      both.add(sample);
      progress.printf(Locale.ROOT, "%s, %s: %.2f s, tasks waited %.2f s for blocks%n",
          round == 0 ? "warming up" : "round " + round + " of " + plan.applications * plan.rounds, sample,
          sample.value("seconds"), sample.value("wait"));
    }
    return both;
  }

  private void check(SparkSide side, SparkSample sample) {
    SparkSample first = found.putIfAbsent(sample.job, sample);
    if (first != null && !first.agreesWith(sample)) {
      throw new BenchException(sample + " found " + sample.result + ", but " + first + " found " + first.result);
    }
    if (side.forced && !sample.cameOverEngine()) {
      throw new BenchException(String.format(Locale.ROOT, "%s: %.0f blocks came over the engine and %.0f over Netty, "
          + "%.0f fallbacks, although the transport was forced", sample, sample.value("engineBlocks"),
          sample.value("nettyBlocks"), sample.value("fallbacks")));
    }
  }
}

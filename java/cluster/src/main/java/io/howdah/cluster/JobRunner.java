package io.howdah.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Runs the tree's commands on a cluster, as a user would type them, each with a log of its own. */
final class JobRunner {
  private static final long SHOW_EVERY_NS = TimeUnit.SECONDS.toNanos(3);
  /** A JVM that lives for seconds: the second compiler and parallel collectors cost it more than they give. */
  static final String SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1";

  /** Spark's executors and masters of applications take seconds to end. */
  private static final int CONTAINERS_END_S = 30;
  private static final String CLIENT_OPTIONS = "-Xmx256m " + SHORT_LIVED;

  private final Tree tree;
  private final Cluster cluster;
  private final Path logs;
  private final Progress progress;
  private final long timeoutS;
  private Process current;
  private boolean cancelled;

  JobRunner(Tree tree, Cluster cluster, Path logs, Progress progress, long timeoutS) {
    this.tree = tree;
    this.cluster = cluster;
    this.logs = logs;
    this.progress = progress;
    this.timeoutS = timeoutS;
  }

  Path log(String name) {
    return logs.resolve(name + ".log");
  }

  /**
   * What the cluster's processes and the commands have taken until now; see {@link Cluster#processorSeconds()}. Waits
   * for containers that are about to end.
   */
  double processorSeconds() {
    try {
      cluster.awaitContainers(CONTAINERS_END_S);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted");
    }
    return cluster.processorSeconds();
  }

  /**
   * Runs a command to its end and shows how far it is.
   *
   * @param name of the step, and of its log
   * @throws ClusterException with the end of the log if it fails or takes longer than the time limit
   */
  void run(String name, String command, List<String> arguments) throws IOException {
    Path log = log(name);
    Process process = start(command, arguments, ProcessBuilder.Redirect.PIPE);
    Thread watchdog = watchdog(process);
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        PrintWriter out = new PrintWriter(Files.newBufferedWriter(log, StandardCharsets.UTF_8))) {
      out.println("$ " + command + " " + String.join(" ", arguments));
      long shown = System.nanoTime();
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        out.println(line);
        Optional<String> now = JobProgress.of(line);
        if (now.isPresent() && System.nanoTime() - shown > SHOW_EVERY_NS) {
          progress.say("%s: %s", name, now.get());
          shown = System.nanoTime();
        }
      }
    }
    finish(name, process, watchdog, log);
  }

  /** Runs a command whose output is a file's content; what it says besides goes to the log. */
  void capture(String name, Path to, String command, String... arguments) throws IOException {
    Process process = start(command, Arrays.asList(arguments), ProcessBuilder.Redirect.to(to.toFile()));
    Thread watchdog = watchdog(process);
    finish(name, process, watchdog, log(name));
  }

  private synchronized Process start(String command, List<String> arguments, ProcessBuilder.Redirect output)
      throws IOException {
    checkNotCancelled();
    List<String> line = new ArrayList<>();
    line.add(tree.command(command).toString());
    line.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(line);
    Map<String, String> env = builder.environment();
    Launcher.cleanEnvironment(env);
    env.putAll(cluster.environment());
    env.put("JAVA_HOME", Launcher.javaHome().toString());
    env.put("HADOOP_CLIENT_OPTS", CLIENT_OPTIONS);
    env.put(Launcher.CLUSTER_ID, cluster.id());
    builder.directory(logs.toFile());
    builder.redirectInput(Launcher.NOTHING);
    if (output == ProcessBuilder.Redirect.PIPE) {
      builder.redirectErrorStream(true);
    } else {
      builder.redirectOutput(output);
      builder.redirectError(ProcessBuilder.Redirect.appendTo(logs.resolve("commands.log").toFile()));
    }
    current = builder.start();
    return current;
  }

  private synchronized void checkNotCancelled() {
    if (cancelled) {
      throw new ClusterException("interrupted");
    }
  }

  /** Ends the command that runs, and lets no other begin. */
  synchronized void cancel() {
    cancelled = true;
    if (current != null && current.isAlive()) {
      current.destroyForcibly();
    }
  }

  private Thread watchdog(Process process) {
    Thread thread = new Thread(() -> {
      try {
        if (!process.waitFor(timeoutS, TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }, "job-time-limit");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private void finish(String name, Process process, Thread watchdog, Path log) {
    int code;
    try {
      code = process.waitFor();
      watchdog.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted");
    }
    checkNotCancelled();
    if (code != 0) {
      throw new ClusterException(name + " failed (exit code " + code + ")"
          + LogTail.cause(log).map(cause -> ": " + cause.trim()).orElse("") + "\n  the end of " + log + ":\n"
          + LogTail.of(log, 20).replaceAll("(?m)^", "    "), "the daemons' logs are in " + cluster.dir().logs());
    }
  }
}

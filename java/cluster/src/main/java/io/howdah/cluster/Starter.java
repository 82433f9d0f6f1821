package io.howdah.cluster;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * One start of a cluster: launches what does not run yet and waits until everything is at work. If anything goes
 * wrong, or the user interrupts, whatever this start launched is stopped again.
 */
final class Starter {
  private final ClusterDir dir;
  private final ClusterSpec spec;
  private final Ports ports;
  private final String clusterId;
  private final Attempt attempt;
  private final Launcher launcher;
  private final Progress progress;
  private final long timeoutS;
  private final List<DaemonId> launched = new ArrayList<>();
  private final Set<DaemonId> ready = new HashSet<>();
  private boolean cancelled;
  private Process foreground;

  Starter(Tree tree, ClusterDir dir, ClusterSpec spec, Attempt attempt, Progress progress, long timeoutS) {
    this.dir = dir;
    this.spec = spec;
    this.attempt = attempt;
    this.ports = attempt.ports();
    this.clusterId = attempt.id();
    this.launcher = new Launcher(tree, dir, spec, clusterId);
    this.progress = progress;
    this.timeoutS = timeoutS;
  }

  /** Writes the configuration. */
  interface Configuration {
    void write() throws IOException;
  }

  /** Starts these daemons of the cluster; the others run already. */
  void start(List<DaemonId> daemons, Configuration configuration) {
    Thread hook = new Thread(this::interrupted, "stop-on-interrupt");
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      begin(configuration);
      format();
      // The history server sleeps ten seconds each time it looks for HDFS, even when it finds it: once is enough.
      List<DaemonId> early = new ArrayList<>(daemons);
      boolean history = early.remove(DaemonId.of(DaemonKind.HISTORYSERVER));
      for (DaemonId id : early) {
        launch(id);
      }
      if (history) {
        awaitReady(Collections.emptyList()); // awaits the NameNode, where there is one
        launch(DaemonId.of(DaemonKind.HISTORYSERVER));
      }
      awaitReady(daemons);
      makeFolders();
    } catch (IOException e) {
      undo();
      throw new ClusterException("the cluster can't be started: " + e.getMessage(),
          "is the disk of " + dir.root() + " full or read-only?");
    } catch (RuntimeException e) {
      undo();
      throw e;
    } finally {
      removeHook(hook);
    }
  }

  private synchronized void begin(Configuration configuration) throws IOException {
    checkNotCancelled();
    attempt.begin();
    configuration.write();
  }

  private static void removeHook(Thread hook) {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // The JVM is shutting down: the hook is at work, and this thread must not return before it.
      join(hook);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void interrupted() {
    progress.say("interrupted: stopping what was started");
    undo();
  }

  private synchronized void undo() {
    if (cancelled) {
      return;
    }
    cancelled = true;
    if (foreground != null && foreground.isAlive()) {
      foreground.destroy();
    }
    new Stopper(dir, progress).stop(launched, clusterId, false);
    if (new LinkedHashSet<>(launched).containsAll(spec.daemons())) {
      Aliases.remove(dir);
    }
    try {
      attempt.takeBack().forEach(folder -> progress.say("%s has blocks, and stays", folder));
    } catch (ClusterException e) {
      // The failure of the start is what matters.
      progress.say("%s", e.getMessage());
    }
  }

  private synchronized void checkNotCancelled() {
    if (cancelled) {
      throw new ClusterException("interrupted");
    }
  }

  private synchronized void launch(DaemonId id) throws IOException {
    checkNotCancelled();
    ports.checkFree(id);
    launched.add(id);
    PidRecord record = launcher.launch(id);
    progress.say("%-18s started, pid %d", id, record.pid());
  }

  /** Makes the file system, or without HDFS a folder in place of it, unless that has been done to the end. */
  private void format() throws IOException {
    if (Files.exists(dir.formatted())) {
      return;
    }
    if (!spec.hasHdfs()) {
      markFormatted();
      return;
    }
    progress.say("formatting a new file system");
    Path log = dir.logs().resolve("format.log");
    Process process;
    synchronized (this) {
      checkNotCancelled();
      // Without the mark an earlier format was cut short, and no file system has ever been used.
      ClusterDir.delete(dir.data());
      Files.createDirectories(dir.data());
      Files.deleteIfExists(log);
      foreground = launcher.run(log, "hdfs", "namenode", "-format", "-nonInteractive", "-force");
      process = foreground;
    }
    int code = await(process);
    checkNotCancelled();
    if (code != 0) {
      throw new ClusterException(failure("formatting the file system failed", log),
          "correct the cause and start again");
    }
    markFormatted();
  }

  private synchronized void markFormatted() throws IOException {
    checkNotCancelled();
    Files.createFile(dir.formatted());
  }

  private static int await(Process process) {
    try {
      return process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted");
    }
  }

  private void awaitReady(List<DaemonId> daemons) {
    Health health = new Health(spec, ports);
    Set<DaemonId> waiting = new LinkedHashSet<>(daemons);
    // The NameNode and the ResourceManager also vouch for daemons that are started under them now.
    if (spec.hasHdfs()) {
      waiting.add(DaemonId.of(DaemonKind.NAMENODE));
    }
    if (spec.yarn() && daemons.stream().anyMatch(id -> id.kind() == DaemonKind.NODEMANAGER)) {
      waiting.add(DaemonId.of(DaemonKind.RESOURCEMANAGER));
    }
    waiting.removeAll(ready);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(timeoutS);
    while (!waiting.isEmpty()) {
      checkNotCancelled();
      for (DaemonId id : launched()) {
        checkAlive(id);
      }
      for (DaemonId id : new ArrayList<>(waiting)) {
        if (health.isReady(id)) {
          waiting.remove(id);
          ready.add(id);
          progress.say("%-18s ready%s", id, detail(id));
        }
      }
      if (!waiting.isEmpty() && System.nanoTime() > deadline) {
        DaemonId id = waiting.iterator().next();
        throw new ClusterException(failure(id + " is not ready after " + timeoutS + " s: " + health.pending(id),
            dir.log(id)), "look at the log, or allow more time with --timeout");
      }
      pause();
    }
  }

  private synchronized List<DaemonId> launched() {
    return new ArrayList<>(launched);
  }

  private String detail(DaemonId id) {
    switch (id.kind()) {
      case NAMENODE:
        return ": out of safe mode, " + spec.datanodes() + " DataNodes live";
      case RESOURCEMANAGER:
        return ": " + spec.nodemanagers() + " NodeManagers running";
      default:
        return "";
    }
  }

  private void checkAlive(DaemonId id) {
    if (!PidRecord.read(dir.pid(id)).filter(PidRecord::isAlive).isPresent()) {
      checkNotCancelled();
      throw new ClusterException(failure(id + " died while starting", dir.log(id)),
          "correct the cause and start again; everything that this start launched was stopped");
    }
  }

  private static String failure(String what, Path log) {
    Optional<String> cause = LogTail.cause(log);
    return what + cause.map(c -> ": " + c.trim()).orElse("") + "\n  the end of " + log + ":\n"
        + LogTail.of(log, 15).replaceAll("(?m)^", "    ");
  }

  private static void pause() {
    try {
      Thread.sleep(250);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted");
    }
  }

  /** In a new file system: /tmp for all, and a home folder for the user, who is its superuser. */
  private void makeFolders() throws IOException {
    if (!spec.hasHdfs() || Files.exists(dir.furnished())) {
      return;
    }
    String user = userName();
    String encoded = URLEncoder.encode(user, "UTF-8").replace("+", "%20");
    int port = ports.get(PortKind.NAMENODE_HTTP);
    try {
      Http.put(port, "/webhdfs/v1/tmp?op=MKDIRS&permission=1777&user.name=" + encoded);
      Http.put(port, "/webhdfs/v1/user/" + encoded + "?op=MKDIRS&user.name=" + encoded);
    } catch (IOException e) {
      throw new ClusterException("the NameNode did not make /tmp and /user/" + user + ": " + e.getMessage(),
          "look at its log: " + dir.log(DaemonId.of(DaemonKind.NAMENODE)));
    }
    Files.createFile(dir.furnished());
  }

  /** The user's name as the daemons know it: the number where the system has no name for it. */
  private static String userName() throws IOException {
    String name = System.getProperty("user.name");
    return "?".equals(name) ? String.valueOf(Files.getAttribute(Paths.get("/proc/self"), "unix:uid")) : name;
  }
}

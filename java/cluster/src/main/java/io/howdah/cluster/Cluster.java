package io.howdah.cluster;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** A local cluster in a folder: real daemons of the tree, each a process of its own. Not thread-safe. */
public final class Cluster {
  /** Fewer bytes than this make the NameNode enter safe mode, and leave nothing to work with. */
  private static final long LEAST_FREE = 300L << 20;

  private final ClusterDir dir;

  /** The cluster of a folder, whether or not it exists yet. */
  public Cluster(Path root) {
    this.dir = new ClusterDir(root);
  }

  ClusterDir dir() {
    return dir;
  }

  /** The folder with its client configuration: HADOOP_CONF_DIR. */
  public Path conf() {
    return dir.conf();
  }

  /** What the last start that succeeded recorded, or the defaults. */
  public ClusterSpec recordedSpec() {
    if (!dir.exists()) {
      return new ClusterSpec();
    }
    ClusterSpec recorded = ClusterSpec.load(dir.readRecord());
    return dir.hasData() ? recorded : recorded.withoutData();
  }

  /** The recorded settings. */
  ClusterSpec spec() {
    requireExists();
    return ClusterSpec.load(dir.readRecord());
  }

  /** The recorded ports. */
  Ports ports() {
    requireExists();
    return new Ports(ClusterDir.ports(dir.readRecord()));
  }

  private void requireExists() {
    if (!dir.exists()) {
      throw new ClusterException("there is no cluster in " + dir.root(), "start one: howdah cluster start");
    }
  }

  /** Removes the cluster and its data; refuses while it runs and in a folder that no cluster made. */
  public void wipe() {
    dir.refuseForeign();
    if (dir.exists()) {
      if (!running().isEmpty()) {
        throw new ClusterException("the cluster in " + dir.root() + " is running; its data was not touched",
            "stop it first: howdah cluster stop");
      }
      dir.wipe();
    }
  }

  /**
   * Starts what is not running, and returns when all of it is at work.
   *
   * @param tree to run from
   * @param spec of the cluster
   * @param asked ports, by kind
   * @param timeoutS seconds until a daemon that is not ready counts as failed
   * @return how many daemons were started
   * @throws ClusterException with the cause; then nothing that this call started runs any more, and the record is as
   *     it was before
   */
  @SuppressWarnings("try") // the lock is held, not used
  public int start(Tree tree, ClusterSpec spec, Map<PortKind, Integer> asked, Progress progress, long timeoutS) {
    checkJava(spec);
    dir.refuseForeign();
    checkShrink(spec);
    dir.create();
    try (FileChannel lock = dir.lock()) {
      try {
        return startLocked(tree, spec, asked, progress, timeoutS);
      } finally {
        dir.discardUnused();
      }
    } catch (IOException e) {
      throw new ClusterException("the cluster's folder " + dir.root() + " can't be written: " + e.getMessage(),
          "make room there, or choose another folder with --dir");
    }
  }

  private int startLocked(Tree tree, ClusterSpec spec, Map<PortKind, Integer> asked, Progress progress,
      long timeoutS) {
    Properties record = dir.readRecord();
    checkRoom();
    Map<DaemonId, PidRecord> running = running();
    Ports ports = new Ports(ClusterDir.ports(record));
    ports.assign(spec.daemons(), asked);
    RunningSettings.check(record, spec, ports, running.keySet());
    List<DaemonId> missing =
        spec.daemons().stream().filter(d -> !running.containsKey(d)).collect(Collectors.toList());
    if (missing.isEmpty()) {
      return 0;
    }
    for (DaemonId daemon : missing) {
      ports.checkFree(daemon);
    }
    Attempt attempt = new Attempt(dir, record, spec, ports);
    attempt.checkLeaving();
    new Starter(tree, dir, spec, attempt, progress, timeoutS)
        .start(missing, () -> writeConfiguration(tree, spec, ports, attempt.id()));
    return missing.size();
  }

  private static void checkJava(ClusterSpec spec) {
    String version = System.getProperty("java.specification.version");
    if (!"1.8".equals(version)) {
      throw new ClusterException("this is Java " + version + " (" + System.getProperty("java.home")
          + "); Hadoop 2.8 and Spark 2.1 run on Java 8", "set JAVA_HOME to a JDK 8 (OpenJDK 1.8.0)");
    }
    if (spec.yarn() && !Aliases.isPlain(Launcher.javaHome())) {
      throw new ClusterException("JAVA_HOME has white space or a special character in it, which YARN's container "
          + "commands can't hold: " + Launcher.javaHome(), "set JAVA_HOME to a path without, such as a symbolic link");
    }
  }

  private void writeConfiguration(Tree tree, ClusterSpec spec, Ports ports, String id) throws IOException {
    Aliases aliases = new Aliases(tree, dir);
    SiteDefaults defaults =
        new SiteDefaults(spec, ports, new StorageFolders(spec, id), aliases.tree(), aliases.root());
    new SiteWriter(tree, spec, defaults).write(dir.conf());
  }

  private void checkShrink(ClusterSpec spec) {
    int recorded = dir.hasData() ? recordedSpec().datanodes() : 0;
    if (spec.datanodes() < recorded) {
      throw new ClusterException("the cluster has " + recorded + " DataNodes with data; with " + spec.datanodes()
          + " some of it would be missing",
          "start with as many or more, or begin anew with --fresh, which deletes the data");
    }
  }

  private void checkRoom() {
    long free = dir.freeBytes();
    if (free < LEAST_FREE) {
      throw new ClusterException("the disk of " + dir.root() + " has " + Sizes.format(free) + " free; a cluster needs "
          + Sizes.format(LEAST_FREE) + " to start", "make room, or choose a folder on another disk with --dir");
    }
  }

  /** The daemons that run now. */
  Map<DaemonId, PidRecord> running() {
    Map<DaemonId, PidRecord> running = new LinkedHashMap<>();
    if (dir.exists()) {
      for (DaemonId id : spec().daemons()) {
        PidRecord.read(dir.pid(id)).filter(PidRecord::isAlive).ifPresent(record -> running.put(id, record));
      }
    }
    return running;
  }

  /**
   * Stops every daemon of the cluster, and containers that were left.
   *
   * @return how many daemons were running
   */
  @SuppressWarnings("try") // the lock is held, not used
  public int stop(Progress progress) {
    requireExists();
    dir.create();
    try (FileChannel lock = dir.lock()) {
      Properties record = dir.readRecord();
      int stopped = new Stopper(dir, progress).stop(spec().daemons(), ClusterDir.id(record), true);
      Aliases.remove(dir);
      return stopped;
    } catch (IOException e) {
      throw new ClusterException("the cluster's lock can't be released: " + e.getMessage());
    }
  }

  /** Deletes what the cluster stored, and keeps its settings and logs; the next start makes a new file system. */
  public void discardData() {
    try {
      ClusterDir.delete(dir.data());
      StorageFolders.of(dir.readRecord()).delete();
    } catch (IOException e) {
      throw new ClusterException("the data in " + dir.data() + " can't be deleted: " + e.getMessage());
    }
  }

  /** The id that every process of the cluster carries in its environment. */
  String id() {
    return ClusterDir.id(dir.readRecord());
  }

  /**
   * Processor seconds of the cluster's daemons, of the containers of its NodeManagers that have ended, and of this
   * process and the commands that it ran.
   */
  double processorSeconds() {
    double seconds = PidRecord.processorSeconds("self");
    for (PidRecord daemon : running().values()) {
      seconds += PidRecord.processorSeconds(Long.toString(daemon.pid()));
    }
    return seconds;
  }

  /**
   * Waits for the end of the containers of all applications, which outlive the commands that submitted them.
   *
   * @param seconds to wait at most
   */
  void awaitContainers(int seconds) throws InterruptedException {
    List<PidRecord> managers = running().entrySet().stream()
        .filter(daemon -> daemon.getKey().kind() == DaemonKind.NODEMANAGER).map(Map.Entry::getValue)
        .collect(Collectors.toList());
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (managers.stream().anyMatch(PidRecord::hasChildren) && System.nanoTime() < end) {
      Thread.sleep(100);
    }
  }

  /** Variables that point a shell's hadoop, hdfs, yarn, mapred and spark commands at this cluster. */
  public Map<String, String> environment() {
    Map<String, String> env = new LinkedHashMap<>();
    String conf = dir.conf().toString();
    env.put("HADOOP_CONF_DIR", conf);
    env.put("YARN_CONF_DIR", conf);
    env.put("SPARK_CONF_DIR", conf);
    env.put("SPARK_LOCAL_IP", "127.0.0.1");
    env.put("SPARK_LOCAL_HOSTNAME", "localhost");
    return env;
  }
}

package io.howdah.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Starts the tree's commands: daemons detached from this terminal, each with a pid record that it writes itself before
 * it becomes the daemon, so that at no moment a daemon runs which nobody knows of.
 */
final class Launcher {
  /** Environment variable that every process of a cluster carries, containers included. */
  static final String CLUSTER_ID = "HOWDAH_CLUSTER_ID";

  /** Standard input of whatever runs without a terminal. */
  static final File NOTHING = new File("/dev/null");

  /**
   * The second compiler starts on code that has run ten times as often as by default: all daemons start at once on one
   * machine, and pay a third less for their first seconds. What is busy is compiled as before a little later.
   */
  private static final String LATE_COMPILER = "-XX:Tier4InvocationThreshold=50000 "
      + "-XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000";

  private static final String DETACH =
      "record=$1; shift\n"
      + "IFS= read -r stat <\"/proc/$$/stat\" && IFS= read -r boot </proc/sys/kernel/random/boot_id || exit 70\n"
      + "read -ra fields <<<\"${stat##*) }\"\n"
      + "printf '%s %s %s\\n' \"$$\" \"${fields[19]}\" \"$boot\" >\"$record.new\""
      + " && mv -f -- \"$record.new\" \"$record\" || exit 73\n"
      + "exec setsid \"$@\"\n";

  private final Tree tree;
  private final ClusterDir dir;
  private final ClusterSpec spec;
  private final String clusterId;

  Launcher(Tree tree, ClusterDir dir, ClusterSpec spec, String clusterId) {
    this.tree = tree;
    this.dir = dir;
    this.spec = spec;
    this.clusterId = clusterId;
  }

  /** Starts a daemon; returns when it has its pid record. Its output, logging included, goes to its log. */
  PidRecord launch(DaemonId id) throws IOException {
    Path log = dir.log(id);
    if (Files.exists(log)) {
      Files.move(log, log.resolveSibling(log.getFileName() + ".1"), StandardCopyOption.REPLACE_EXISTING);
    }
    Path record = dir.pid(id);
    Files.deleteIfExists(record);
    DaemonKind kind = id.kind();
    List<String> command = new ArrayList<>(Arrays.asList("/bin/bash", "-c", DETACH, "howdah", record.toString(),
        tree.command(kind.script()).toString(), kind.argument()));
    Process process = builder(command, dir.conf(id), log, kind.optionsVariable(), options(kind)).start();
    return awaitRecord(id, process);
  }

  private PidRecord awaitRecord(DaemonId id, Process process) throws IOException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (System.nanoTime() < deadline) {
      Optional<PidRecord> record = PidRecord.read(dir.pid(id));
      if (record.isPresent()) {
        return record.get();
      }
      if (!process.isAlive()) {
        throw new ClusterException(id + " could not be launched: " + LogTail.of(dir.log(id), 5),
            "is the disk of " + dir.root() + " full?");
      }
      pause(10);
    }
    process.destroyForcibly();
    throw new ClusterException(id + " could not be launched: no pid record within 20 s");
  }

  private static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted");
    }
  }

  /** A command that runs in the foreground, with the clients' configuration. */
  Process run(Path log, String script, String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(tree.command(script).toString());
    command.addAll(Arrays.asList(arguments));
    return builder(command, dir.conf(), log, "HADOOP_CLIENT_OPTS", "").start();
  }

  private String options(DaemonKind kind) {
    return "-Xmx" + spec.heapMb(kind) + "m -Djava.net.preferIPv4Stack=true " + LATE_COMPILER;
  }

  private ProcessBuilder builder(List<String> command, Path conf, Path log, String variable, String options) {
    ProcessBuilder builder = new ProcessBuilder(command);
    Map<String, String> env = builder.environment();
    cleanEnvironment(env);
    String users = env.get(variable);
    if (!options.isEmpty()) {
      env.put(variable, users == null ? options : options + " " + users);
    }
    env.put("JAVA_HOME", javaHome().toString());
    env.put("HADOOP_CONF_DIR", conf.toString());
    env.put("YARN_CONF_DIR", conf.toString());
    env.put(CLUSTER_ID, clusterId);
    for (String name : new String[] {"HADOOP_LOG_DIR", "YARN_LOG_DIR", "HADOOP_MAPRED_LOG_DIR"}) {
      env.put(name, dir.logs().toString());
    }
    env.put("HADOOP_PID_DIR", dir.run().toString());
    builder.directory(dir.logs().toFile());
    builder.redirectInput(NOTHING);
    builder.redirectErrorStream(true);
    builder.redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    return builder;
  }

  /** Drops what points to another installation; JVM options of the user's (*_OPTS) stay. */
  static void cleanEnvironment(Map<String, String> env) {
    env.keySet().removeIf(name -> name.matches("(HADOOP|YARN|MAPRED|HDFS|SPARK)_.*") && !name.endsWith("_OPTS"));
    env.remove("CLASSPATH");
  }

  /** The JDK that runs this command. */
  static Path javaHome() {
    Path home = Paths.get(System.getProperty("java.home"));
    boolean jreOfJdk = home.endsWith("jre") && Files.isExecutable(home.resolveSibling("bin").resolve("java"));
    return jreOfJdk ? home.getParent() : home;
  }
}

package io.howdah.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** howdah demo: the main job, on a cluster of its own. */
@Command(name = "howdah demo", mixinStandardHelpOptions = true, description = {
    "Starts a cluster of its own (three DataNodes, two NodeManagers, history server), sorts and counts real data on it "
        + "with MapReduce and Spark, checks every result, and stops the cluster.",
    "It ends with what went over which transport. Exit code: 0 every check held, 1 one did not, a job failed, or the "
        + "engine could be used and carried nothing."})
public final class DemoCommand implements Callable<Integer> {
  /** Three replicas of the input, one of the sorted output, spills and shuffle files of one job at a time. */
  private static final int SPACE_FACTOR = 7;
  private static final long SPACE_BASE = 1L << 30;

  @Option(names = "--size", paramLabel = "SIZE", defaultValue = "1g",
      description = "how much to generate and sort, such as 100m or 4g (default: ${DEFAULT-VALUE})")
  private String size;

  @Option(names = "--text", paramLabel = "PATH", required = true,
      description = "a file of UTF-8 text, or a folder of such files, to count the words of")
  private Path text;

  @Option(names = "--dir", paramLabel = "DIR", defaultValue = "howdah-demo",
      description = "where the cluster, the logs and demo.json go (default: ./${DEFAULT-VALUE})")
  private Path dir;

  @Option(names = "--keep", description = "leave the cluster running, with its data")
  private boolean keep;

  @Option(names = "--stock", description = "with RDMA off everywhere, as in the stock release")
  private boolean stock;

  @Option(names = "--timeout", paramLabel = "SECONDS", defaultValue = "3600",
      description = "how long one job may take (default: ${DEFAULT-VALUE})")
  private long timeout;

  @Option(names = "-D", paramLabel = "NAME=VALUE", mapFallbackValue = "",
      description = "a property for the cluster's site files, or for spark-defaults.conf if it begins with spark.")
  private Map<String, String> site = new LinkedHashMap<>();

  private final Progress progress = new Progress(System.out);
  private final DemoReport report = new DemoReport();

  private DemoCommand() {
  }

  /** Runs the demo and exits with its code. */
  public static void main(String[] arguments) {
    System.exit(ClusterCommand.run(new DemoCommand(), arguments));
  }

  @Override
  public Integer call() throws IOException {
    Tree tree = Tree.find();
    long bytes = Sizes.parse("--size", size);
    dir = dir.toAbsolutePath().normalize();
    Path corpus = text.toAbsolutePath().normalize();
    for (Path file : TokenCount.files(corpus)) {
      TokenCount.requireUtf8(file);
    }
    Path work = makeFolder("scratch");
    Path logs = makeFolder("logs");
    checkRoom(bytes);
    Cluster cluster = new Cluster(dir.resolve("cluster"));
    JobRunner jobs = new JobRunner(tree, cluster, logs, progress, timeout);
    Thread hook = new Thread(() -> interrupted(cluster, jobs), "stop-on-interrupt");
    Runtime.getRuntime().addShutdownHook(hook);
    try {
      startCluster(tree, cluster);
      new Demo(tree, jobs, report, progress, work, corpus, bytes).run();
      report.traffic(traffic(cluster, jobs));
    } finally {
      if (removeHook(hook)) {
        end(cluster, bytes);
      }
    }
    return report.passed() ? 0 : 1;
  }

  /** What the daemons served, and Spark's executors and drivers fetched. */
  private static Traffic traffic(Cluster cluster, JobRunner jobs) throws IOException {
    Traffic traffic = new Traffic();
    traffic.expect(TrafficKind.SHUFFLE);
    WebServers.of(cluster).ask((name, counts) -> traffic.add(counts));
    SparkLogs.addContainers(cluster.dir().logs(), traffic);
    for (String job : new String[] {"spark-groupbykey", "spark-sortbykey"}) {
      SparkLogs.add(jobs.log(job), traffic);
    }
    return traffic;
  }

  private Path makeFolder(String name) {
    try {
      return Files.createDirectories(dir.resolve(name));
    } catch (IOException e) {
      throw new ClusterException("the folder " + dir.resolve(name) + " can't be made: " + e.getMessage(),
          "choose another with --dir");
    }
  }

  private void checkRoom(long bytes) {
    long free = ClusterDir.freeBytes(dir);
    if (bytes > (free - SPACE_BASE) / SPACE_FACTOR) {
      throw new ClusterException("the disk of " + dir + " has " + Sizes.format(free) + " free; a demo of "
          + Sizes.format(bytes) + " needs " + SPACE_FACTOR + " times that and " + Sizes.format(SPACE_BASE) + " more",
          "make room, choose another disk with --dir, or less data with --size");
    }
  }

  private void startCluster(Tree tree, Cluster cluster) {
    progress.say("starting a cluster: NameNode, 3 DataNodes, ResourceManager, 2 NodeManagers, history server");
    if (cluster.dir().exists() && !cluster.running().isEmpty()) {
      progress.say("an earlier demo's cluster still runs: stopping it");
      cluster.stop(progress);
    }
    cluster.wipe();
    ClusterSpec spec = new ClusterSpec().datanodes(3).nodemanagers(2).memoryMb(2560).vcores(4).stock(stock)
        .site("yarn.app.mapreduce.am.command-opts", "-Xmx384m " + JobRunner.SHORT_LIVED)
        .site("mapreduce.map.memory.mb", "768")
        .site("mapreduce.map.java.opts", "-Xmx512m -XX:+UseSerialGC")
        .site("mapreduce.reduce.memory.mb", "1024")
        .site("mapreduce.reduce.java.opts", "-Xmx768m -XX:+UseSerialGC")
        // A whole block of records and their index: one spill a map.
        .site("mapreduce.task.io.sort.mb", "200")
        .site("spark.executor.extraJavaOptions", "-XX:+UseSerialGC")
        .site("spark.yarn.am.extraJavaOptions", JobRunner.SHORT_LIVED)
        .site("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
    site.forEach(spec::site);
    cluster.start(tree, spec, new EnumMap<>(PortKind.class), progress, 300);
  }

  /** In every case but a kill: the table, the report, and no daemon left. */
  private void end(Cluster cluster, long bytes) throws IOException {
    report.total(progress.seconds());
    Path json = dir.resolve("demo.json");
    report.write(json, bytes);
    if (keep && cluster.dir().exists() && !cluster.running().isEmpty()) {
      progress.say("the cluster is left running; stop it with: howdah cluster stop --dir "
          + Shell.quote(cluster.dir().root().toString()));
    } else {
      stop(cluster);
    }
    System.out.println();
    System.out.print(report);
    System.out.printf("%n%s in %.0f s; report: %s%n",
        report.passed() ? "Every check held" : "NOT every check held", progress.seconds(), json);
  }

  private void stop(Cluster cluster) {
    if (cluster.dir().exists()) {
      progress.say("stopping the cluster");
      cluster.stop(progress);
      cluster.discardData();
    }
  }

  private static boolean removeHook(Thread hook) {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
      return true;
    } catch (IllegalStateException e) {
      // Interrupted: the hook stops the cluster.
      return false;
    }
  }

  private void interrupted(Cluster cluster, JobRunner jobs) {
    progress.say("interrupted");
    jobs.cancel();
    for (int attempt = 0; attempt < 300; attempt++) {
      try {
        stop(cluster);
        return;
      } catch (ClusterException e) {
        // A start that was interrupted holds the lock until it has undone itself.
        pause();
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(100);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}

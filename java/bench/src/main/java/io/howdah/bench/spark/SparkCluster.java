package io.howdah.bench.spark;

import io.howdah.bench.rpc.BenchException;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A standalone master and workers of one side, each worker for one executor. For one thread; any may close it. */
final class SparkCluster implements Closeable {
  private static final long PATIENCE_SECONDS = 600;
  static final String DRIVER = "driver";
  private static final int PAUSE_MILLIS = 100;
  private static final int SHOWN_LINES = 30;
  private static final String DRIVER_MEMORY = "1g";
  private static final String EXECUTOR_OPTIONS = "spark.executor.extraJavaOptions";
  private static final String[] TAKEN_AWAY = {"HADOOP_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_ENV_LOADED",
      "HADOOP_CLASSPATH", "CLASSPATH", "HOWDAH_OPTS", "SPARK_DIST_CLASSPATH"};

  private final SparkPlan plan;
  private final SparkSide side;
  private final int executors;
  private final Path folder;
  /** In the order of their start; what follows is guarded by this. */
  private final List<Process> daemons = new ArrayList<>();
  private boolean stopped;
  private String master;

  SparkCluster(SparkPlan plan, SparkSide side, int executors) throws IOException {
    this.plan = plan;
    this.side = side;
    this.executors = executors;
    this.folder = Files.createTempDirectory(plan.folder.toPath(), side.name + "-");
  }

  void start() throws IOException {
    daemon(Collections.emptyList(), "master", "master.Master", "--host", plan.address, "--port", "0",
        "--webui-port", "0");
    master = await("master", Pattern.compile("Starting Spark master at (spark://\\S+)"), 1).group(1);
    for (int i = 1; i <= executors; i++) {
      daemon(plan.bindingOf(i, executors), "worker" + i, "worker.Worker", "--host", plan.address,
          "--webui-port", "0", "-c", "" + plan.coresOfEach(executors), "-m", plan.memoryOfEach(executors) + "m",
          "-d", work(i).toString(), master);
    }
    await("master", Pattern.compile("Registering worker"), executors);
  }

  private Path work(int number) {
    return folder.resolve("work" + number);
  }

  private Path log(String name) {
    return folder.resolve(name + ".log");
  }

  private void daemon(List<String> binding, String name, String main, String... arguments) throws IOException {
    List<String> words = new ArrayList<>(binding);
    words.addAll(Arrays.asList(side.command("spark-class"), "org.apache.spark.deploy." + main));
    words.addAll(Arrays.asList(arguments));
    launch(process(words, log(name).toFile()));
  }

  /** Nothing starts behind the back of whoever stops the cluster. */
  private synchronized Process launch(ProcessBuilder builder) throws IOException {
    if (stopped) {
      throw new BenchException("the benchmark was interrupted");
    }
    Process process = builder.start();
    daemons.add(process);
    return process;
  }

  private ProcessBuilder process(List<String> words, File log) {
    ProcessBuilder builder = new ProcessBuilder(words).redirectInput(new File("/dev/null"));
    builder.redirectError(log).redirectOutput(log);
    for (String variable : TAKEN_AWAY) {
      builder.environment().remove(variable); // the tree's own scripts set them
    }
    builder.environment().put("SPARK_LOCAL_IP", plan.address);
    builder.environment().put("SPARK_LOCAL_DIRS", folder.resolve("local").toString());
    return builder;
  }

  private Matcher await(String name, Pattern what, int count) throws IOException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    while (System.nanoTime() - end < 0) {
      String text = new String(Files.readAllBytes(log(name)), StandardCharsets.UTF_8);
      Matcher matcher = what.matcher(text);
      for (int i = 1; matcher.find(); i++) {
        if (i == count) {
          return matcher;
        }
      }
      pause();
    }
    throw new BenchException(side + "'s " + name + " does not say '" + what + "' " + count + " times within "
        + PATIENCE_SECONDS + " s; its last words:\n" + lastWords(name));
  }

  private static void pause() {
    try {
      Thread.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BenchException("interrupted", e);
    }
  }

  /** Of a process, and where there is more. */
  String lastWords(String name) throws IOException {
    Path log = log(name);
    List<String> lines = new ArrayList<>(Files.readAllLines(log, StandardCharsets.UTF_8));
    lines.add("all of it: " + log);
    return String.join("\n", lines.subList(Math.max(0, lines.size() - SHOWN_LINES), lines.size()));
  }

  /** Starts the application that runs the jobs; it is there as long as the cluster. */
  SparkApplication application() throws IOException {
    List<String> words = new ArrayList<>(Arrays.asList(side.command("spark-submit"), "--master", master,
        "--executor-memory", plan.memoryOfEach(executors) + "m", "--driver-memory", DRIVER_MEMORY,
        "--class", SparkApplication.MAIN));
    List<String> settings = new ArrayList<>();
    settings.add(EXECUTOR_OPTIONS + "=" + wholeHeap());
    settings.addAll(plan.settings); // of two the latter holds
    settings.addAll(side.settings);
    settings.addAll(Arrays.asList("spark.ui.enabled=false", "spark.scheduler.minRegisteredResourcesRatio=1.0",
        "spark.driver.host=" + plan.address));
    settings.forEach(setting -> words.addAll(Arrays.asList("--conf", setting)));
    words.add(plan.examples.getPath());
    words.add("" + executors);
    words.addAll(plan.arguments());
    Process driver = launch(process(words, log(DRIVER).toFile()).redirectInput(ProcessBuilder.Redirect.PIPE)
        .redirectOutput(ProcessBuilder.Redirect.PIPE));
    SparkApplication application = new SparkApplication(this, driver);
    application.await();
    return application;
  }

  /**
   * All of the heap is there before a job runs. Else it grows while jobs run, on a virtual machine into memory that the
   * host must find first, and on the side that started first for longer.
   */
  private String wholeHeap() {
    return "-Xms" + plan.memoryOfEach(executors) + "m -XX:+AlwaysPreTouch";
  }

  /** Ends the processes, which end those that they started. */
  void stop() {
    List<Process> all;
    synchronized (this) {
      stopped = true;
      all = new ArrayList<>(daemons);
    }
    for (int i = all.size() - 1; i >= 0; i--) {
      all.get(i).destroy();
    }
    for (Process daemon : all) {
      try {
        if (!daemon.waitFor(20, TimeUnit.SECONDS)) {
          daemon.destroyForcibly().waitFor();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  Path folder() {
    return folder;
  }

  /** The same, and removes what they left; executors may be removing it as well. */
  @Override
  public void close() throws IOException {
    stop();
    Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
        Files.deleteIfExists(file);
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult visitFileFailed(Path file, IOException failure) throws IOException {
        if (failure instanceof NoSuchFileException) {
          return FileVisitResult.CONTINUE;
        }
        throw failure;
      }

      @Override
      public FileVisitResult postVisitDirectory(Path emptied, IOException failure) throws IOException {
        Files.deleteIfExists(emptied);
        return FileVisitResult.CONTINUE;
      }
    });
  }
}

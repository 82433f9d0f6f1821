package io.howdah.bench.spark;

import io.howdah.bench.rpc.BenchException;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A standalone master and workers of one side, each worker for one executor. For one thread; closed by any. */
final class SparkCluster implements Closeable {
  private static final long PATIENCE_SECONDS = 120;
  /** A job that takes longer than this hangs. */
  private static final long JOB_HOURS = 6;
  private static final int PAUSE_MILLIS = 100;
  private static final int SHOWN_LINES = 30;
  /** In an executor's working folder. */
  private static final String SUMS = "blocks.log";
  private static final Pattern SECONDS = Pattern.compile("([0-9.]+) s\\s*$");
  private static final Pattern APPLICATION = Pattern.compile("with app ID (app-[-0-9]+)");
  private static final String[] TAKEN_AWAY = {"HADOOP_HOME", "SPARK_HOME", "SPARK_CONF_DIR", "SPARK_ENV_LOADED",
      "HADOOP_CLASSPATH", "CLASSPATH", "HOWDAH_OPTS", "SPARK_DIST_CLASSPATH"};

  private final SparkPlan plan;
  private final SparkSide side;
  private final int executors;
  private final Path folder;
  private final List<Process> daemons = new ArrayList<>();
  private String master;
  private int jobs;

  SparkCluster(SparkPlan plan, SparkSide side, int executors) throws IOException {
    this.plan = plan;
    this.side = side;
    this.executors = executors;
    this.folder = Files.createTempDirectory(plan.folder.toPath(), side.name + "-");
  }

  void start() throws IOException {
    daemon("master", "master.Master", "--host", plan.address, "--port", "0", "--webui-port", "0");
    master = await("master", Pattern.compile("Starting Spark master at (spark://\\S+)"), 1).group(1);
    for (int i = 1; i <= executors; i++) {
      daemon("worker" + i, "worker.Worker", "--host", plan.address, "--webui-port", "0",
          "-c", "" + plan.coresOfEach(executors), "-m", plan.memoryOfEach(executors) + "m",
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

  private void daemon(String name, String main, String... arguments) throws IOException {
    List<String> words = new ArrayList<>(Arrays.asList(side.command("spark-class"), "org.apache.spark.deploy." + main));
    words.addAll(Arrays.asList(arguments));
    daemons.add(process(words, log(name).toFile()).start());
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
        + PATIENCE_SECONDS + " s; its last words:\n" + lastWords(log(name)));
  }

  private static void pause() {
    try {
      Thread.sleep(PAUSE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BenchException("interrupted", e);
    }
  }

  private static String lastWords(Path log) throws IOException {
    List<String> lines = Files.readAllLines(log, StandardCharsets.UTF_8);
    return String.join("\n", lines.subList(Math.max(0, lines.size() - SHOWN_LINES), lines.size()));
  }

  /** Runs a job and adds what was seen. */
  void run(List<String> arguments, SparkSample sample) throws IOException {
    String name = "job" + ++jobs;
    Path events = Files.createDirectory(folder.resolve(name + "-events"));
    List<String> words = new ArrayList<>(Arrays.asList(side.command("spark-submit"), "--master", master,
        "--executor-memory", plan.memoryOfEach(executors) + "m", "--class",
        "io.howdah.examples.spark." + sample.job + "Test"));
    List<String> settings = new ArrayList<>(plan.settings);
    settings.addAll(side.settings);
    settings.addAll(Arrays.asList("spark.ui.enabled=false", "spark.eventLog.enabled=true",
        "spark.eventLog.dir=" + events.toUri(), "spark.executor.extraJavaOptions=-Dlog4j.configuration=" + logging()));
    settings.forEach(setting -> words.addAll(Arrays.asList("--conf", setting)));
    words.add(plan.examples.getPath());
    words.addAll(arguments);
    String output = submit(words, name, sample);
    Matcher seconds = SECONDS.matcher(output);
    if (!seconds.find()) {
      throw new BenchException(sample + " does not say how long it took: " + output);
    }
    sample.values.put("seconds", Double.valueOf(seconds.group(1)));
    try (DirectoryStream<Path> logs = Files.newDirectoryStream(events)) {
      for (Path log : logs) {
        sample.tasks(log);
      }
    }
    sums(name, sample);
  }

  /** Spark's logging, and our classes' in a file: a worker stops copying its executors' output as it ends them. */
  private String logging() throws IOException {
    Path file = folder.resolve("log4j.properties");
    List<String> lines = new ArrayList<>(Files.readAllLines(side.tree.toPath().resolve("etc/spark/log4j.properties")));
    lines.addAll(Arrays.asList("log4j.logger.io.howdah.spark=INFO, sums",
        "log4j.appender.sums=org.apache.log4j.FileAppender", "log4j.appender.sums.File=" + SUMS,
        "log4j.appender.sums.layout=org.apache.log4j.PatternLayout",
        "log4j.appender.sums.layout.ConversionPattern=%m%n"));
    Files.write(file, lines);
    return file.toUri().toString();
  }

  private String submit(List<String> words, String name, SparkSample sample) throws IOException {
    Path out = folder.resolve(name + ".out");
    Process job = process(words, log(name).toFile()).redirectOutput(out.toFile()).start();
    daemons.add(job);
    try {
      if (!job.waitFor(JOB_HOURS, TimeUnit.HOURS) || job.exitValue() != 0) {
        throw new BenchException(sample + " failed; the last words of " + log(name) + ":\n" + lastWords(log(name)));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new BenchException("interrupted", e);
    } finally {
      daemons.remove(job);
    }
    return new String(Files.readAllBytes(out), StandardCharsets.UTF_8);
  }

  /** What the executors' own counters say; only those that were asked for the engine have any. */
  private void sums(String name, SparkSample sample) throws IOException {
    Matcher application = APPLICATION.matcher(new String(Files.readAllBytes(log(name)), StandardCharsets.UTF_8));
    if (!application.find()) {
      throw new BenchException(sample + ": " + log(name) + " names no application; Spark has to log at INFO");
    }
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
    List<String> lines = executorLines(application.group(1));
    while (side.counted && SparkSample.sums(lines) < executors && System.nanoTime() - end < 0) {
      pause();
      lines = executorLines(application.group(1));
    }
    lines.forEach(sample::sum);
    if (side.forced && (sample.value("engineBlocks") == 0 || sample.value("nettyBlocks") > 0)) {
      throw new BenchException(String.format("%s: %.0f blocks came over the engine and %.0f over Netty, although the "
          + "transport was forced; see %s", sample, sample.value("engineBlocks"), sample.value("nettyBlocks"), folder));
    }
  }

  private List<String> executorLines(String application) throws IOException {
    List<String> lines = new ArrayList<>();
    for (int i = 1; i <= executors; i++) {
      Path of = work(i).resolve(application);
      if (Files.isDirectory(of)) {
        try (DirectoryStream<Path> each = Files.newDirectoryStream(of)) {
          for (Path executor : each) {
            Path log = executor.resolve(SUMS);
            lines.addAll(Files.exists(log) ? Files.readAllLines(log, StandardCharsets.UTF_8) : new ArrayList<>());
          }
        }
      }
    }
    return lines;
  }

  /** Ends the processes, which end those that they started. */
  void stop() {
    List<Process> all = new ArrayList<>(daemons);
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

package io.howdah.cluster;

import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The demo's jobs, in order, and what each is checked against: the sort against the checksum of what was generated,
 * counts against coreutils, Spark against MapReduce.
 */
final class Demo {
  private static final String ROOT = "/demo";
  private static final int REDUCERS = 2;

  private final Tree tree;
  private final JobRunner jobs;
  private final DemoReport report;
  private final Progress progress;
  private final Path work;
  private final Path corpus;
  private final long rows;
  private String sum = "";
  private String counts = "";
  private String current = "";
  private double begun;
  private double processorBefore;

  /**
   * The jobs on a running cluster.
   *
   * @param work folder for what is fetched from the cluster
   * @param corpus file or folder of UTF-8 text
   * @param size bytes to sort, of which each row takes 100
   */
  Demo(Tree tree, JobRunner jobs, DemoReport report, Progress progress, Path work, Path corpus, long size) {
    this.tree = tree;
    this.jobs = jobs;
    this.report = report;
    this.progress = progress;
    this.work = work;
    this.corpus = corpus;
    this.rows = Math.max(1, size / 100);
  }

  void run() throws IOException {
    try {
      runAll();
    } catch (IOException | RuntimeException e) {
      report.add(current, "", progress.seconds() - begun, 0, "did not finish", false);
      throw e;
    }
  }

  private void runAll() throws IOException {
    teraGen();
    teraSort();
    teraValidate();
    upload();
    wordCount();
    sparkGroupByKey();
    sparkSortByKey();
    fsck();
  }

  private void begin(String name, String format, Object... arguments) {
    progress.say("%s: " + format, prepend(name, arguments));
    current = name;
    processorBefore = jobs.processorSeconds();
    begun = progress.seconds();
  }

  private static Object[] prepend(String name, Object... arguments) {
    List<Object> all = new ArrayList<>(Arrays.asList(arguments));
    all.add(0, name);
    return all.toArray();
  }

  private void end(String name, String input, String check, boolean ok) {
    double took = progress.seconds() - begun;
    report.add(name, input, took, jobs.processorSeconds() - processorBefore, check, ok);
    progress.say("%s: %s: %s (%.1f s)", name, ok ? "ok" : "FAILED", check, took);
  }

  private List<String> example(String... arguments) {
    List<String> line = new ArrayList<>(Arrays.asList("jar",
        tree.jar("share/hadoop/mapreduce", "hadoop-mapreduce-examples-*.jar").toString()));
    line.addAll(Arrays.asList(arguments));
    return line;
  }

  private String amount() {
    return Sizes.format(rows * 100);
  }

  /** With little to sort a task is little but the start of its JVM. */
  private int maps() {
    return rows * 100 < 64 << 20 ? 2 : 4;
  }

  private void teraGen() throws IOException {
    begin("TeraGen", "%d rows of 100 bytes", rows);
    jobs.run("teragen", "hadoop",
        example("teragen", "-Dmapreduce.job.maps=" + maps(), Long.toString(rows), ROOT + "/random"));
    Matcher counter = find(jobs.log("teragen"), "\\bCHECKSUM=(-?\\d+)");
    sum = Long.toHexString(Long.parseLong(counter.group(1)));
    Matcher written = find(jobs.log("teragen"), "Map output records=(\\d+)");
    end("TeraGen", rows + " rows", amount() + " written, checksum " + sum,
        Long.parseLong(written.group(1)) == rows);
  }

  private void teraSort() throws IOException {
    begin("TeraSort", "%s with %d reducers", amount(), REDUCERS);
    jobs.run("terasort", "hadoop",
        example("terasort", "-Dmapreduce.job.reduces=" + REDUCERS, ROOT + "/random", ROOT + "/sorted"));
    Matcher written = find(jobs.log("terasort"), "Reduce output records=(\\d+)");
    end("TeraSort", amount(), written.group(1) + " rows sorted", Long.parseLong(written.group(1)) == rows);
  }

  private void teraValidate() throws IOException {
    begin("TeraValidate", "order and checksum");
    jobs.run("teravalidate", "hadoop", example("teravalidate", ROOT + "/sorted", ROOT + "/validated"));
    String result = fetch("validated", ROOT + "/validated/part-r-*").trim();
    // A row in the wrong place makes a line "error"; else there is just the checksum.
    boolean ok = result.matches("checksum\\s+[0-9a-f]+") && low(result.replaceAll("checksum\\s+", "")).equals(sum);
    end("TeraValidate", amount(), ok ? "in order, checksum as generated" : "unlike " + sum + ": " + result, ok);
  }

  /** The low 64 bits, which is what TeraGen's counter holds, without leading zeros. */
  private static String low(String hex) {
    return Long.toHexString(new BigInteger(hex, 16).longValue());
  }

  private void upload() throws IOException {
    List<Path> files = TokenCount.files(corpus);
    long bytes = bytes(files);
    begin("put", "%s of text in %d files", Sizes.format(bytes), files.size());
    // Links under numbers: files of one name in different folders would collide. hdfs dfs -put takes no path that has a
    // space, so it is given one relative to the folder of logs, where it runs.
    Path staged = work.resolve("text");
    ClusterDir.delete(staged);
    Files.createDirectories(staged);
    for (int i = 0; i < files.size(); i++) {
      Files.createSymbolicLink(staged.resolve(Integer.toString(i)), files.get(i));
    }
    jobs.run("put", "hdfs", Arrays.asList("dfs", "-put", "../scratch/text", ROOT));
    TokenCount.count(files, work.resolve("coreutils.txt"));
    counts = TokenCount.digest(work.resolve("coreutils.txt"));
  }

  private static long bytes(List<Path> files) throws IOException {
    long bytes = 0;
    for (Path file : files) {
      bytes += Files.size(file);
    }
    return bytes;
  }

  private void wordCount() throws IOException {
    begin("WordCount", "%s", corpus.getFileName());
    jobs.run("wordcount", "hadoop",
        example("wordcount", "-Dmapreduce.job.reduces=" + REDUCERS, ROOT + "/text", ROOT + "/words"));
    checkCounts("WordCount", "words", "coreutils");
  }

  private void sparkGroupByKey() throws IOException {
    begin("Spark groupByKey", "the same text");
    jobs.run("spark-groupbykey", "spark-submit",
        spark("TokenGroups", ROOT + "/text", ROOT + "/groups", Integer.toString(2 * REDUCERS)));
    checkCounts("Spark groupByKey", "groups", "WordCount and coreutils");
  }

  private void checkCounts(String job, String folder, String judge) throws IOException {
    Path fetched = work.resolve(folder + ".fetched");
    fetch(folder + ".fetched", ROOT + "/" + folder + "/part-*");
    Path sorted = work.resolve(folder + ".txt");
    TokenCount.sort(fetched, sorted);
    boolean ok = TokenCount.digest(sorted).equals(counts);
    long[] totals = TokenCount.totals(sorted);
    end(job, Sizes.format(bytes(TokenCount.files(corpus))) + " of text",
        totals[0] + " different of " + totals[1] + " tokens, "
        + (ok ? "as " : "unlike ") + judge + (ok ? " count" : ": compare " + sorted + " with coreutils.txt"), ok);
  }

  private void sparkSortByKey() throws IOException {
    begin("Spark sortByKey", "%s that TeraSort has sorted", amount());
    int partitions = (int) Math.max(4, Math.min(4096, rows * 100 / (64 << 20)));
    jobs.run("spark-sortbykey", "spark-submit",
        spark("RecordSort", ROOT + "/random", ROOT + "/sortbykey", Integer.toString(partitions)));
    String result = fetch("sortbykey.fetched", ROOT + "/sortbykey").trim();
    String expected = "records " + rows + " inOrder true checksum " + sum;
    Matcher found = Pattern.compile("(records \\d+ inOrder \\w+ checksum )([0-9a-f]+)").matcher(result);
    boolean ok = found.matches() && (found.group(1) + low(found.group(2))).equals(expected);
    end("Spark sortByKey", amount(), ok ? rows + " rows in order, checksum as TeraSort's" : "not " + expected + ": "
        + result, ok);
  }

  private List<String> spark(String program, String... arguments) {
    List<String> line = new ArrayList<>(Arrays.asList("--master", "yarn", "--deploy-mode", "client",
        "--num-executors", "2", "--executor-cores", "1", "--executor-memory", "800m", "--driver-memory", "640m",
        "--driver-java-options", JobRunner.SHORT_LIVED,
        "--conf", "spark.ui.enabled=false", "--class", "io.howdah.examples.spark." + program,
        tree.jar("share/howdah", "howdah-examples-*.jar").toString()));
    line.addAll(Arrays.asList(arguments));
    return line;
  }

  private void fsck() throws IOException {
    begin("fsck", "every block of every file");
    jobs.run("fsck", "hdfs", Arrays.asList("fsck", "/"));
    String said = text(jobs.log("fsck"));
    Matcher blocks = Pattern.compile("Total blocks \\(validated\\):\\s+(\\d+)").matcher(said);
    boolean ok = said.contains("is HEALTHY") && blocks.find();
    end("fsck", ok ? blocks.group(1) + " blocks" : "/", ok ? "HEALTHY" : "not HEALTHY: see " + jobs.log("fsck"), ok);
  }

  private String fetch(String name, String from) throws IOException {
    Path to = work.resolve(name);
    jobs.capture("fetch-" + name, to, "hdfs", "dfs", "-cat", from);
    return Files.size(to) > 1 << 16 ? "" : text(to);
  }

  private static Matcher find(Path log, String pattern) throws IOException {
    Matcher matcher = Pattern.compile(pattern).matcher(text(log));
    if (!matcher.find()) {
      throw new ClusterException("the job's output does not say " + pattern + ": " + log);
    }
    return matcher;
  }

  private static String text(Path file) throws IOException {
    return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
  }
}

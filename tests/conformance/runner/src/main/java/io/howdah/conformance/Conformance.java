package io.howdah.conformance;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Runs upstream's published test classes against the jars of a tree: one JVM a class, two at once, what fails once more
 * alone at the end. Exit status: 0 when nothing failed that stock jars pass, 1 otherwise, 2 for a mistake in the call
 * or in a list.
 */
public final class Conformance {
  private final Setup setup;
  private final List<Task> tasks;
  private final Set<ClassRun> running = ConcurrentHashMap.newKeySet();
  private final List<ClassResult> results = Collections.synchronizedList(new ArrayList<>());
  private volatile boolean stopping;
  private int finished;

  private Conformance(Setup setup, List<Task> tasks) {
    this.setup = setup;
    this.tasks = tasks;
  }

  /** What all runs share. */
  static final class Setup {
    final Path sources = folder("conformance.sources");
    final Path build = folder("conformance.build");
    final Path reports = folder("conformance.reports");
    final Path tree = folder("conformance.tree");
    final Path testClasses = folder("conformance.classes");
    final Path work = reports.resolve("work");
    /** Stock jars have no engine: what is about it makes no sense there. */
    final boolean stock = Boolean.getBoolean("conformance.stock");
    final String java = System.getProperty("conformance.java.home") + "/bin/java";
    final List<String> javaOptions = new ArrayList<>();
    final Map<Suite, String> classPaths = new EnumMap<>(Suite.class);
    boolean slow;
    boolean keepLogs;
    boolean writeBaseline;
    int lanes = 2;

    private static Path folder(String property) {
      String value = System.getProperty(property);
      if (value == null) {
        throw new UsageException("the property " + property + " is missing: run this through ci/conformance");
      }
      return Paths.get(value).toAbsolutePath();
    }

    String classPath(Suite suite) {
      return classPaths.get(suite);
    }

    Path report(Suite suite, ClassList.Entry entry, String ending) {
      return reports.resolve(suite.label).resolve("TEST-" + entry.name + ending);
    }
  }

  private static final class Task {
    final Suite suite;
    final ClassList.Entry entry;

    Task(Suite suite, ClassList.Entry entry) {
      this.suite = suite;
      this.entry = entry;
    }
  }

  public static void main(String[] args) throws Exception {
    int status;
    try {
      Setup setup = new Setup();
      List<Task> tasks = choose(args, setup);
      status = new Conformance(setup, tasks).runAll();
    } catch (UsageException e) {
      System.err.println("[conformance] error: " + e.getMessage());
      status = 2;
    }
    System.exit(status);
  }

  private static List<Task> choose(String[] args, Setup setup) throws IOException {
    List<Suite> suites = new ArrayList<>(Arrays.asList(Suite.values()));
    List<String> wanted = new ArrayList<>();
    Deque<String> words = new ArrayDeque<>(Arrays.asList(args));
    while (!words.isEmpty()) {
      String word = words.pop();
      switch (word) {
        case "--suite":
          suites = suites(value(word, words));
          break;
        case "--class":
          wanted.add(value(word, words));
          break;
        case "--slow":
          setup.slow = true;
          break;
        case "--keep-logs":
          setup.keepLogs = true;
          break;
        case "--write-baseline":
          setup.writeBaseline = true;
          break;
        case "--lanes":
          setup.lanes = number(word, value(word, words));
          break;
        case "--java-option":
          setup.javaOptions.add(value(word, words));
          break;
        default:
          throw new UsageException("unknown option " + word + " (ci/conformance --help)");
      }
    }
    return tasks(setup, possible(setup, suites), wanted);
  }

  private static String value(String option, Deque<String> words) {
    if (words.isEmpty()) {
      throw new UsageException(option + " needs a value");
    }
    return words.pop();
  }

  private static int number(String option, String value) {
    if (!value.matches("[1-9]|[1-5]\\d|6[0-4]")) {
      throw new UsageException(option + " " + value + ": a number from 1 to 64 was expected");
    }
    return Integer.parseInt(value);
  }

  private static List<Suite> suites(String name) {
    if (name.equals("all")) {
      return Arrays.asList(Suite.values());
    }
    for (Suite suite : Suite.values()) {
      if (suite.label.equals(name)) {
        return Collections.singletonList(suite);
      }
    }
    throw new UsageException("--suite " + name + ": hadoop, rpc-forced, hdfs-forced, shuffle-forced,"
        + " spark or all was expected");
  }

  private static List<Suite> possible(Setup setup, List<Suite> suites) {
    List<Suite> some = suites.stream().filter(s -> !setup.stock || s == s.base()).collect(Collectors.toList());
    if (some.isEmpty()) {
      throw new UsageException("--suite " + suites.get(0).label + ": stock jars have no engine");
    }
    return some;
  }

  private static List<Task> tasks(Setup setup, List<Suite> suites, List<String> wanted) throws IOException {
    List<Task> tasks = new ArrayList<>();
    for (Suite suite : suites) {
      setup.classPaths.put(suite, suite.classPath(setup.sources, setup.build, setup.tree, setup.testClasses).stream()
          .map(Path::toString).collect(Collectors.joining(File.pathSeparator)));
      for (ClassList.Entry entry : ClassList.read(setup.sources.resolve(suite.label + ".list"))) {
        if (wanted.isEmpty() ? entry.quick || setup.slow : wanted.stream().anyMatch(w -> named(entry.name, w))) {
          tasks.add(new Task(suite, entry));
        }
      }
    }
    for (String want : wanted) {
      if (tasks.stream().noneMatch(t -> named(t.entry.name, want))) {
        throw new UsageException("--class " + want + ": no listed class has this name");
      }
    }
    return tasks;
  }

  /** The full name, or the end of it after a dot. */
  private static boolean named(String name, String wanted) {
    return name.equals(wanted) || name.endsWith('.' + wanted);
  }

  private int runAll() throws Exception {
    long start = System.nanoTime();
    ClassRun.delete(setup.work);
    for (Suite suite : setup.classPaths.keySet()) {
      Files.createDirectories(setup.reports.resolve(suite.label));
    }
    Runtime.getRuntime().addShutdownHook(new Thread(this::stop));
    say("%d classes of %s, %d at once", tasks.size(), setup.tree, setup.lanes);
    runAtOnce(tasks.stream().filter(t -> !t.entry.serial).collect(Collectors.toList()), setup.lanes);
    runAtOnce(tasks.stream().filter(t -> t.entry.serial).collect(Collectors.toList()), 1);
    retry();
    ClassRun.delete(setup.work);
    Baseline baseline = new Baseline(setup.sources.resolve("BASELINE.md"));
    boolean good = Summary.print(results, baseline, setup, (System.nanoTime() - start) / 1e9);
    if (setup.writeBaseline) {
      baseline.update(results);
    }
    return good ? 0 : 1;
  }

  /** Longest first, so that the lanes end together. */
  private void runAtOnce(Collection<Task> some, int lanes) throws InterruptedException {
    Deque<Task> queue = new ArrayDeque<>(some.stream()
        .sorted(Comparator.comparingInt((Task t) -> -t.entry.seconds)).collect(Collectors.toList()));
    List<Thread> threads = new ArrayList<>();
    List<Throwable> broken = Collections.synchronizedList(new ArrayList<>());
    for (int i = 0; i < lanes; i++) {
      Thread lane = new Thread(() -> {
        try {
          for (Task task = take(queue); task != null && !stopping; task = take(queue)) {
            runOne(task);
          }
        } catch (IOException | InterruptedException | RuntimeException e) {
          broken.add(e);
        }
      }, "lane-" + i);
      threads.add(lane);
      lane.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (!broken.isEmpty()) {
      throw new IllegalStateException("the runner itself failed", broken.get(0));
    }
  }

  private static Task take(Deque<Task> queue) {
    synchronized (queue) {
      return queue.poll();
    }
  }

  private void runOne(Task task) throws IOException, InterruptedException {
    long start = System.nanoTime();
    ClassRun.Told told = launch(task.suite, task.entry, Collections.emptyList(), ".log");
    ClassResult result = new ClassResult(task.suite, task.entry, told, (System.nanoTime() - start) / 1e9);
    if (stopping) {
      return;
    }
    results.add(result);
    JUnitXml.write(result, setup.report(task.suite, task.entry, ".xml"));
    if (result.failed().isEmpty() && !setup.keepLogs) {
      Files.deleteIfExists(setup.report(task.suite, task.entry, ".log"));
    }
    tell(result);
  }

  private synchronized void tell(ClassResult result) {
    finished++;
    say("%3d/%d %-4s %s  %d passed, %d failed, %d skipped%s  %.0f s", finished, tasks.size(),
        result.failed().isEmpty() ? "ok" : "FAIL", result.entry.name, result.passed(), result.count(Outcome.Kind.FAILED),
        result.count(Outcome.Kind.SKIPPED),
        result.count(Outcome.Kind.KNOWN) == 0 ? "" : ", " + result.count(Outcome.Kind.KNOWN) + " known", result.seconds);
  }

  /** What failed runs once more in a new JVM, with nothing beside it; a pass then is told as flaky, not hidden. */
  private void retry() throws IOException, InterruptedException {
    for (ClassResult result : new ArrayList<>(results)) {
      List<String> failed = result.failed();
      failed.remove(ClassRun.ENGINE);
      if (failed.isEmpty() || stopping) {
        continue;
      }
      boolean whole = !result.complete || failed.contains(ClassRun.WHOLE_CLASS);
      say("once more: %s, %s", result.entry.name, whole ? "all of it" : failed.size() + " tests");
      result.merge(launch(result.suite, result.entry, whole ? Collections.emptyList() : failed, ".again.log"));
      JUnitXml.write(result, setup.report(result.suite, result.entry, ".xml"));
    }
  }

  private ClassRun.Told launch(Suite suite, ClassList.Entry entry, List<String> only, String ending)
      throws IOException, InterruptedException {
    ClassRun run = new ClassRun(setup, suite, entry);
    running.add(run);
    try {
      return run.run(only, setup.report(suite, entry, ending));
    } finally {
      running.remove(run);
    }
  }

  private void stop() {
    stopping = true;
    running.forEach(ClassRun::kill);
    try {
      ClassRun.delete(setup.work);
    } catch (IOException e) {
      System.err.println("[conformance] could not delete " + setup.work + ": " + e);
    }
  }

  static void say(String format, Object... args) {
    System.out.println("[conformance] " + String.format(format, args));
    System.out.flush();
  }
}

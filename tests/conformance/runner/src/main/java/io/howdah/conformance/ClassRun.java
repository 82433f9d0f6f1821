package io.howdah.conformance;

import io.howdah.conformance.harness.EngineCheck;
import io.howdah.conformance.harness.Events;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** One test class in a JVM, a work folder and a process tree of its own. Nothing of these is left when it returns. */
final class ClassRun {
  static final String WHOLE_CLASS = "(class)";
  /** What the harness adds to a class of a suite that forces RPC over the engine: did it go there? */
  static final String ENGINE = EngineCheck.NAME;
  private static final long DUMP_SECONDS = 3;

  private final Conformance.Setup setup;
  private final Suite suite;
  private final ClassList.Entry entry;
  private final String mark = UUID.randomUUID().toString();

  ClassRun(Conformance.Setup setup, Suite suite, ClassList.Entry entry) {
    this.setup = setup;
    this.suite = suite;
    this.entry = entry;
  }

  /** What one run of a class told, and whether the class came to its end. */
  static final class Told {
    final Map<String, Outcome> outcomes = new LinkedHashMap<>();
    boolean complete;
  }

  /** Runs the class, or only the named tests of it; output goes to the log. */
  Told run(Collection<String> only, Path log) throws IOException, InterruptedException {
    Path work = Files.createDirectories(setup.work.resolve(mark.substring(0, 8)));
    // Not below the work folder: tests make sockets there, whose paths may have 107 bytes.
    Path tmp = Files.createTempDirectory("hc");
    try {
      for (String folder : new String[] {"test/data", "log", "run"}) {
        Files.createDirectories(work.resolve(folder));
      }
      Path events = work.resolve("events");
      String end = launch(command(work, tmp, events, only), work, log);
      Told told = read(events, end);
      if (told.outcomes.isEmpty()) {
        told.outcomes.put(WHOLE_CLASS, new Outcome(WHOLE_CLASS, Outcome.Kind.FAILED, "ran no test", ""));
      }
      return told;
    } finally {
      ProcessTree.kill(mark);
      delete(work);
      delete(tmp);
    }
  }

  private List<String> command(Path work, Path tmp, Path events, Collection<String> only) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(setup.java);
    command.add("-Xmx" + entry.heapMb + "m");
    // A class lives for seconds: what is compiled once, and quickly, costs a third less of the processors than what is made fast.
    command.add("-XX:TieredStopAtLevel=1");
    command.add("-XX:+UseSerialGC");
    // Killed JVMs would leave their performance files in /tmp.
    command.add("-XX:-UsePerfData");
    command.add("-Djava.io.tmpdir=" + tmp);
    command.add("-Djava.awt.headless=true");
    command.add("-Djava.net.preferIPv4Stack=true");
    command.add("-Djava.security.egd=file:///dev/urandom");
    command.add("-Djava.security.krb5.conf=" + setup.sources.resolve("hadoop/resources/krb5.conf"));
    Path nativeLibraries = setup.tree.resolve("lib/native");
    if (Files.isDirectory(nativeLibraries)) {
      command.add("-Djava.library.path=" + nativeLibraries);
    }
    command.add("-Dconformance.events=" + events);
    if (!only.isEmpty()) {
      Path file = work.resolve("only");
      Files.write(file, only, StandardCharsets.UTF_8);
      command.add("-Dconformance.only=" + file);
    }
    command.addAll(suite.options(entry, work));
    command.addAll(setup.javaOptions);
    command.add("-cp");
    command.add(unpack(work) + File.pathSeparator + setup.classPath(suite));
    command.add("io.howdah.conformance.harness.Harness");
    command.add(entry.name);
    return command;
  }

  /**
   * Copies the class's own class files out of their jar into a folder at the head of the class path: tests of encryption
   * look there for a place to write their settings, and find none when they come from a jar.
   */
  private Path unpack(Path work) throws IOException {
    Path folder = Files.createDirectories(work.resolve("classes"));
    String name = entry.name.replace('.', '/');
    for (String part : setup.classPath(suite).split(File.pathSeparator)) {
      if (!part.endsWith("-tests.jar")) {
        continue;
      }
      try (JarFile jar = new JarFile(part)) {
        if (jar.getEntry(name + ".class") == null) {
          continue;
        }
        for (JarEntry file : Collections.list(jar.entries())) {
          if (file.getName().equals(name + ".class") || file.getName().startsWith(name + '$')) {
            Path target = folder.resolve(file.getName());
            Files.createDirectories(target.getParent());
            Files.copy(jar.getInputStream(file), target);
          }
        }
        return folder;
      }
    }
    return folder;
  }

  /** Returns how the JVM ended, in words: empty when by itself. */
  private String launch(List<String> command, Path work, Path log) throws IOException, InterruptedException {
    ProcessBuilder builder = new ProcessBuilder(command).directory(work.resolve("run").toFile())
        .redirectErrorStream(true).redirectOutput(log.toFile());
    Map<String, String> environment = builder.environment();
    suite.environment(environment, setup.tree, work, setup.classPath(suite));
    environment.put(ProcessTree.MARK, mark);
    environment.put("JAVA_HOME", System.getProperty("conformance.java.home"));
    environment.remove("JAVA_TOOL_OPTIONS");
    environment.remove("CLASSPATH");
    Process process = builder.start();
    if (process.waitFor(entry.limit, TimeUnit.SECONDS)) {
      return process.exitValue() == 0 ? "" : "the JVM ended with status " + process.exitValue() + " before the class was through";
    }
    // Its stacks in the log say where it hangs.
    ProcessTree.find(mark).forEach(pid -> dumpIfJava(pid));
    process.waitFor(DUMP_SECONDS, TimeUnit.SECONDS);
    ProcessTree.kill(mark);
    process.waitFor();
    return "over the limit of " + entry.limit + " s, killed; stacks are in the log";
  }

  private static void dumpIfJava(int pid) {
    try {
      File program = new File("/proc/" + pid + "/exe").getCanonicalFile();
      if (program.getName().equals("java")) {
        ProcessTree.signal(pid, "QUIT");
      }
    } catch (IOException e) {
      // gone meanwhile
    }
  }

  private static Told read(Path events, String end) throws IOException {
    Told told = new Told();
    Map<String, Outcome> outcomes = told.outcomes;
    String running = null;
    List<String> lines = Files.exists(events) ? Files.readAllLines(events, StandardCharsets.UTF_8) : new ArrayList<>();
    for (String line : lines) {
      String[] fields = line.split("\t", -1);
      for (int i = 0; i < fields.length; i++) {
        fields[i] = Events.unescape(fields[i]);
      }
      switch (fields[0]) {
        case "start":
          running = fields[1];
          break;
        case "pass":
          running = null;
          outcomes.putIfAbsent(fields[1], new Outcome(fields[1], Outcome.Kind.PASSED, "", ""));
          outcomes.get(fields[1]).seconds = Double.parseDouble(fields[2]);
          break;
        case "fail":
          running = null;
          outcomes.put(fields[1], new Outcome(fields[1], Outcome.Kind.FAILED, fields[2], fields[3]));
          break;
        case "skip":
          running = null;
          outcomes.putIfAbsent(fields[1], new Outcome(fields[1], Outcome.Kind.SKIPPED, fields[2], ""));
          break;
        case "done":
          told.complete = true;
          break;
        default:
          throw new IllegalStateException("the test JVM wrote an unknown event: " + line);
      }
    }
    if (!told.complete) {
      String test = running == null ? WHOLE_CLASS : running;
      String why = end.isEmpty() ? "the JVM ended (System.exit?) before the class was through" : end;
      outcomes.put(test, new Outcome(test, Outcome.Kind.FAILED, why, ""));
    }
    return told;
  }

  /** Ends what is running, from another thread. */
  void kill() {
    ProcessTree.kill(mark);
  }

  /** Deletes a folder and all in it, also where a test took the permissions away. Links are not followed. */
  static void delete(Path folder) throws IOException {
    if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
      @Override
      public FileVisitResult preVisitDirectory(Path entered, BasicFileAttributes attributes) {
        unlock(entered);
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
        Files.deleteIfExists(file);
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
        if (e instanceof NoSuchFileException) {
          return FileVisitResult.CONTINUE;
        }
        if (unlock(file) && Files.isDirectory(file, LinkOption.NOFOLLOW_LINKS)) {
          delete(file);
          return FileVisitResult.CONTINUE;
        }
        throw e;
      }

      @Override
      public FileVisitResult postVisitDirectory(Path left, IOException e) throws IOException {
        Files.deleteIfExists(left);
        return FileVisitResult.CONTINUE;
      }
    });
  }

  private static boolean unlock(Path path) {
    File file = path.toFile();
    return file.setReadable(true) & file.setWritable(true) & file.setExecutable(true);
  }
}

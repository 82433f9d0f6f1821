package io.howdah.conformance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The processes that a test class started, however far down. Containers of a MiniMR cluster run in sessions of their own
 * and outlive their parents, so neither process groups nor parent ids find them. The environment does: every process
 * inherits the mark that the runner gave to the test JVM. Linux only.
 */
final class ProcessTree {
  static final String MARK = "HOWDAH_CONFORMANCE_MARK";

  private ProcessTree() {
  }

  /** Ids of the running processes whose environment carries the mark. */
  static List<Integer> find(String mark) {
    List<Integer> pids = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(Paths.get("/proc"), "[0-9]*")) {
      for (Path entry : entries) {
        if (carries(entry, mark)) {
          pids.add(Integer.parseInt(entry.getFileName().toString()));
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException("/proc can't be read, so processes that tests leave can't be found", e);
    }
    return pids;
  }

  private static boolean carries(Path process, String mark) {
    try {
      String environment = new String(Files.readAllBytes(process.resolve("environ")), StandardCharsets.ISO_8859_1);
      return ('\0' + environment).contains('\0' + MARK + '=' + mark + '\0');
    } catch (IOException e) {
      // another user's, or gone meanwhile
      return false;
    }
  }

  /** Kills every process that carries the mark, until none is left. Returns how many there were. */
  static int kill(String mark) {
    int killed = 0;
    // A process may start another between the look and the kill, so one round is not enough.
    for (int round = 0; round < 50; round++) {
      List<Integer> pids = find(mark);
      if (pids.isEmpty()) {
        return killed;
      }
      killed += round == 0 ? pids.size() : 0;
      pids.forEach(pid -> signal(pid, "KILL"));
      pause();
    }
    throw new IllegalStateException("processes " + find(mark) + " can't be killed");
  }

  static void signal(int pid, String name) {
    try {
      Process kill = new ProcessBuilder("kill", "-" + name, String.valueOf(pid))
          .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(Paths.get("/dev/null").toFile())).start();
      kill.waitFor(10, TimeUnit.SECONDS);
    } catch (IOException e) {
      throw new IllegalStateException("the command kill can't be run", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
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

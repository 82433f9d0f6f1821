package io.howdah.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Optional;

/**
 * Which process a daemon is. A pid alone may have gone to somebody else since; with the start time in clock ticks and
 * the boot that the ticks count from it names one process for ever. Immutable.
 */
final class PidRecord {
  private static final Path BOOT_ID = Paths.get("/proc/sys/kernel/random/boot_id");
  private static final int STATE = 0;
  private static final int PARENT = 1;
  private static final int START_TIME = 19;
  /** Ticks in user and kernel mode, of the process and of its children that have ended and were waited for. */
  private static final int[] TICKS = {11, 12, 13, 14};
  /** On every architecture that the distribution is for. */
  private static final double TICKS_PER_SECOND = 100;

  private final long pid;
  private final long startTicks;
  private final String boot;

  PidRecord(long pid, long startTicks, String boot) {
    this.pid = pid;
    this.startTicks = startTicks;
    this.boot = boot;
  }

  /**
   * Reads the file that {@link Launcher} has a daemon write: pid, start time, boot.
   *
   * @return nothing if there is no such file, or if it is not whole (its writer died while writing, before exec)
   */
  static Optional<PidRecord> read(Path file) {
    String[] fields;
    try {
      fields = new String(Files.readAllBytes(file), StandardCharsets.US_ASCII).trim().split(" ");
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IOException e) {
      throw new ClusterException("the pid record " + file + " can't be read: " + e.getMessage());
    }
    if (fields.length != 3 || !fields[0].matches("[0-9]{1,18}") || !fields[1].matches("[0-9]{1,18}")) {
      return Optional.empty();
    }
    return Optional.of(new PidRecord(Long.parseLong(fields[0]), Long.parseLong(fields[1]), fields[2]));
  }

  /**
   * Processor seconds of a process and of all its descendants that have ended and were waited for.
   *
   * @param pid a number, or "self"
   * @return 0 if there is no such process
   */
  static double processorSeconds(String pid) {
    String[] stat = stat(pid);
    long ticks = 0;
    for (int field : TICKS) {
      ticks += stat == null ? 0 : Long.parseLong(stat[field]);
    }
    return ticks / TICKS_PER_SECOND;
  }

  /** The process with this pid as it is now, if there is one. */
  static Optional<PidRecord> of(long pid) {
    String[] stat = stat(Long.toString(pid));
    return stat == null ? Optional.empty() : Optional.of(new PidRecord(pid, Long.parseLong(stat[START_TIME]), boot()));
  }

  long pid() {
    return pid;
  }

  /** Whether the recorded process, and not another that got its pid, still runs. A zombie does not. */
  boolean isAlive() {
    String[] stat = stat(Long.toString(pid));
    return stat != null && boot.equals(boot()) && Long.parseLong(stat[START_TIME]) == startTicks
        && !"Z".equals(stat[STATE]) && !"X".equals(stat[STATE]);
  }

  /** Whether it has child processes, be they dead ones that it has not waited for. */
  boolean hasChildren() {
    String[] processes = new File("/proc").list((folder, name) -> name.matches("[0-9]+"));
    for (String process : processes == null ? new String[0] : processes) {
      String[] stat = stat(process);
      if (stat != null && stat[PARENT].equals(Long.toString(pid))) {
        return true;
      }
    }
    return false;
  }

  /**
   * Sends a signal if the recorded process still runs.
   *
   * @param signal name without SIG
   */
  void signal(String signal) {
    if (!isAlive()) {
      return;
    }
    try {
      new ProcessBuilder("kill", "-" + signal, Long.toString(pid)).redirectErrorStream(true)
          .redirectOutput(Paths.get("/dev/null").toFile()).start().waitFor();
    } catch (IOException e) {
      throw new ClusterException("the command kill can't be run: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Fields of /proc/PID/stat from the third on; the second, the name, may hold anything. */
  private static String[] stat(String pid) {
    try {
      String stat = new String(Files.readAllBytes(Paths.get("/proc/" + pid + "/stat")), StandardCharsets.ISO_8859_1);
      return stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    } catch (IOException e) {
      return null;
    }
  }

  private static String boot() {
    try {
      return new String(Files.readAllBytes(BOOT_ID), StandardCharsets.US_ASCII).trim();
    } catch (IOException e) {
      throw new ClusterException("/proc is not mounted; processes can't be told apart without it");
    }
  }
}

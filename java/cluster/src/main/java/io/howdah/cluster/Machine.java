package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** What this machine offers, as far as a limit (cgroup) lets us use it. */
final class Machine {
  private Machine() {
  }

  /** Cores that this process may use. */
  static int cores() {
    return Runtime.getRuntime().availableProcessors();
  }

  /** Memory in MB: the machine's, or the control group's limit if that is less. */
  static long memoryMb() {
    return memoryMb(Paths.get("/proc/meminfo"), Paths.get("/sys/fs/cgroup/memory.max"),
        Paths.get("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  }

  static long memoryMb(Path meminfo, Path... limits) {
    long total = 4096;
    for (String line : read(meminfo).split("\n")) {
      if (line.startsWith("MemTotal:")) {
        total = Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024;
      }
    }
    for (Path limit : limits) {
      String text = read(limit).trim();
      // "max" means no limit; version 1 writes a number near 2^63 for it.
      if (text.matches("[0-9]{1,18}")) {
        total = Math.min(total, Long.parseLong(text) >> 20);
      }
    }
    return total;
  }

  private static String read(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.US_ASCII);
    } catch (IOException e) {
      return "";
    }
  }
}

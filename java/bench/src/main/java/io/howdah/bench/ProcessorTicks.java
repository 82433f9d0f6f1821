package io.howdah.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;

/**
 * What /proc/stat says of all processors together since the system's start, in its ticks: how many there were, and how
 * many of them the host of a virtual machine gave to others while somebody here wanted them. Immutable.
 */
public final class ProcessorTicks {
  private static final Path STAT = Paths.get("/proc/stat");
  /** user, nice, system, idle, iowait, irq, softirq, steal; what guests got, behind these, is in the first two. */
  private static final int COLUMNS = 8;

  private final long stolen;
  private final long all;

  /** Of these many ticks, this many stolen. */
  public ProcessorTicks(long stolen, long all) {
    this.stolen = stolen;
    this.all = all;
  }

  /** As they are now; where there is no /proc/stat none ever pass, and so none are stolen. */
  public static ProcessorTicks now() {
    try {
      return parse(Files.readAllLines(STAT, StandardCharsets.ISO_8859_1).get(0));
    } catch (IOException e) {
      return new ProcessorTicks(0, 0);
    }
  }

  /** The line of all processors, "cpu" and its columns. */
  static ProcessorTicks parse(String line) {
    long[] ticks = Arrays.stream(line.trim().split("\\s+")).skip(1).limit(COLUMNS).mapToLong(Long::parseLong).toArray();
    return new ProcessorTicks(ticks.length == COLUMNS ? ticks[COLUMNS - 1] : 0, Arrays.stream(ticks).sum());
  }

  /** The share of the processors that was stolen between then and these, in percent: 0 to 100. */
  public double stolenSince(ProcessorTicks then) {
    long passed = all - then.all;
    return passed <= 0 ? 0 : Math.max(0, Math.min(100, 100.0 * (stolen - then.stolen) / passed));
  }
}

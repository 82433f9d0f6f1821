package io.howdah.bench.rpc;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;

/** The conditions of a measurement that are the machine's, as they were when this was made. */
public final class Machine {
  private final Map<String, Object> conditions = new LinkedHashMap<>();

  /** Looks at them. */
  public Machine() {
    conditions.put("date", Instant.now().toString());
    conditions.put("cpu", processor());
    conditions.put("cores", Runtime.getRuntime().availableProcessors());
    conditions.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    conditions.put("load_before", ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
  }

  private static String processor() {
    try {
      for (String line : Files.readAllLines(Paths.get("/proc/cpuinfo"), StandardCharsets.ISO_8859_1)) {
        if (line.matches("(model name|cpu)\\s*:.*")) {
          return line.substring(line.indexOf(':') + 1).trim();
        }
      }
      return System.getProperty("os.arch");
    } catch (IOException e) {
      return System.getProperty("os.arch") + " (" + e.getMessage() + ")";
    }
  }

  /** By name; the caller may add to them. */
  public Map<String, Object> conditions() {
    return conditions;
  }
}

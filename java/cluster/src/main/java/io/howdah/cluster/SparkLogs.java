package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What drivers and executors of Spark say at their end about the blocks that they fetched. */
final class SparkLogs {
  private static final Pattern FETCHED = Pattern.compile("Block transfer fetched (\\d+) blocks of (\\d+) bytes over "
      + "the engine .* and (\\d+) of (\\d+) bytes over Netty.*; (\\d+) sessions, \\d+ fallbacks(?:, over ([a-z]+))?");
  private static final Pattern NETTY = Pattern.compile("(?:Block transfer|Blocks of \\S+) uses? (?:Netty|sockets)"
      + "[:,] (.*)");

  private SparkLogs() {
  }

  /** Adds what the logs of all containers below a folder say. */
  static void addContainers(Path logs, Traffic traffic) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(logs)) {
      files = all.filter(file -> file.endsWith("stderr") && Files.isRegularFile(file)).collect(Collectors.toList());
    }
    for (Path file : files) {
      add(file, traffic);
    }
  }

  /** Adds what one log says. */
  static void add(Path log, Traffic traffic) throws IOException {
    boolean engine = true;
    // Logs of programs may hold any bytes.
    try (Stream<String> lines = Files.lines(log, StandardCharsets.ISO_8859_1)) {
      for (String line : (Iterable<String>) lines::iterator) {
        Matcher netty = NETTY.matcher(line);
        Matcher fetched = FETCHED.matcher(line);
        if (netty.find()) {
          engine = false;
          traffic.reason(TrafficKind.SPARK, netty.group(1), 1);
        } else if (fetched.find()) {
          String transport = fetched.group(6) == null ? "engine" : fetched.group(6);
          traffic.add(TrafficKind.SPARK, transport, number(fetched, 1), number(fetched, 2), number(fetched, 5));
          traffic.add(TrafficKind.SPARK, Traffic.SOCKETS, number(fetched, 3), number(fetched, 4), 0);
          if (engine) {
            traffic.available(TrafficKind.SPARK);
          }
        }
      }
    }
  }

  private static long number(Matcher matcher, int group) {
    return Long.parseLong(matcher.group(group));
  }
}

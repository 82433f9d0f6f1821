package io.howdah.cluster;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The end of a log. */
final class LogTail {
  private static final int MOST = 1 << 17;
  private static final int LONGEST_LINE = 400;

  private LogTail() {
  }

  /** The last lines, joined, without those of stack traces and each cut to 400 characters; empty if there is no log. */
  static String of(Path log, int lines) {
    List<String> all = lines(log).stream().filter(line -> !line.startsWith("\tat ")).map(LogTail::cut)
        .collect(Collectors.toList());
    return String.join("\n", all.subList(Math.max(0, all.size() - lines), all.size()));
  }

  /** A daemon logs its class path when it starts, which alone fills a screen. */
  private static String cut(String line) {
    return line.length() <= LONGEST_LINE ? line : line.substring(0, LONGEST_LINE) + "...";
  }

  /**
   * The line that most likely names the cause: the last "Caused by", else the last fatal or error line or exception.
   */
  static Optional<String> cause(Path log) {
    String caused = null;
    String error = null;
    for (String line : lines(log)) {
      if (line.startsWith("Caused by: ")) {
        caused = line;
      } else if (line.matches(".*( FATAL | ERROR |^Error|Exception: |Error: ).*") && !line.startsWith("\tat ")) {
        error = line;
      }
    }
    return Optional.ofNullable(caused != null ? caused : error).map(LogTail::cut);
  }

  private static List<String> lines(Path log) {
    try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
      long from = Math.max(0, file.length() - MOST);
      byte[] bytes = new byte[(int) (file.length() - from)];
      file.seek(from);
      file.readFully(bytes);
      return Arrays.asList(new String(bytes, StandardCharsets.UTF_8).split("\n"));
    } catch (IOException e) {
      return Arrays.asList(new String[0]);
    }
  }
}

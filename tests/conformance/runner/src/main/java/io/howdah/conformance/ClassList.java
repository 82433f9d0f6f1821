package io.howdah.conformance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The list of test classes of one suite. A line at the margin is a class:
 * <pre>
 * CLASS quick|slow SECONDS [serial] [offline] [sockets=N[-MOST]] [limit=SECONDS] [heap=MB]
 *   fails TEST | why it fails upstream too | what stock jars give
 *   flaky TEST | why it fails at times upstream too | what stock jars give
 * </pre>
 * SECONDS is what the class takes on stock jars; long classes start first. An indented line tells of the class above it.
 */
final class ClassList {
  /** A test that fails on stock jars too. */
  static final class Known {
    final String test;
    final boolean always;
    final String reason;
    final String stock;

    Known(String test, boolean always, String reason, String stock) {
      this.test = test;
      this.always = always;
      this.reason = reason;
      this.stock = stock;
    }
  }

  /** One test class. */
  static final class Entry {
    final String name;
    final boolean quick;
    final int seconds;
    boolean serial;
    boolean offline;
    int socketsLeast;
    int socketsMost;
    int limit;
    int heapMb = 2048;
    final Map<String, Known> known = new LinkedHashMap<>();

    Entry(String name, boolean quick, int seconds) {
      this.name = name;
      this.quick = quick;
      this.seconds = seconds;
      // Generous: the limit is there to end what hangs, not to judge a slow machine.
      this.limit = 180 + 5 * seconds;
    }
  }

  private ClassList() {
  }

  /** Reads a list; a malformed line is an {@link UsageException} that names file and line. */
  static List<Entry> read(Path file) throws IOException {
    Map<String, Entry> entries = new LinkedHashMap<>();
    Entry last = null;
    int number = 0;
    for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
      number++;
      String where = file + ":" + number + ": ";
      if (line.trim().isEmpty() || line.startsWith("#")) {
        continue;
      }
      if (!Character.isWhitespace(line.charAt(0))) {
        last = entry(line.trim().split("\\s+"), where);
        if (entries.put(last.name, last) != null) {
          throw new UsageException(where + last.name + " is listed twice");
        }
      } else if (last == null) {
        throw new UsageException(where + "an indented line tells of the class above it, and there is none");
      } else {
        Known known = known(line.trim(), where);
        last.known.put(known.test, known);
      }
    }
    return new ArrayList<>(entries.values());
  }

  private static Entry entry(String[] words, String where) {
    if (words.length < 3 || !words[1].matches("quick|slow") || !words[2].matches("\\d{1,4}")) {
      throw new UsageException(where + "expected: CLASS quick|slow SECONDS [serial] [offline] [sockets=N[-MOST]]"
          + " [limit=SECONDS] [heap=MB]");
    }
    Entry entry = new Entry(words[0], words[1].equals("quick"), Integer.parseInt(words[2]));
    for (int i = 3; i < words.length; i++) {
      if (words[i].equals("serial")) {
        entry.serial = true;
      } else if (words[i].equals("offline")) {
        entry.offline = true;
      } else if (words[i].matches("sockets=[1-9]\\d?(-[1-9]\\d?)?")) {
        String[] range = words[i].substring(8).split("-");
        entry.socketsLeast = Integer.parseInt(range[0]);
        entry.socketsMost = Integer.parseInt(range[range.length - 1]);
        if (entry.socketsLeast > entry.socketsMost) {
          throw new UsageException(where + "\"" + words[i] + "\": the fewest come first");
        }
      } else if (words[i].matches("limit=[1-9]\\d{0,4}")) {
        entry.limit = Integer.parseInt(words[i].substring(6));
      } else if (words[i].matches("heap=[1-9]\\d{2,4}")) {
        entry.heapMb = Integer.parseInt(words[i].substring(5));
      } else {
        throw new UsageException(where + "unknown word \"" + words[i]
            + "\": serial, offline, sockets=N[-MOST], limit=SECONDS and heap=MB are known");
      }
    }
    return entry;
  }

  private static Known known(String line, String where) {
    // From the right: a test's name may hold anything.
    int stock = line.lastIndexOf(" | ");
    int reason = stock < 0 ? -1 : line.lastIndexOf(" | ", stock - 1);
    if (reason < 0 || !(line.startsWith("fails ") || line.startsWith("flaky "))) {
      throw new UsageException(where + "expected: fails|flaky TEST | REASON | STOCK RESULT");
    }
    return new Known(line.substring(6, reason).trim(), line.startsWith("fails "),
        line.substring(reason + 3, stock).trim(), line.substring(stock + 3).trim());
  }
}

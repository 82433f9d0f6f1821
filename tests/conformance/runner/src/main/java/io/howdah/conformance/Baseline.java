package io.howdah.conformance;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The committed table of what stock jars give, one line a class. A run rewrites the lines of the classes that it ran. */
final class Baseline {
  private static final String HEADER = "| class | passed | failed | skipped | s |";

  /** Keys are suite and class; values the whole line. */
  private final Map<String, String> rows = new TreeMap<>();
  private final Path file;

  Baseline(Path file) throws IOException {
    this.file = file;
    if (Files.exists(file)) {
      String suite = "";
      for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
        if (line.startsWith("## ")) {
          suite = line.substring(3);
        } else if (line.startsWith("| org.")) {
          rows.put(suite + ' ' + cell(line, 1), line);
        }
      }
    }
  }

  /** How many tests stock jars run in the class, whatever their result; -1 if the table has no such class. */
  int tests(Suite suite, String name) {
    String line = rows.get(suite.label + ' ' + name);
    return line == null ? -1
        : Integer.parseInt(cell(line, 2)) + Integer.parseInt(cell(line, 3)) + Integer.parseInt(cell(line, 4));
  }

  /** On stock jars a known failure is just a failure. */
  void update(Collection<ClassResult> results) throws IOException {
    for (ClassResult result : results) {
      int failed = result.count(Outcome.Kind.FAILED) + result.count(Outcome.Kind.KNOWN);
      rows.put(result.suite.label + ' ' + result.entry.name, String.format("| %s | %d | %d | %d | %.0f |",
          result.entry.name, result.passed(), failed, result.count(Outcome.Kind.SKIPPED), result.seconds));
    }
    List<String> text = new ArrayList<>();
    text.add("# What stock jars give");
    text.add("");
    text.add("Upstream's own test classes on upstream's own jars, JDK 8. `ci/conformance --stock --write-baseline` rewrites the lines\n"
        + "of the classes that it ran. The seconds are those of the machine as busy as it was.");
    text.add("A test that passed at its second try counts as passed. Why a test fails here is said in the list of its suite.");
    for (Suite suite : Suite.values()) {
      if (suite != suite.base()) {
        continue;
      }
      text.add("");
      text.add("## " + suite.label);
      text.add("");
      text.add(HEADER);
      text.add("|---|--:|--:|--:|--:|");
      rows.forEach((key, line) -> {
        if (key.startsWith(suite.label + ' ')) {
          text.add(line);
        }
      });
    }
    Files.write(file, text, StandardCharsets.UTF_8);
  }

  private static String cell(String line, int index) {
    return line.split("\\|")[index].trim();
  }
}

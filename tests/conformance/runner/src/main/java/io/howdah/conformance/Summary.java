package io.howdah.conformance;

import java.util.Comparator;
import java.util.List;

/** The end of a run on the terminal: what is to be explained, then the counts, alone on the last line. */
final class Summary {
  private Summary() {
  }

  /** Returns whether nothing failed. */
  static boolean print(List<ClassResult> results, Baseline baseline, Conformance.Setup setup, double seconds) {
    results.sort(Comparator.comparing((ClassResult r) -> r.suite).thenComparing(r -> r.entry.name));
    int passed = 0;
    int failed = 0;
    int skipped = 0;
    for (ClassResult result : results) {
      passed += result.passed();
      failed += result.count(Outcome.Kind.FAILED);
      skipped += result.skipped();
      explain(result, baseline, setup);
    }
    Conformance.say("%d classes in %.0f s; %d tests passed only on retry; %d skipped by upstream, %d known failures",
        results.size(), seconds, total(results, Outcome.Kind.FLAKY), total(results, Outcome.Kind.SKIPPED),
        total(results, Outcome.Kind.KNOWN));
    System.out.printf("%d passed, %d failed, %d skipped%n", passed, failed, skipped);
    return failed == 0;
  }

  private static int total(List<ClassResult> results, Outcome.Kind kind) {
    return results.stream().mapToInt(r -> r.count(kind)).sum();
  }

  private static void explain(ClassResult result, Baseline baseline, Conformance.Setup setup) {
    String name = result.entry.name;
    for (Outcome outcome : result.outcomes.values()) {
      String test = name + " " + outcome.test;
      if (outcome.kind == Outcome.Kind.FAILED) {
        Conformance.say("FAILED twice: %s: %s (%s)", test, firstLine(outcome.message),
            setup.report(result.suite, result.entry, ".log"));
      } else if (outcome.kind == Outcome.Kind.FLAKY) {
        Conformance.say("flaky, passed on retry: %s: %s", test, firstLine(outcome.message));
      } else if (outcome.kind == Outcome.Kind.KNOWN) {
        ClassList.Known known = result.entry.known.get(outcome.test);
        Conformance.say("known: %s: %s; stock: %s", test, known.reason, known.stock);
      }
    }
    result.unexpectedlyPassed().forEach(k ->
        Conformance.say("listed as failing, but passed: %s %s (%s)", name, k.test, k.reason));
    result.notSeen().forEach(k -> Conformance.say("listed, but did not run: %s %s", name, k.test));
    int stock = baseline.tests(result.suite.base(), name);
    int ran = result.outcomes.size() - (result.outcomes.containsKey(ClassRun.ENGINE) ? 1 : 0);
    if (stock >= 0 && stock != ran) {
      Conformance.say("%s ran %d tests, stock jars %d", name, ran, stock);
    }
  }

  private static String firstLine(String text) {
    String line = text.split("\\R", 2)[0];
    return line.length() > 200 ? line.substring(0, 200) + "..." : line;
  }
}

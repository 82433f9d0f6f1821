package io.howdah.conformance;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What became of one class. */
final class ClassResult {
  final Suite suite;
  final ClassList.Entry entry;
  final Map<String, Outcome> outcomes;
  /** Whether the class came to its end; if not, tests of it have not run. */
  final boolean complete;
  final double seconds;

  ClassResult(Suite suite, ClassList.Entry entry, ClassRun.Told told, double seconds) {
    this.suite = suite;
    this.entry = entry;
    this.outcomes = told.outcomes;
    this.complete = told.complete;
    this.seconds = seconds;
    markKnown();
  }

  private void markKnown() {
    for (Outcome outcome : outcomes.values()) {
      ClassList.Known known = entry.known.get(outcome.test);
      if (known != null && outcome.kind == Outcome.Kind.FAILED) {
        outcome.kind = Outcome.Kind.KNOWN;
      }
    }
  }

  /** Takes in the second run of what failed: what passes now is flaky, what failed again stays failed. */
  void merge(ClassRun.Told again) {
    for (String test : failed()) {
      if (test.equals(ClassRun.ENGINE)) {
        continue; // what went past the engine once did so
      }
      Outcome first = outcomes.get(test);
      Outcome second = again.outcomes.get(test);
      boolean classRanThrough = test.equals(ClassRun.WHOLE_CLASS) && second == null && again.complete;
      if (classRanThrough || second != null && second.kind == Outcome.Kind.PASSED) {
        first.kind = Outcome.Kind.FLAKY;
      }
    }
    again.outcomes.forEach((test, second) -> outcomes.merge(test, second, ClassResult::both));
    markKnown();
  }

  /** After a crash the whole class runs again: a test that passed before and fails now passed one time of two as well. */
  private static Outcome both(Outcome first, Outcome second) {
    if (first.kind == Outcome.Kind.PASSED && second.kind == Outcome.Kind.FAILED) {
      if (second.test.equals(ClassRun.ENGINE)) {
        return second;
      }
      second.kind = Outcome.Kind.FLAKY;
      return second;
    }
    return first;
  }

  List<String> failed() {
    return outcomes.values().stream().filter(o -> o.kind == Outcome.Kind.FAILED).map(o -> o.test).collect(Collectors.toList());
  }

  int count(Outcome.Kind kind) {
    return (int) outcomes.values().stream().filter(o -> o.kind == kind).count();
  }

  /** Passed at the first or the second try. */
  int passed() {
    return count(Outcome.Kind.PASSED) + count(Outcome.Kind.FLAKY);
  }

  /** Skipped by upstream, or failed as it does on stock jars. */
  int skipped() {
    return count(Outcome.Kind.SKIPPED) + count(Outcome.Kind.KNOWN);
  }

  /** Tests listed as failing always that passed. */
  Collection<ClassList.Known> unexpectedlyPassed() {
    return entry.known.values().stream()
        .filter(k -> k.always && outcomes.containsKey(k.test) && outcomes.get(k.test).kind == Outcome.Kind.PASSED)
        .collect(Collectors.toList());
  }

  /** Listed names that the class does not have: the list is wrong, or the test did not run. */
  Collection<ClassList.Known> notSeen() {
    return entry.known.values().stream().filter(k -> !k.test.equals(ClassRun.WHOLE_CLASS) && !outcomes.containsKey(k.test))
        .collect(Collectors.toList());
  }
}

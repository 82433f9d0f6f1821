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
  final double seconds;

  ClassResult(Suite suite, ClassList.Entry entry, Map<String, Outcome> outcomes, double seconds) {
    this.suite = suite;
    this.entry = entry;
    this.outcomes = outcomes;
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
  void merge(Map<String, Outcome> again) {
    for (String test : failed()) {
      Outcome first = outcomes.get(test);
      Outcome second = again.get(test);
      boolean classRanThrough = test.equals(ClassRun.WHOLE_CLASS) && !again.containsKey(test);
      if (classRanThrough || second != null && second.kind == Outcome.Kind.PASSED) {
        first.kind = Outcome.Kind.FLAKY;
      }
    }
    // After a crash the second run meets tests that the first did not get to.
    again.forEach(outcomes::putIfAbsent);
    markKnown();
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

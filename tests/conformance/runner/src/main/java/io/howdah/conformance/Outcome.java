package io.howdah.conformance;

/** What became of one test method. */
final class Outcome {
  enum Kind { PASSED, FAILED, SKIPPED, KNOWN, FLAKY }

  final String test;
  Kind kind;
  /** Why it was skipped or failed; empty for a pass. */
  String message;
  String trace;
  /** Seconds; tests of a class run one after the other. */
  double seconds;

  Outcome(String test, Kind kind, String message, String trace) {
    this.test = test;
    this.kind = kind;
    this.message = message;
    this.trace = trace;
  }
}

package io.howdah.bench.rpc;

/** What the user is told when a benchmark cannot go on: what happened, and what to do about it. */
final class BenchException extends RuntimeException {
  BenchException(String message) {
    super(message);
  }

  BenchException(String message, Throwable cause) {
    super(message, cause);
  }
}

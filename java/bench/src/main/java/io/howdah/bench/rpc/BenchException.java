package io.howdah.bench.rpc;

/** What the user is told when a benchmark cannot go on: what happened, and what to do about it. */
public final class BenchException extends RuntimeException {
  /** Without a cause. */
  public BenchException(String message) {
    super(message);
  }

  /** With one. */
  public BenchException(String message, Throwable cause) {
    super(message, cause);
  }
}

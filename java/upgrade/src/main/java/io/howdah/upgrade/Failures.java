package io.howdah.upgrade;

import java.util.Locale;

/** Which failures of the engine end in sockets, and which are the process's own. */
public final class Failures {
  private Failures() {
  }

  /**
   * The cause for people. An Error that says that the JVM itself is at its end is thrown again: memory of the heap
   * that ran out, a stack that overflowed, a thread that was stopped.
   */
  public static String text(Throwable failure) {
    if (isOfProcess(failure)) {
      throw (Error) failure;
    }
    String message = failure.getMessage();
    return failure instanceof java.io.IOException && message != null ? message : failure.toString();
  }

  /** Whether a failure says that the JVM itself is at its end, and is not the engine's. */
  public static boolean isOfProcess(Throwable failure) {
    if (failure instanceof OutOfMemoryError) {
      String text = String.valueOf(failure.getMessage()).toLowerCase(Locale.ROOT);
      return !text.contains("direct buffer") && !text.contains("native thread") && !text.contains("map failed");
    }
    return failure instanceof StackOverflowError || failure instanceof ThreadDeath;
  }
}

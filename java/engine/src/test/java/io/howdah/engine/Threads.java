package io.howdah.engine;

import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;

/** Threads for tests, and waiting without timing. */
final class Threads {
  /** What may throw. */
  interface Action {
    void run() throws Exception;
  }

  private Threads() {
  }

  /** Runs it in a daemon thread of its own. */
  static <T> CompletableFuture<T> supply(Callable<T> action) {
    CompletableFuture<T> result = new CompletableFuture<>();
    start(() -> {
      try {
        result.complete(action.call());
      } catch (Throwable e) {
        result.completeExceptionally(e);
      }
    });
    return result;
  }

  static Thread start(Runnable action) {
    Thread thread = new Thread(action, "test");
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** What an action throws; fails the test if it throws nothing. */
  static Throwable failure(Action action) {
    try {
      action.run();
    } catch (Throwable e) {
      return e;
    }
    throw new AssertionError("nothing was thrown");
  }

  /** Until it is so, or the test fails. */
  static void await(BooleanSupplier condition) throws InterruptedException {
    long end = System.currentTimeMillis() + Pair.PATIENCE;
    while (!condition.getAsBoolean()) {
      if (System.currentTimeMillis() > end) {
        throw new AssertionError("it did not come to be");
      }
      Thread.sleep(2);
    }
  }

  /** Until a thread is inside a native method of the engine. */
  static void awaitInside(Thread thread) throws InterruptedException {
    await(() -> {
      StackTraceElement[] stack = thread.getStackTrace();
      return stack.length > 0 && stack[0].getClassName().equals(Native.class.getName());
    });
  }
}

package io.howdah.storage.shared;

import io.howdah.upgrade.Options;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Threads for what uses the shared path, so that callers wait for a bounded time: a file system that is away may hold
 * a thread for ever. Thread-safe.
 */
public final class SharedWait implements AutoCloseable {
  private static final int MOST_WAITING = 1024;

  private final Path path;
  private final long timeout;
  private final ThreadPoolExecutor threads;

  /** The shared path did not answer in time. */
  public static final class NoAnswer extends IOException {
    private static final long serialVersionUID = 1;

    private NoAnswer(String message) {
      super(message);
    }

    @Override
    public String toString() {
      return getMessage(); // it is a sentence
    }
  }

  /**
   * Threads, which are daemons.
   *
   * @param timeout milliseconds that a caller waits at most
   */
  public SharedWait(String name, int count, Path path, long timeout) {
    this.path = path;
    this.timeout = timeout;
    threads = new ThreadPoolExecutor(count, count, 0, TimeUnit.MILLISECONDS, new LinkedBlockingQueue<>(), task -> {
      Thread thread = new Thread(task, name);
      thread.setDaemon(true);
      return thread;
    });
  }

  /**
   * Runs a step, and waits for it. A step that does not end in time is interrupted, and is left to itself if that does
   * not end it.
   *
   * @throws NoAnswer if it does not end in time
   * @throws IOException as the step throws it
   */
  public <T> T run(Callable<T> step) throws IOException {
    Future<T> future = threads.submit(step);
    try {
      return future.get(timeout, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new NoAnswer(path + " did not answer within " + timeout + " ms (" + Options.SHARED_TIMEOUT.key()
          + "): see whether the file system is there on this node");
    } catch (ExecutionException e) {
      throw thrown(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("waiting for " + path).initCause(e);
    } finally {
      future.cancel(true);
    }
  }

  private static IOException thrown(Throwable cause) {
    if (cause instanceof Error) {
      throw (Error) cause;
    }
    if (cause instanceof RuntimeException) {
      throw (RuntimeException) cause;
    }
    return cause instanceof IOException ? (IOException) cause : new IOException(cause);
  }

  /** Runs a task when there is a thread for it; returns whether it will, which is not so if many wait. */
  public boolean execute(Runnable task) {
    try {
      if (threads.getQueue().size() < MOST_WAITING) {
        threads.execute(task);
        return true;
      }
    } catch (RejectedExecutionException e) {
      return false; // it is closed
    }
    return false;
  }

  /** Whether a step is under way, as one is that has not ended in time. */
  public boolean isBusy() {
    return threads.getActiveCount() > 0;
  }

  /** Ends the threads; steps under way are interrupted. */
  @Override
  public void close() {
    threads.shutdownNow();
  }
}

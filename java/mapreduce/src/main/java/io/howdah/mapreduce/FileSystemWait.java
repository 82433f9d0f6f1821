package io.howdah.mapreduce;

import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.ipc.RetriableException;
import org.apache.hadoop.ipc.StandbyException;

/** Waits until the file system of a folder answers. Not thread-safe. */
final class FileSystemWait {
  /** Soon at first, as a start takes seconds; then as upstream's own wait: each time Hadoop's client logs a failure. */
  private static final long FIRST_PAUSE_MS = 1000;
  private static final long LONGEST_PAUSE_MS = 10_000;
  private static final long SAY_EVERY_NS = TimeUnit.SECONDS.toNanos(30);

  private final Configuration conf;
  private final Path folder;
  private final Consumer<String> log;

  /** Waits for the file system that the folder is in; tells the log what it waits for, at once and each half minute. */
  FileSystemWait(Configuration conf, String folder, Consumer<String> log) {
    this.conf = conf;
    this.folder = new Path(folder);
    this.log = log;
  }

  /**
   * Returns true when the file system answers, whether the folder is there or not, and false after limitMs
   * (milliseconds; negative: it waits for ever). Fails by what does not pass with time, as a permission that is denied.
   */
  boolean await(long limitMs) throws IOException, InterruptedException {
    long started = System.nanoTime();
    long said = started - SAY_EVERY_NS;
    long pauseMs = FIRST_PAUSE_MS;
    while (true) {
      try {
        ask();
        return true;
      } catch (IOException e) {
        if (!passes(e)) {
          throw e;
        }
        long now = System.nanoTime();
        if (now - said >= SAY_EVERY_NS) {
          said = now;
          log.accept("Waiting for the file system of " + folder + ": " + firstLine(e));
        }
        if (limitMs >= 0 && now - started >= TimeUnit.MILLISECONDS.toNanos(limitMs)) {
          return false;
        }
      }
      Thread.sleep(pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  private void ask() throws IOException {
    URI uri = folder.toUri();
    try (FileSystem fs = FileSystem.newInstance(uri, conf)) {
      fs.exists(folder);
    }
  }

  /** Nobody listens, or who listens is not done with starting, or has gone while it was asked. */
  private static boolean passes(IOException error) {
    IOException e = error instanceof RemoteException ? ((RemoteException) error).unwrapRemoteException() : error;
    return e instanceof ConnectException || e instanceof RetriableException || e instanceof StandbyException
        || e instanceof EOFException;
  }

  private static String firstLine(IOException e) {
    String text = e instanceof RemoteException ? e.getMessage() : e.toString();
    return text.split("\n", 2)[0];
  }
}

package io.howdah.cluster;

import java.io.PrintStream;
import java.util.Locale;

/** Lines that tell the person at the terminal what happens, with the seconds since the beginning. Thread-safe. */
public final class Progress {
  private final PrintStream out;
  private final long started = System.nanoTime();

  /** Progress on a stream, from now on. */
  public Progress(PrintStream out) {
    this.out = out;
  }

  /** Prints one line. */
  public void say(String format, Object... arguments) {
    String text = arguments.length == 0 ? format : String.format(Locale.ROOT, format, arguments);
    synchronized (out) {
      out.printf(Locale.ROOT, "%6.1f s  %s%n", seconds(), text);
      out.flush();
    }
  }

  /** Seconds since the beginning. */
  public double seconds() {
    return (System.nanoTime() - started) / 1e9;
  }
}

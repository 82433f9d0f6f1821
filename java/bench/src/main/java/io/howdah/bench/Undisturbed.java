package io.howdah.bench;

import java.util.function.Supplier;

/**
 * Measures again what the host of a virtual machine disturbed by giving its processors to others. Of all attempts the
 * one is kept that was stolen from least: which one it is depends on that share alone, never on what was measured. For
 * one thread.
 */
public final class Undisturbed {
  /** From this share of the processors on, in percent, it shows in the figures. */
  public static final double MUCH = 2;
  /** Attempts that follow the first one. */
  static final int MOST_AGAIN = 4;
  /** What disturbs mostly lasts for some seconds. */
  private static final long PAUSE_MILLIS = 3000;

  private final Supplier<ProcessorTicks> ticks;
  private final long pauseMillis;
  private final int budget;
  private int again;
  private int disturbed;
  private double stolen;

  /** What is measured; both sides of a comparison belong into one, so that they are repeated together. */
  @FunctionalInterface
  public interface Measurement<T, E extends Exception> {
    /** Measures once. */
    T run() throws E, InterruptedException;
  }

  /** Measures again so often in all, however long the machine is disturbed: a run must come to its end. */
  public Undisturbed(int budget) {
    this(budget, ProcessorTicks::now, PAUSE_MILLIS);
  }

  Undisturbed(int budget, Supplier<ProcessorTicks> ticks, long pauseMillis) {
    this.budget = budget;
    this.ticks = ticks;
    this.pauseMillis = pauseMillis;
  }

  /** Runs it at least once; returns what the attempt measured that was disturbed least. */
  public <T, E extends Exception> T measure(Measurement<T, E> what) throws E, InterruptedException {
    T kept = null;
    double least = Double.MAX_VALUE;
    for (int attempt = 0;; attempt++) {
      ProcessorTicks before = ticks.get();
      T measured = what.run();
      double share = ticks.get().stolenSince(before);
      if (share < least) {
        kept = measured;
        least = share;
      }
      if (least < MUCH || attempt == MOST_AGAIN || again == budget) {
        break;
      }
      again++;
      Thread.sleep(pauseMillis);
    }
    disturbed += least < MUCH ? 0 : 1;
    stolen = least;
    return kept;
  }

  /** The share that was stolen from what the last call kept, in percent. */
  public double stolen() {
    return stolen;
  }

  /** How many attempts were made again until now. */
  public int again() {
    return again;
  }

  /** How many calls kept something that was disturbed all the same. */
  public int disturbed() {
    return disturbed;
  }
}

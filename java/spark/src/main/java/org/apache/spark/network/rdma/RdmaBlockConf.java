package org.apache.spark.network.rdma;

import io.howdah.upgrade.BadOptionException;
import io.howdah.upgrade.Component;
import io.howdah.upgrade.Options;
import io.howdah.upgrade.Role;
import io.howdah.upgrade.Settings;
import io.howdah.upgrade.Upgrade;
import java.util.concurrent.TimeUnit;

/**
 * How an application, or a shuffle service, wants blocks to go over the engine. It knows nothing of Spark's core, which
 * shuffle services do without. Immutable.
 */
final class RdmaBlockConf {
  static final String PREFIX = Component.SPARK.prefix();
  static final String ENABLED = Component.SPARK.enabled().key();
  static final String REQUIRED = Component.SPARK.required().key();
  static final String QUEUE = Options.SPARK_QUEUE.key();

  private final Upgrade upgrade;
  private final int handlers;
  private final int queue;
  private final int batchBytes;
  private final int pieceBytes;
  private final int inFlight;
  private final long idleMillis;
  private final long rememberMillis;
  private final double outputFraction;

  /** @throws BadOptionException for values that are not valid, unless the engine is switched off */
  RdmaBlockConf(Settings settings, Role role) throws BadOptionException {
    upgrade = Upgrade.of(Component.SPARK, settings, role);
    boolean on = !upgrade.isOff();
    handlers = on ? upgrade.get(Options.SPARK_HANDLERS) : 0;
    queue = on ? upgrade.get(Options.SPARK_QUEUE) : 0;
    batchBytes = on ? upgrade.get(Options.SPARK_BATCH).intValue() : 0;
    pieceBytes = on ? upgrade.get(Options.SPARK_PIECE).intValue() : 0;
    inFlight = on ? upgrade.get(Options.SPARK_FETCHES) : 0;
    idleMillis = on ? upgrade.get(Options.SPARK_IDLE) : 0;
    outputFraction = on ? upgrade.get(Options.SPARK_OUTPUT_FRACTION) : 0;
    rememberMillis = on ? upgrade.get(Component.SPARK.remember()) : 0;
  }

  Upgrade upgrade() {
    return upgrade;
  }

  /** Whether the engine is to be used; if not, nothing below is to be asked for. */
  boolean isEnabled() {
    return !upgrade.isOff();
  }

  /** Whether to use the engine or fail. */
  boolean isRequired() {
    return upgrade.isRequired();
  }

  /** What is said where the engine has to be used and can't be. */
  String cannot(String obstacle) {
    return "Block transfer has to go over the engine (" + upgrade.origin() + "), which can't be used: " + obstacle;
  }

  /** Threads that read blocks for peers; 0 means as many as Spark would take for its server, at most 4. */
  int handlers() {
    return handlers;
  }

  int queue() {
    return queue;
  }

  int batchBytes() {
    return batchBytes;
  }

  int pieceBytes() {
    return pieceBytes;
  }

  int inFlight() {
    return inFlight;
  }

  long idleNanos() {
    return TimeUnit.MILLISECONDS.toNanos(idleMillis);
  }

  /** Share of the memory limit that map output may take, if it stays in memory. */
  double outputFraction() {
    return outputFraction;
  }

  long rememberMillis() {
    return rememberMillis;
  }
}

package org.apache.spark.network.rdma;

import io.howdah.engine.Counter;
import io.howdah.engine.Engine;
import io.howdah.engine.EngineOption;
import java.io.IOException;
import org.apache.spark.network.util.JavaUtils;

/**
 * Splits the engine's memory limit among fetched blocks that tasks hold (five sixteenths), answers on their way to this
 * process (a quarter) and answers that this process gives (five sixteenths); the rest is for streams. The shares do not
 * borrow from each other, so an answer always finds room, whatever tasks and peers hold. A process that only serves has
 * three quarters for its answers. If map output stays in memory, its share is taken off first. Thread-safe.
 */
final class MemoryShares {
  /** The engine deals memory above {@link #SMALL} in such units. */
  private static final int UNIT = 64 << 10;
  private static final int SMALL = 48 << 10;

  private final Engine engine;
  private final long limit;
  private final long serverShare;
  private final long keptShare;
  private final long outputShare;
  /** Regions of map output. */
  private long output;
  private long kept;
  /** Used by all but kept blocks at the last look, and allocated for answers since then. */
  private long used;
  private long taken;

  /**
   * @param fetches whether the process fetches blocks too
   * @param outputFraction part of the limit for map output, 0 if that goes to files
   */
  MemoryShares(Engine engine, boolean fetches, double outputFraction) {
    this.engine = engine;
    this.limit = JavaUtils.byteStringAsBytes(engine.option(EngineOption.MEMORY_LIMIT));
    this.outputShare = OutputConf.share(limit, outputFraction);
    long rest = limit - outputShare;
    this.keptShare = fetches ? rest / 16 * 5 : 0;
    this.serverShare = fetches ? rest / 16 * 5 : rest / 4 * 3;
  }

  /** The engine's limit, in bytes. */
  long limit() {
    return limit;
  }

  /** Most bytes of answers under way to this process. */
  long arriving() {
    return (limit - outputShare) / 4;
  }

  /** Most bytes of answers that this process gives at a time. */
  long serving() {
    return serverShare;
  }

  /** Bytes that the engine takes from its limit for a buffer. */
  static long charge(long bytes) {
    return bytes <= SMALL ? bytes : (bytes + UNIT - 1) / UNIT * UNIT;
  }

  /** Takes room for fetched blocks, in bytes of {@link #charge}. @return false if tasks hold too much already */
  synchronized boolean keep(long charge) {
    if (kept + charge > keptShare) {
      return false;
    }
    kept += charge;
    return true;
  }

  /** Gives room of {@link #keep} back. */
  synchronized void release(long charge) {
    kept -= charge;
  }

  /** Bytes of fetched blocks that are kept in the engine's memory, as it deals them out. */
  synchronized long kept() {
    return kept;
  }

  /** Most bytes of map output. */
  long output() {
    return outputShare;
  }

  /** Takes room for map output. @return false if there is none */
  synchronized boolean takeOutput(long bytes) {
    if (output + bytes > outputShare) {
      return false;
    }
    output += bytes;
    return true;
  }

  /** Gives room of {@link #takeOutput} back. */
  synchronized void releaseOutput(long bytes) {
    output -= bytes;
  }

  /** Whether an answer may be allocated. The engine's counter is read only if allocations since then could matter. */
  synchronized boolean mayAnswer(int bytes) throws IOException {
    if (used + taken + bytes > serverShare) {
      used = Math.max(0, engine.counters().get(Counter.MEMORY_USED) - kept - output);
      taken = 0;
    }
    if (used + taken + bytes > serverShare) {
      return false;
    }
    taken += charge(bytes);
    return true;
  }
}

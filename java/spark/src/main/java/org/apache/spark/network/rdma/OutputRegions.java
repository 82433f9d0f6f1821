package org.apache.spark.network.rdma;

import io.howdah.engine.Engine;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import org.apache.spark.memory.MemoryManager;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleDataBlockId;

/**
 * Regions of the engine's memory for map output: within its share of the engine's limit, and accounted with Spark's
 * memory manager as storage outside the heap. Thread-safe.
 */
public final class OutputRegions {
  private static final int UNIT = 64 << 10;
  private static final int MOST = 4 << 20;
  private static final int LEAST_COUNT = 8;
  /** Memory manager's name of what asks; nothing is evicted by it. */
  private static final BlockId WHAT = new ShuffleDataBlockId(-1, -1, -1);

  private final Engine engine;
  private final MemoryShares shares;
  private final MemoryManager spark;
  private final BlockMetrics metrics;
  private final int size;

  OutputRegions(Engine engine, MemoryShares shares, MemoryManager spark, BlockMetrics metrics) {
    this.engine = engine;
    this.shares = shares;
    this.spark = spark;
    this.metrics = metrics;
    this.size = (int) Math.max(UNIT, Math.min(MOST, shares.output() / LEAST_COUNT / UNIT * UNIT));
  }

  /** Bytes of a region. */
  public int size() {
    return size;
  }

  /**
   * One more region.
   *
   * @return null if there is no memory for it
   */
  public RegisteredBuffer allocate() {
    RegisteredBuffer region = null;
    boolean taken = shares.takeOutput(size);
    boolean accounted = false;
    try {
      accounted = taken && spark.acquireStorageMemory(WHAT, size, MemoryMode.OFF_HEAP);
      region = accounted ? engine.allocate(size) : null;
    } catch (MemoryLimitException e) {
      BlockLog.LOG.debug("No memory for map output", e);
    } catch (IOException e) {
      BlockLog.LOG.warn("Map output goes to files: {}", e.toString());
    } finally {
      if (region == null) {
        giveBack(taken, accounted);
      }
    }
    return region;
  }

  private void giveBack(boolean taken, boolean accounted) {
    if (accounted) {
      spark.releaseStorageMemory(size, MemoryMode.OFF_HEAP);
    }
    if (taken) {
      shares.releaseOutput(size);
    }
  }

  /** Gives a region back. */
  public void release(RegisteredBuffer region) {
    region.release();
    giveBack(true, true);
  }

  /** Output that is in memory now. */
  public void kept(long bytes) {
    metrics.outputKept.inc(bytes);
  }

  /** Output that is in files now. */
  public void filed(long bytes) {
    metrics.outputFiled.inc(bytes);
  }
}

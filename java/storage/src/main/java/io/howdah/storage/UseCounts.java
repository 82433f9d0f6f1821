package io.howdah.storage;

import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.hdfs.ExtendedBlockId;

/**
 * How much blocks are used: each read counts one, and halves in weight after each half-life. Times are milliseconds of
 * a monotonic clock. Thread-safe. Holds one small object for each block that was used and not forgotten.
 */
public final class UseCounts {
  /** Below this weight a block is as cold as one that was never used. */
  private static final double COLD = 0.001;

  private final double halflife;
  private final ConcurrentHashMap<ExtendedBlockId, Use> uses = new ConcurrentHashMap<>();

  private static final class Use {
    private double weight;
    private long at;
    private int reads;
    private long windowStart;
  }

  /** Counts with a half-life in milliseconds. */
  public UseCounts(long halflife) {
    this.halflife = halflife;
  }

  /**
   * Notes a read.
   *
   * @return how many reads there were within a half-life, this one included
   */
  public int read(ExtendedBlockId block, long now) {
    int[] reads = {0};
    uses.compute(block, (key, known) -> {
      Use use = weigh(known, now);
      if (use.reads == 0 || now - use.windowStart > halflife) {
        use.reads = 0;
        use.windowStart = now;
      }
      reads[0] = ++use.reads;
      return use;
    });
    return reads[0];
  }

  /** Notes that a block was written: it weighs as one that was read once. */
  public void written(ExtendedBlockId block, long now) {
    uses.compute(block, (key, known) -> weigh(known, now));
  }

  private Use weigh(Use known, long now) {
    Use use = known != null ? known : new Use();
    use.weight = decayed(use, now) + 1;
    use.at = now;
    return use;
  }

  private double decayed(Use use, long now) {
    return use.weight * Math.pow(0.5, (now - use.at) / halflife);
  }

  /** The decayed weight of a block; 0 if it was not used for long. */
  public double weight(ExtendedBlockId block, long now) {
    double[] weight = {0};
    uses.computeIfPresent(block, (key, use) -> {
      weight[0] = decayed(use, now);
      return weight[0] < COLD ? null : use;
    });
    return weight[0] < COLD ? 0 : weight[0];
  }

  /** Forgets a block that is gone. */
  public void forget(ExtendedBlockId block) {
    uses.remove(block);
  }

  /** Forgets what is cold. */
  public void prune(long now) {
    uses.values().removeIf(use -> decayed(use, now) < COLD);
  }

  /** How many blocks are known. */
  public int size() {
    return uses.size();
  }
}

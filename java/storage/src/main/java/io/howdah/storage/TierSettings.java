package io.howdah.storage;

import io.howdah.upgrade.Option;
import io.howdah.upgrade.Options;
import io.howdah.upgrade.Settings;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.io.IOException;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;

/** The settings of a storage mode, checked. Immutable. */
public final class TierSettings {
  /** How the tiers of a new block are chosen. */
  public enum Policy {
    /** By the types of storage that the cluster has. */
    AUTO,
    /** The fastest tier with room. */
    GREEDY,
    /** The tier that is filled least, by weight. */
    BALANCED
  }

  private final StorageMode mode;
  private final int memoryReplicas;
  private final double memoryShare;
  private final double memoryLow;
  private final long memoryCapacity;
  private final Policy policy;
  private final Map<StorageType, Double> weights;
  private final long halflife;
  private final int promotionReads;
  private final long moverInterval;
  private final long moverBandwidth;
  private final boolean isPersistingOnSync;

  private TierSettings(Settings from, StorageMode mode) throws IOException {
    this.mode = mode;
    memoryReplicas = Options.MEMORY_REPLICAS.read(from);
    memoryShare = Options.MEMORY_SHARE.read(from);
    memoryLow = Options.MEMORY_LOW.read(from);
    memoryCapacity = Options.MEMORY_CAPACITY.read(from);
    policy = Policy.valueOf(Options.PLACEMENT.read(from).toUpperCase(java.util.Locale.ROOT));
    weights = weights(Options.PLACEMENT_WEIGHTS, Options.PLACEMENT_WEIGHTS.read(from));
    halflife = Options.USE_HALFLIFE.read(from);
    promotionReads = Options.PROMOTION_READS.read(from);
    moverInterval = Options.MOVER_INTERVAL.read(from);
    moverBandwidth = Options.MOVER_BANDWIDTH.read(from);
    isPersistingOnSync = Options.MEMORY_HSYNC.read(from).equals("persist");
  }

  /**
   * Reads a configuration that asks for a mode.
   *
   * @throws IOException for a mode that is not there, and for values that are not valid; the message is a sentence
   */
  public static TierSettings of(Configuration conf) throws IOException {
    TierSettings read = new TierSettings(new HadoopSettings(conf), StorageMode.of(conf));
    if (read.memoryLow > read.memoryShare) {
      throw new IOException(Options.MEMORY_LOW.key() + "=" + read.memoryLow + " is above "
          + Options.MEMORY_SHARE.key() + "=" + read.memoryShare + ": set it below");
    }
    if (read.isPersistingOnSync && !read.mode.isRamEnough()) {
      throw new IOException(Options.MEMORY_HSYNC.key() + "=persist in the storage mode " + read.mode
          + ": remove it, since an hsync forces the replicas on SSD and disk there as in stock Hadoop");
    }
    int replication = conf.getInt("dfs.replication", 3);
    if (read.mode.isShared() && replication != 1) {
      throw new IOException("dfs.replication=" + replication + " in the storage mode " + read.mode
          + ": set it to 1, since the second copy of each block is on the shared path");
    }
    // With one replica, which goes to SSD or disk, the default of 1 has no effect.
    if (!read.mode.isRamEnough() && read.memoryReplicas >= Math.max(2, replication)) {
      throw new IOException(Options.MEMORY_REPLICAS.key() + "=" + read.memoryReplicas + " is not below dfs.replication="
          + replication + ": at least one replica has to be on SSD or disk");
    }
    return read;
  }

  private static Map<StorageType, Double> weights(Option<String> option, String text) throws IOException {
    String[] words = text.split(",");
    StorageType[] types = {StorageType.RAM_DISK, StorageType.SSD, StorageType.DISK};
    Map<StorageType, Double> weights = new EnumMap<>(StorageType.class);
    for (int i = 0; i < types.length; i++) {
      String word = words.length == types.length ? words[i].trim() : "";
      if (!word.matches("\\d{1,9}(\\.\\d{1,9})?") || Double.parseDouble(word) <= 0) {
        throw new IOException(option.key() + "=" + text + ": three numbers above 0 are needed, of RAM, SSD and disk");
      }
      weights.put(types[i], Double.valueOf(word));
    }
    return Collections.unmodifiableMap(weights);
  }

  /** The mode. */
  public StorageMode mode() {
    return mode;
  }

  /**
   * How many replicas of a block with so many are in RAM: all where the mode has another copy, else at least one is on
   * persistent storage.
   */
  public int memoryReplicas(int replication) {
    return mode.isRamEnough() ? replication : Math.max(0, Math.min(memoryReplicas, replication - 1));
  }

  /** The share of a RAM folder's size up to which blocks are written to it, above 0 and at most 1. */
  public double memoryShare() {
    return memoryShare;
  }

  /** The share of a RAM folder's size down to which cold replicas leave it. */
  public double memoryLow() {
    return memoryLow;
  }

  /** The size in bytes that a RAM folder counts with; 0: that of its file system. */
  public long memoryCapacity() {
    return memoryCapacity;
  }

  /** Whether an hsync waits until what is in RAM is on persistent storage. */
  public boolean isPersistingOnSync() {
    return isPersistingOnSync;
  }

  /** How tiers are chosen. */
  public Policy policy() {
    return policy;
  }

  /** What a tier takes beside the others, with {@link Policy#BALANCED}; 1 for types that have no tier. */
  public double weight(StorageType type) {
    return weights.getOrDefault(type, 1.0);
  }

  /** Milliseconds in which the weight of a read halves. */
  public long halflife() {
    return halflife;
  }

  /** Reads within a half-life after which a replica is copied to RAM; 0: never. */
  public int promotionReads() {
    return promotionReads;
  }

  /** Milliseconds between two rounds of the mover. */
  public long moverInterval() {
    return moverInterval;
  }

  /** Bytes a second that the mover copies; 0: no limit. */
  public long moverBandwidth() {
    return moverBandwidth;
  }
}

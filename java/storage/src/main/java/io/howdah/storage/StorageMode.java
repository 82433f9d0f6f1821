package io.howdah.storage;

import io.howdah.upgrade.Options;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;

/** Where the replicas of a block are kept. */
public enum StorageMode {
  /** Some replicas in RAM, the others on SSD and disk. */
  HHH("Default", "hhh", true),
  /** All replicas in RAM, persisted behind. */
  HHH_M("In-Memory", "hhh-m", true),
  /** One local replica and one on a shared file system. */
  HHH_L("Lustre", "hhh-l", true),
  /** Likewise, with a buffer before the shared file system. */
  HHH_L_BB("Lustre-BB", "hhh-l-bb", false);

  private static final String REMEDY = "set Default, In-Memory or Lustre, or remove the property";

  private final String hibd;
  private final String ours;
  private final boolean isThere;

  StorageMode(String hibd, String ours, boolean isThere) {
    this.hibd = hibd;
    this.ours = ours;
    this.isThere = isThere;
  }

  /** Its name in HiBD's configuration. */
  public String hibdName() {
    return hibd;
  }

  /** Whether all replicas of a block are in RAM. */
  public boolean isAllInRam() {
    return this == HHH_M;
  }

  /** Whether a block may be in RAM on all DataNodes that have it, because another copy is on persistent storage. */
  public boolean isRamEnough() {
    return this == HHH_M || isShared();
  }

  /** Whether a copy of each block is on a path that all DataNodes have. */
  public boolean isShared() {
    return this == HHH_L;
  }

  /** Whether a configuration asks for a mode, whatever its name. */
  public static boolean isSet(Configuration conf) {
    return !conf.getTrimmed(Options.STORAGE_MODE.key(), "").isEmpty();
  }

  /** Whether a configuration asks for a mode with a shared path. */
  public static boolean isShared(Configuration conf) {
    try {
      return of(conf).isShared();
    } catch (IOException e) {
      return false; // no mode, or one that is not there
    }
  }

  /**
   * The mode that a configuration asks for.
   *
   * @throws IOException if there is no mode of that name, or not in this release; the message says what there is
   */
  static StorageMode of(Configuration conf) throws IOException {
    String name = conf.getTrimmed(Options.STORAGE_MODE.key(), "");
    for (StorageMode mode : values()) {
      if (mode.hibd.equalsIgnoreCase(name) || mode.ours.equalsIgnoreCase(name)) {
        if (!mode.isThere) {
          throw new IOException(Options.STORAGE_MODE.key() + "=" + name + ": this release does not have the "
              + "storage mode " + mode + ": " + REMEDY);
        }
        return mode;
      }
    }
    throw new IOException(Options.STORAGE_MODE.key() + "=" + name + ": there is no storage mode of that name: "
        + REMEDY);
  }

  @Override
  public String toString() {
    return name().replace('_', '-');
  }
}

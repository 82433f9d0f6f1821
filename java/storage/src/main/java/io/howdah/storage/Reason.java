package io.howdah.storage;

import java.util.Locale;

/** Why a replica is where it is. */
public enum Reason {
  /** The NameNode asked for this tier, and it had room. */
  ASKED,
  /** RAM is filled up to its threshold. */
  RAM_FULL,
  /** The tier that was asked for has no room. */
  TIER_FULL,
  /** The DataNode has no folder of the type that was asked for. */
  NO_SUCH_TIER,
  /** It was read least of those in RAM. */
  COLD,
  /** It was read often. */
  HOT,
  /** It was to grow, and its tier had no room. */
  GROWS,
  /** An administrator's command, the Balancer or the Mover. */
  COMMAND,
  /** It was found when the DataNode started. */
  FOUND,
  /** The block changed, was deleted, or its copy made room for a block that is written. */
  DROPPED,
  /** The mode HHH-M persists what is in RAM behind. */
  BEHIND,
  /** The replica in RAM was gone without being deleted: its copy took its place. */
  LOST,
  /** Its checksums were wrong. */
  DAMAGED,
  /** The DataNode ended, and what is in RAM beside replicas does not outlive it. */
  RESTART;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}

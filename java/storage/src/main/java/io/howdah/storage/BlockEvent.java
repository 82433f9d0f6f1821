package io.howdah.storage;

import java.time.Instant;
import java.util.Locale;
import org.apache.hadoop.fs.StorageType;

/**
 * What happened to a replica, when, and why. Immutable; fits in a long, of which a DataNode keeps some for each
 * replica.
 */
public final class BlockEvent {
  /** Kinds of events. */
  public enum Kind {
    /** It was created: from is the tier that was asked for, to the one it was created on. */
    CREATED,
    /** It was moved from one tier to another. */
    MOVED,
    /** A copy was made in RAM, beside the replica on its tier. */
    COPIED,
    /** The copy in RAM was removed. */
    COPY_DROPPED,
    /** A copy was made on persistent storage, beside the replica in RAM. */
    PERSISTED,
    /** The replica's files were damaged, and were made anew from its copy on another tier. */
    REPAIRED;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
  }

  private static final Kind[] KINDS = Kind.values();
  private static final StorageType[] TYPES = StorageType.values();
  private static final Reason[] REASONS = Reason.values();
  /** In a packed event: the type is not known. */
  private static final int NO_TYPE = 31;
  private static final String UNKNOWN = "unknown";

  private final long time;
  private final Kind kind;
  private final StorageType from;
  private final StorageType to;
  private final Reason reason;

  /** An event at a time in milliseconds since 1970. Where it was before may not be known: from is null then. */
  public BlockEvent(long time, Kind kind, StorageType from, StorageType to, Reason reason) {
    this.time = time;
    this.kind = kind;
    this.from = from;
    this.to = to;
    this.reason = reason;
  }

  /** Milliseconds since 1970. */
  long time() {
    return time;
  }

  Kind kind() {
    return kind;
  }

  /** The type of storage that the replica, not its copy, is on after the event. */
  StorageType tier() {
    return kind == Kind.COPIED || kind == Kind.PERSISTED ? from : to;
  }

  /** The event in a long: 44 bits of time, then kind, types and reason of 5 bits each. */
  long packed() {
    int before = from == null ? NO_TYPE : from.ordinal();
    return time << 20 | (long) kind.ordinal() << 15 | before << 10 | to.ordinal() << 5 | reason.ordinal();
  }

  /** The event that a long holds. */
  static BlockEvent unpacked(long packed) {
    int from = (int) (packed >> 10 & 31);
    return new BlockEvent(packed >>> 20, KINDS[(int) (packed >> 15 & 31)], from == NO_TYPE ? null : TYPES[from],
        TYPES[(int) (packed >> 5 & 31)], REASONS[(int) (packed & 31)]);
  }

  /** Time, kind, tiers and reason, with tabs between. */
  @Override
  public String toString() {
    Object before = from == null ? UNKNOWN : from;
    return Instant.ofEpochMilli(time) + "\t" + kind + "\t" + before + "\t" + to + "\t" + reason;
  }

  /**
   * The event that a text holds.
   *
   * @throws IllegalArgumentException if it holds none
   */
  static BlockEvent parse(String text) {
    String[] words = text.split("\t");
    if (words.length != 5) {
      throw new IllegalArgumentException(text);
    }
    try {
      StorageType before = words[2].equals(UNKNOWN) ? null : StorageType.valueOf(words[2]);
      return new BlockEvent(Instant.parse(words[0]).toEpochMilli(), Kind.valueOf(constant(words[1])),
          before, StorageType.valueOf(words[3]), Reason.valueOf(constant(words[4])));
    } catch (java.time.DateTimeException e) {
      throw new IllegalArgumentException(text, e);
    }
  }

  private static String constant(String word) {
    return word.toUpperCase(Locale.ROOT).replace('-', '_');
  }
}

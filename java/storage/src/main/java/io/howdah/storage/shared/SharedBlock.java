package io.howdah.storage.shared;

/** A block on the shared path, as the list of its owner has it. Immutable. */
public final class SharedBlock {
  private final long id;
  private final long stamp;
  private final long length;

  /** A block by its id, generation stamp and length in bytes. */
  public SharedBlock(long id, long stamp, long length) {
    this.id = id;
    this.stamp = stamp;
    this.length = length;
  }

  /** Its id. */
  public long id() {
    return id;
  }

  /** Its generation stamp. */
  public long stamp() {
    return stamp;
  }

  /** Its length in bytes. */
  public long length() {
    return length;
  }

  @Override
  public boolean equals(Object object) {
    return object instanceof SharedBlock && ((SharedBlock) object).id == id && ((SharedBlock) object).stamp == stamp
        && ((SharedBlock) object).length == length;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(id);
  }

  @Override
  public String toString() {
    return "blk_" + id + "_" + stamp + " of " + length + " bytes";
  }
}

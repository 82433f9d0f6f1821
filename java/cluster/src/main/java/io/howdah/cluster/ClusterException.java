package io.howdah.cluster;

/** What went wrong and what to do about it, in words for the person at the terminal. */
public final class ClusterException extends RuntimeException {
  private final String remedy;

  /** A failure whose message says it all. */
  public ClusterException(String message) {
    this(message, null);
  }

  /**
   * A failure with a way out.
   *
   * @param message the cause, naming the file, port or value
   * @param remedy what to do about it, or null
   */
  public ClusterException(String message, String remedy) {
    super(message);
    this.remedy = remedy;
  }

  /** What to do about it, or null. */
  public String remedy() {
    return remedy;
  }
}

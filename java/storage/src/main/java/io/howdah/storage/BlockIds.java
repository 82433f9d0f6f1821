package io.howdah.storage;

/**
 * Ids of blocks as text. Before Hadoop 2.6 they were random and signed, so nine in ten have 19 digits; such blocks stay
 * in a cluster that was upgraded.
 */
public final class BlockIds {
  /** A regular expression for an id, without a group; {@link #parse} says whether it is one. */
  public static final String REGEX = "-?\\d{1,19}";

  private BlockIds() {
  }

  /** The id that a text is which matches {@link #REGEX}; null if it is out of a long's range. */
  public static Long parse(String text) {
    try {
      return Long.valueOf(text);
    } catch (NumberFormatException e) {
      return null;
    }
  }
}

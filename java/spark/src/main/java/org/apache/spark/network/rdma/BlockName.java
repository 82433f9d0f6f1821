package org.apache.spark.network.rdma;

/** A block as a request names it, which need not exist: the numbers of a shuffle block, or a name. Immutable. */
final class BlockName {
  private static final String SHUFFLE_PREFIX = "shuffle_";

  /** What it is if it is a shuffle's, else 0. */
  final int shuffle;
  final int map;
  final int reduce;
  private final String text;

  BlockName(String text) {
    this.shuffle = 0;
    this.map = 0;
    this.reduce = 0;
    this.text = text;
  }

  BlockName(int shuffle, int map, int reduce) {
    this.shuffle = shuffle;
    this.map = map;
    this.reduce = reduce;
    this.text = null;
  }

  /** Whether the numbers name it. */
  boolean isShuffle() {
    return text == null;
  }

  @Override
  public String toString() {
    return text == null ? SHUFFLE_PREFIX + shuffle + "_" + map + "_" + reduce : text;
  }
}

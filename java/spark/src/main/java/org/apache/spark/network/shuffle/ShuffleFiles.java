package org.apache.spark.network.shuffle;

/** Lets block transfer over the engine see what Spark's shuffle service knows. */
public final class ShuffleFiles {
  private ShuffleFiles() {
  }

  /** Where the service finds the files of its executors. */
  public static ExternalShuffleBlockResolver of(ExternalShuffleBlockHandler handler) {
    return handler.blockManager;
  }
}

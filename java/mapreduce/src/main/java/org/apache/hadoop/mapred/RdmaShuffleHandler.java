package org.apache.hadoop.mapred;

import org.apache.hadoop.conf.Configuration;

/**
 * The NodeManager's ShuffleHandler over the engine, for installations whose ShuffleHandler is not patched: the class of
 * {@code yarn.nodemanager.aux-services.mapreduce_shuffle.class}.
 */
public final class RdmaShuffleHandler extends ShuffleHandler {
  /** As YARN makes it. */
  public RdmaShuffleHandler() {
  }

  @Override
  protected Shuffle getShuffle(Configuration conf) {
    return EngineShuffle.of(this, conf);
  }

  /** Sessions of reducers that are open over the engine. */
  public int sessionCount() {
    Shuffle shuffle = pipelineFact.getSHUFFLE();
    return shuffle instanceof EngineShuffle ? ((EngineShuffle) shuffle).sessionCount() : 0;
  }
}

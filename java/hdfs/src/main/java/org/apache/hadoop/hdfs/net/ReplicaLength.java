package org.apache.hadoop.hdfs.net;

import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;

/**
 * How many bytes of a replica readers may see while it is written beside the others, not in a pipeline with them. In a
 * pipeline the last DataNode acknowledges a packet after all have it. Beside each other each DataNode acknowledges it
 * when it has it itself, and a recovery may drop what another one lacks. So the writer marks the request to write, and
 * tells by heartbeats' offsets what all replicas have; only these make bytes visible.
 *
 * <p>The mark is the readahead of the request, which has no meaning for a write, and offsets of heartbeats have none
 * either: a stock DataNode takes part, but shows readers what it has itself.
 */
public final class ReplicaLength {
  /** No readahead is negative. */
  private static final long MARK = -0x484f574441484cL;
  private static final long HEARTBEAT = -1;

  private ReplicaLength() {
  }

  /** The strategy for a request to write a replica beside others. */
  public static CachingStrategy mark(CachingStrategy strategy) {
    return new CachingStrategy(strategy.getDropBehind(), MARK);
  }

  /** Whether a request to write came so. */
  public static boolean isMarked(CachingStrategy strategy) {
    return strategy.getReadahead() != null && strategy.getReadahead() == MARK;
  }

  /** Whether a packet that is acknowledged makes the bytes up to its end visible. */
  public static boolean isShown(boolean marked, PipelineAck ack) {
    return !marked || ack.getSeqno() == HEARTBEAT;
  }
}

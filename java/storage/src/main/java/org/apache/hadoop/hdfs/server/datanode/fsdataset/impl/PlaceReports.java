package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;

/**
 * Tells NameNodes where a replica is when they may believe something else: after it has moved, or has come back. They
 * believe the last report of a block until the next full one, which is six hours away by default. It cannot be made
 * under the dataset's lock: a block pool that ends waits for that lock, and reports wait for the pool. So the replica
 * may be deleted or appended to, and be reported as such, right before: it is looked at again after each report until
 * it is what was told.
 *
 * <p>Upstream's threads report what they have finalized, copied or recovered once they have let go of it: on a busy
 * machine it may be on another tier by then, or deleted. They report what they have deleted once its files are gone:
 * the DataNode may have a copy of the block again by then. So what became of a replica that has moved or come back is
 * told once more after five seconds, and of one that the NameNode has sent to a DataNode which has it, whenever that
 * is. Thread-safe.
 */
final class PlaceReports {
  static final long AGAIN_MS = 5000;

  private final TierDataset dataset;
  private final Map<ExtendedBlockId, Future<?>> again = new ConcurrentHashMap<>();
  private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, task -> {
    Thread thread = new Thread(task, "TierReports");
    thread.setDaemon(true);
    return thread;
  });

  PlaceReports(TierDataset dataset) {
    this.dataset = dataset;
    timer.setRemoveOnCancelPolicy(true);
  }

  void stop() {
    timer.shutdownNow();
    again.clear();
  }

  /** What a NameNode was told of a replica. */
  private static final class Told {
    private final Block block;
    private final FsVolumeSpi where;

    Told(FinalizedReplica replica) {
      block = new Block(replica);
      where = replica.getVolume();
    }

    boolean isTrueOf(ReplicaInfo now) {
      return where == now.getVolume() && block.getGenerationStamp() == now.getGenerationStamp()
          && block.getNumBytes() == now.getNumBytes();
    }
  }

  /** Tells of a replica now, and once more later. Not under the dataset's lock. */
  void tell(ExtendedBlockId block) {
    Told told = tellNow(block, null);
    again.compute(block, (id, before) -> {
      if (before != null) {
        before.cancel(false);
      }
      try {
        return timer.schedule(() -> tellAgain(id, told), AGAIN_MS, TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException e) {
        return null; // the DataNode ends: its next start reports all
      }
    });
  }

  private void tellAgain(ExtendedBlockId block, Told before) {
    again.remove(block);
    if (dataset.isOpen(block.getBlockPoolId())) {
      tellNow(block, before);
    }
  }

  /**
   * Tells of a replica until it is what was told.
   *
   * @param before what was told of it earlier; null: nothing
   * @return what it is now; null if it is gone
   */
  private Told tellNow(ExtendedBlockId block, Told before) {
    String pool = block.getBlockPoolId();
    Told last = before;
    boolean isTold = false;
    while (true) {
      ReplicaInfo now = dataset.volumeMap.get(pool, block.getBlockId());
      if (now == null && last != null) {
        dataset.reportDeleted(pool, last.block, last.where);
        last = null;
      } else if (now instanceof FinalizedReplica && (!isTold || last == null || !last.isTrueOf(now))) {
        last = new Told((FinalizedReplica) now);
        isTold = true;
        dataset.reportReceived(pool, last.block, last.where);
      } else {
        return last; // a replica that is being written is reported when that ends
      }
    }
  }
}

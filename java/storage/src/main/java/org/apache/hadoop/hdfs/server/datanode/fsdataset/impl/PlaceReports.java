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
 * machine it may be on another tier by then. They report what they have deleted once its files are gone: the DataNode
 * may have a copy of the block again by then. So a replica that has moved or come back is told once more after five
 * seconds, and one that the NameNode has sent to a DataNode which has it, whenever that is. Thread-safe.
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

  /** Tells of a replica now, and once more later. Not under the dataset's lock. */
  void tell(ExtendedBlockId block) {
    tellNow(block);
    again.compute(block, (id, before) -> {
      if (before != null) {
        before.cancel(false);
      }
      try {
        return timer.schedule(() -> tellAgain(id), AGAIN_MS, TimeUnit.MILLISECONDS);
      } catch (RejectedExecutionException e) {
        return null; // the DataNode ends: its next start reports all
      }
    });
  }

  private void tellAgain(ExtendedBlockId block) {
    again.remove(block);
    if (dataset.isOpen(block.getBlockPoolId())) {
      tellNow(block);
    }
  }

  private void tellNow(ExtendedBlockId block) {
    String pool = block.getBlockPoolId();
    Block told = null;
    FsVolumeSpi where = null;
    while (true) {
      ReplicaInfo now = dataset.volumeMap.get(pool, block.getBlockId());
      if (now == null && told != null) {
        dataset.reportDeleted(pool, told, where);
        told = null;
      } else if (now instanceof FinalizedReplica && !isTold((FinalizedReplica) now, told, where)) {
        told = new Block(now);
        where = now.getVolume();
        dataset.reportReceived(pool, told, where);
      } else {
        return; // a replica that is being written is reported when that ends
      }
    }
  }

  private static boolean isTold(FinalizedReplica now, Block told, FsVolumeSpi where) {
    return told != null && where == now.getVolume() && told.getGenerationStamp() == now.getGenerationStamp()
        && told.getNumBytes() == now.getNumBytes();
  }
}

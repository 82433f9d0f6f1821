package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.TierSettings;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;

/** Replica stores that run something once, after a move and before it is reported to the NameNode. */
public class ReportHook extends TierFactory {
  private static final AtomicReference<Runnable> NEXT = new AtomicReference<>();
  private static final AtomicReference<Runnable> NEXT_DELETION = new AtomicReference<>();

  /** What to run before the next report of a move. */
  static void beforeNextReport(Runnable run) {
    NEXT.set(run);
  }

  /** What to run before it is next reported that a replica which had moved is gone. */
  static void beforeNextDeletion(Runnable run) {
    NEXT_DELETION.set(run);
  }

  private static void run(AtomicReference<Runnable> next) {
    Runnable run = next.getAndSet(null);
    if (run != null) {
      run.run();
    }
  }

  @Override
  public FsDatasetImpl newInstance(DataNode datanode, DataStorage storage, Configuration conf) throws IOException {
    return new TierDataset(datanode, storage, conf, TierSettings.of(conf)) {
      @Override
      void reportReceived(String pool, Block block, FsVolumeSpi volume) {
        ReportHook.run(NEXT);
        super.reportReceived(pool, block, volume);
      }

      @Override
      void reportDeleted(String pool, Block block, FsVolumeSpi volume) {
        ReportHook.run(NEXT_DELETION);
        super.reportDeleted(pool, block, volume);
      }
    };
  }
}

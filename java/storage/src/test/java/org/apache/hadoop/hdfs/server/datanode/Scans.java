package org.apache.hadoop.hdfs.server.datanode;

import java.io.IOException;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;

/** Has upstream's scanner look at blocks. */
public final class Scans {
  private Scans() {
  }

  /** Has a block scanned before others; once in ten minutes. */
  public static void suspect(DataNode node, ExtendedBlock block) throws IOException {
    node.getBlockScanner().markSuspectBlock(node.getFSDataset().getVolume(block).getStorageID(), block);
  }
}

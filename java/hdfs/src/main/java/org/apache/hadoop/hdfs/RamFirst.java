package org.apache.hadoop.hdfs;

import io.howdah.upgrade.Options;
import java.net.InetSocketAddress;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.net.NetUtils;

/**
 * Which replica a reader asks for first, in a storage mode ({@code dfs.rdma.hhh.mode}): one on its own node, as
 * upstream has it; else one in RAM, which a fabric brings faster than a disk near by reads. A DataNode that serves far
 * more than the others with the block keeps its place, so that a block that everybody reads is not read from one node
 * alone. Without a mode the order is the NameNode's. Thread-safe: the order of a block is the same whoever asks, and
 * made once.
 */
final class RamFirst {
  /** Transfers of a DataNode that are never too many. */
  private static final int FEW = 8;

  private RamFirst() {}

  /** Puts a block's locations in order. Whoever chooses among them calls this first. */
  static void order(LocatedBlock block, DFSClient client) {
    int ram = inRam(block);
    if (ram > 0 && !client.getConfiguration().getTrimmed(Options.STORAGE_MODE.key(), "").isEmpty()
        && !isLocal(block.getLocations()[0], client)) {
      toFront(block);
    }
  }

  private static void toFront(LocatedBlock block) {
    synchronized (block) {
      int ram = inRam(block);
      DatanodeInfo[] nodes = block.getLocations();
      if (ram > 0) {
        DatanodeInfo first = nodes[ram];
        System.arraycopy(nodes, 0, nodes, 1, ram);
        nodes[0] = first;
        block.updateCachedStorageInfo();
      }
    }
  }

  /** The place of the first replica in RAM that is to be asked; -1: there is none. */
  private static int inRam(LocatedBlock block) {
    StorageType[] types = block.getStorageTypes();
    DatanodeInfo[] nodes = block.getLocations();
    for (int i = 0; types != null && i < Math.min(types.length, nodes.length); i++) {
      if (types[i] == StorageType.RAM_DISK && nodes[i].getAdminState() == DatanodeInfo.AdminStates.NORMAL
          && nodes[i].getXceiverCount() <= FEW + 2 * fewest(nodes)) {
        return i;
      }
    }
    return -1;
  }

  private static int fewest(DatanodeInfo[] nodes) {
    int fewest = Integer.MAX_VALUE / 4;
    for (DatanodeInfo node : nodes) {
      fewest = Math.min(fewest, node.getXceiverCount());
    }
    return fewest;
  }

  private static boolean isLocal(DatanodeInfo node, DFSClient client) {
    InetSocketAddress address =
        NetUtils.createSocketAddr(node.getXferAddr(client.getConf().isConnectToDnViaHostname()));
    return !address.isUnresolved() && DFSUtilClient.isLocalAddress(address);
  }
}

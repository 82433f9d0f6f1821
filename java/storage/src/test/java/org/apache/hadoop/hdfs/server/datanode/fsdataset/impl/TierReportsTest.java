package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.storage.Reason;
import java.io.File;
import java.nio.file.Files;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManagerTestUtil;
import org.apache.hadoop.hdfs.server.blockmanagement.Placement;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.namenode.Inodes;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.hdfs.server.protocol.ReceivedDeletedBlockInfo.BlockStatus;
import org.apache.hadoop.hdfs.server.protocol.ReceivedDeletedBlockInfo;
import org.apache.hadoop.hdfs.server.protocol.StorageReceivedDeletedBlocks;
import org.apache.hadoop.util.AutoCloseableLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a NameNode believes of replicas that were moved, deleted or lost, from what DataNodes tell it. */
@SuppressWarnings("try") // locks are held, not used
@ExtendWith(TierCluster.Shared.class)
class TierReportsTest {
  private static final int MB = 1 << 20;

  @Test
  void aDamagedReplicaThatIsNoLongerKnownDoesNotHideTheOthers(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", 1000, 2);
    hdfs.await(path, RAM_DISK, SSD);
    LocatedBlock block = hdfs.blocks(path).get(0);
    Set<String> holders = new TreeSet<>();
    for (DatanodeInfo node : block.getLocations()) {
      holders.add(node.getDatanodeUuid());
    }
    DataNode other = hdfs.cluster.getDataNodes().stream()
        .filter(node -> !holders.contains(node.getDatanodeUuid())).findFirst().get();
    Placement.saidDamaged(hdfs.namesystem().getBlockManager(), block.getBlock().getLocalBlock(), other.getDatanodeId());
    assertThat(hdfs.blocks(path).get(0).getLocations()).hasSize(2);
    assertThat(hdfs.blocks(path).get(0).isCorrupt()).isFalse();
  }

  @Test
  void aReplicaThatADataNodeHasDeletedBeforeItEndedAndDidNotTellIsReplaced(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", 1000, 2);
    hdfs.await(path, RAM_DISK, SSD);
    TierDataset holder = hdfs.holder(path, SSD);
    ReplicaInfo replica = hdfs.replica(holder, path);
    File list = new File(((TierVolume) replica.getVolume()).getBlockPoolSlice(hdfs.pool()).getDirectory(),
        "current/replicas"); // upstream trusts it for five minutes
    DataNodeProperties stopped = hdfs.cluster.stopDataNode(holder.datanode.getDatanodeId().getXferAddr());
    Files.delete(replica.getBlockFile().toPath());
    Files.delete(replica.getMetaFile().toPath());
    Files.delete(list.toPath());
    hdfs.cluster.restartDataNode(stopped);
    hdfs.cluster.waitActive();
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return hdfs.datasets().stream().filter(dataset -> hdfs.has(dataset, path)).count() == 2;
    }, () -> hdfs.blocks(path));
    hdfs.await(path, RAM_DISK, SSD);
  }

  /** The NameNode tells DataNodes once a second what to delete: the append begins before it has. */
  @Test
  void aReplicaThatIsKeptByAnAppendCountsWhenReplicationIsRaisedAgain(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", 1000, 3);
    hdfs.await(path, RAM_DISK, SSD, DISK);
    hdfs.fs.setReplication(path, (short) 1);
    hdfs.fs.append(path).close();
    hdfs.fs.setReplication(path, (short) 3);
    BlockManager blocks = hdfs.namesystem().getBlockManager();
    TierCluster.awaitThat(() -> {
      hdfs.report();
      BlockManagerTestUtil.updateState(blocks);
      return blocks.getExcessBlocksCount() == 0 && blocks.getUnderReplicatedBlocksCount() == 0
          && hdfs.blocks(path).get(0).getLocations().length == 3;
    }, () -> blocks.getExcessBlocksCount() + " excess, " + hdfs.blocks(path));
  }

  /** As after a pipeline lost its SSD and replication was lowered. */
  @Test
  void aBlockThatIsInRamAloneGetsAPersistentReplica(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", MB, 1);
    hdfs.await(path, SSD);
    TierDataset holder = hdfs.holder(path, SSD);
    assertThat(holder.move(hdfs.pool(), (FinalizedReplica) hdfs.replica(holder, path),
        holder.volumes(RAM_DISK).get(0), Reason.COMMAND, null)).isTrue();
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return !hdfs.has(holder, path);
    }, () -> hdfs.types(path));
    hdfs.await(path, SSD);
    hdfs.assertHolds(path, MB);
    assertThat(hdfs.namesystem().getBlockManager().getUnderReplicatedBlocksCount()).isZero();
  }

  /** Upstream's reports of the DataNode end for good if it has to name a storage that is gone. */
  @Test
  void aReplicaThatWasInAFolderWhichIsGoneByThenIsNotReported(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", MB, 2);
    hdfs.await(path, RAM_DISK, SSD);
    TierDataset holder = hdfs.holder(path, SSD);
    ReplicaInfo replica = hdfs.replica(holder, path);
    String all = TierCluster.folders(holder.datanode);
    hdfs.useFolders(holder.datanode, TierCluster.without("SSD", all));
    try {
      holder.reportReceived(hdfs.pool(), replica, replica.getVolume());
      holder.reportDeleted(hdfs.pool(), replica, replica.getVolume());
      DataNodeTestUtils.triggerBlockReport(holder.datanode);
      Path later = hdfs.write("/later", MB, 3);
      hdfs.await(later, RAM_DISK, SSD, DISK);
    } finally {
      hdfs.useFolders(holder.datanode, all);
    }
    hdfs.await(path, 2);
  }

  @Test
  void aReportOfAllReplicasWaitsWhileTheyChange(TierCluster hdfs) throws Exception {
    hdfs.await(hdfs.write("/file", 1000, 1), SSD);
    TierDataset dataset = hdfs.dataset(0);
    Thread report = new Thread(() -> dataset.getBlockReports(hdfs.pool()));
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      report.start();
      TierCluster.awaitThat(() -> report.getState() == Thread.State.WAITING, report::getState);
    }
    report.join();
  }

  /** Between the deletion of a snapshot and that of its blocks. */
  @Test
  void aReportOfABlockWhoseFileHasJustGoneIsNotTaken(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", 1000, 1);
    hdfs.await(path, SSD);
    Block block = hdfs.blocks(path).get(0).getBlock().getLocalBlock();
    TierDataset holder = hdfs.holder(path, SSD);
    DatanodeStorage disk = holder.getStorage(holder.volumes(DISK).get(0).getStorageID());
    Inodes.without(hdfs.namesystem(), path.toString(), () -> hdfs.namesystem().getBlockManager()
        .processIncrementalBlockReport(holder.datanode.getDatanodeId(), new StorageReceivedDeletedBlocks(disk,
            new ReceivedDeletedBlockInfo[] {new ReceivedDeletedBlockInfo(block, BlockStatus.RECEIVED_BLOCK, null)})));
    assertThat(hdfs.types(path)).containsExactly(Collections.singletonList(SSD));
    hdfs.assertHolds(path, 1000);
  }
}

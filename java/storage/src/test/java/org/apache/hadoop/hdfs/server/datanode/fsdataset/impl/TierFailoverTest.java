package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.ARCHIVE;
import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.assertj.core.api.Assertions.assertThat;

import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManagerTestUtil;
import org.apache.hadoop.hdfs.server.namenode.NameNodeAdapter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Another NameNode becomes the active one, in each mode: it knows what there is, and goes on in the same way. */
@EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
    disabledReason = "takes a minute: make unit-slow")
class TierFailoverTest extends SharedHdfs {
  private static final int MB = 1 << 20;

  /** The active NameNode hands over to the other one, which DataNodes have told all. */
  private void failOver(int from) throws Exception {
    hdfs.cluster.transitionToStandby(from);
    hdfs.cluster.transitionToActive(1 - from);
    hdfs.cluster.triggerBlockReports(); // what a DataNode is told to delete is not, before it has reported anew
    hdfs.report();
  }

  private void replicasAreWhereTheyWere(String mode, StorageType... types) throws Exception {
    try (TierCluster cluster = TierCluster.highlyAvailable(TierCluster.mode(mode), 3, TierCluster.THREE)) {
      hdfs = cluster;
      Path before = hdfs.write("/before", 2 * MB, 3);
      hdfs.await(before, types);
      hdfs.datasets().forEach(dataset -> dataset.shadows().round());
      FSDataOutputStream open = hdfs.fs.create(new Path("/open"), true, 4096, (short) 3, MB);
      open.write(TierCluster.bytes(MB / 2, 1));
      open.hflush();
      failOver(0);
      hdfs.await(before, types);
      hdfs.assertHolds(before, 2 * MB);
      open.write(TierCluster.bytes(MB / 2, 2));
      open.close();
      hdfs.await(new Path("/open"), types);
      Path after = hdfs.write("/after", MB, 3);
      hdfs.await(after, types);
      assertThat(hdfs.unpersisted()).hasSize(mode.equals("hhh-m") ? 2 : 0);
      hdfs.fs.setReplication(before, (short) 2);
      hdfs.await(before, types[0], types[1]);
      hdfs.cluster.restartNameNode(0);
      hdfs.cluster.waitActive();
      failOver(1);
      hdfs.await(before, types[0], types[1]);
      hdfs.await(after, types);
      assertThat(hdfs.namesystem().getMissingBlocksCount()).isZero();
      hdfs.assertHolds(before, 2 * MB);
      hdfs.assertHolds(after, MB);
    } finally {
      hdfs = null;
    }
  }

  @Test
  void inHhh() throws Exception {
    replicasAreWhereTheyWere("hhh", RAM_DISK, SSD, DISK);
  }

  @Test
  void inHhhM() throws Exception {
    replicasAreWhereTheyWere("hhh-m", RAM_DISK, RAM_DISK, RAM_DISK);
  }

  @Test
  void inHhhL() throws Exception {
    startHighlyAvailable("dfs.rdma.lustre.local.percentage=0.000001", "dfs.rdma.lustre.local.low.percentage=0.000001");
    Path local = hdfs.write("/local", MB, 1);
    awaitReplicas(local, 1, 2);
    hdfs.setCapacity(RAM_DISK, 0);
    Path left = hdfs.write("/left", MB, 1);
    leftToItsCopy(left);
    failOver(0);
    awaitReplicas(local, 1, 2);
    awaitReplicas(left, 1, 2);
    assertThat(types(left)).containsOnly(ARCHIVE);
    hdfs.cluster.restartNameNode(0); // it counts in safe mode, as the standby
    hdfs.cluster.waitActive();
    DatanodeID owner = hdfs.cluster.getDataNodes().get(owner(local)).getDatanodeId();
    DataNodeProperties stopped = end(owner(local));
    hdfs.assertHolds(local, MB);
    failOver(1);
    hdfs.assertHolds(local, MB);
    DFSTestUtil.setDatanodeDead(NameNodeAdapter.getDatanode(hdfs.namesystem(), owner));
    BlockManagerTestUtil.checkHeartbeat(hdfs.namesystem().getBlockManager());
    TierCluster.awaitThat(() -> {
      rounds();
      return replicas(local).liveReplicas() == 1;
    }, () -> replicas(local).liveReplicas());
    comeBack(stopped);
    for (Path path : new Path[] {local, left}) {
      awaitReplicas(path, 1, 2);
      hdfs.assertHolds(path, MB);
    }
    assertThat(hdfs.namesystem().getMissingBlocksCount()).isZero();
  }
}

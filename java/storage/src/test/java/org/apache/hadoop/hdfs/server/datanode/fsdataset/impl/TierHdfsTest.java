package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.BlockEvent;
import io.howdah.storage.BlockJournal;
import java.io.File;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyDefault;
import org.apache.hadoop.hdfs.server.blockmanagement.TierPlacement;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.junit.jupiter.api.Test;

/** The mode HHH on a whole HDFS. */
class TierHdfsTest {
  private static final int MB = 1 << 20;

  @Test
  void withoutAModeAllIsStock() throws Exception {
    try (TierCluster hdfs = new TierCluster(TierCluster.plain(new Configuration()), 1, DISK)) {
      assertThat(hdfs.store(0).getClass()).isEqualTo(FsDatasetImpl.class);
      assertThat(hdfs.cluster.getNamesystem().getBlockManager().getBlockPlacementPolicy().getClass())
          .isEqualTo(BlockPlacementPolicyDefault.class);
      hdfs.assertHolds(hdfs.write("/stock", MB, 1), MB);
    }
  }

  @Test
  void replicasGoWhereTheyAreWanted() throws Exception {
    try (TierCluster hdfs = new TierCluster(TierCluster.hhh(), 4, TierCluster.THREE)) {
      assertThat(hdfs.cluster.getNamesystem().getBlockManager().getBlockPlacementPolicy())
          .isInstanceOf(TierPlacement.class);
      Path three = hdfs.write("/three", 3 * MB + 100, 3);
      hdfs.await(three, RAM_DISK, SSD, DISK);
      hdfs.assertHolds(three, 3 * MB + 100);
      hdfs.fs.setReplication(three, (short) 2);
      hdfs.await(three, RAM_DISK, SSD);
      hdfs.fs.setReplication(three, (short) 1);
      hdfs.await(three, SSD);
      hdfs.fs.setReplication(three, (short) 3);
      hdfs.await(three, RAM_DISK, SSD, DISK);
      hdfs.assertHolds(three, 3 * MB + 100);
      hdfs.await(hdfs.write("/one", MB, 1), SSD);
      hdfs.fs.mkdirs(new Path("/cold"));
      hdfs.fs.setStoragePolicy(new Path("/cold"), "ONE_SSD");
      hdfs.await(hdfs.write("/cold/file", MB, 3), SSD, DISK, DISK); // another policy stays what it is
    }
  }

  @Test
  void aBlockIsNeverInRamAlone() throws Exception {
    try (TierCluster hdfs = new TierCluster(TierCluster.hhh(), 2, TierCluster.THREE)) {
      hdfs.await(hdfs.write("/before", MB, 2), RAM_DISK, SSD);
      for (TierDataset dataset : hdfs.datasets()) {
        for (StorageType type : new StorageType[] {SSD, DISK}) {
          dataset.volumes(type).forEach(volume -> volume.setCapacityForTesting(0));
        }
      }
      hdfs.report();
      Thread.sleep(1100); // the NameNode looks at levels once a second
      assertThatThrownBy(() -> hdfs.write("/after", MB, 2)).hasMessageContaining("could only be replicated to 0 nodes");
    }
  }

  @Test
  void ramIsFilledUpToItsThresholdAndColdReplicasLeaveIt() throws Exception {
    Configuration conf = TierCluster.hhh();
    conf.setLong("dfs.rdma.memory.capacity", 20 * MB);
    conf.setInt("dfs.replication", 2);
    try (TierCluster hdfs = new TierCluster(conf, 2, TierCluster.THREE)) {
      int files = 40;
      for (int i = 0; i < files; i++) {
        hdfs.write("/file" + i, MB, 2);
      }
      hdfs.report();
      for (TierDataset dataset : hdfs.datasets()) {
        TierVolume ram = dataset.volumes(RAM_DISK).get(0);
        assertThat(ram.getCapacity()).isEqualTo(14 * MB);
        assertThat(ram.filled()).isBetween(11L * MB, 14L * MB);
        assertThat(ram.isPressed()).isTrue();
      }
      hdfs.read(new Path("/file0"));
      hdfs.read(new Path("/file0"));
      hdfs.rounds();
      for (TierDataset dataset : hdfs.datasets()) {
        TierVolume ram = dataset.volumes(RAM_DISK).get(0);
        assertThat(ram.filled()).isBetween(10L * MB, 12L * MB);
        assertThat(dataset.counts().moves.sum()).isPositive();
        assertThat(dataset.counts().failures.sum()).isZero();
      }
      assertThat(hdfs.types(new Path("/file0")).get(0)).as("it was read").contains(RAM_DISK);
      for (int i = 0; i < files; i++) {
        Path path = new Path("/file" + i);
        TierCluster.awaitThat(() -> hdfs.types(path).get(0).size() == 2, () -> hdfs.types(path));
        hdfs.assertHolds(path, MB);
        assertNameNodeKnows(hdfs, path);
      }
    }
  }

  private static void assertNameNodeKnows(TierCluster hdfs, Path path) throws Exception {
    TierCluster.awaitThat(() -> {
      List<StorageType> there = hdfs.datasets().stream()
          .map(dataset -> replica(hdfs, dataset, path)).filter(replica -> replica != null)
          .map(replica -> replica.getVolume().getStorageType()).sorted().collect(Collectors.toList());
      return there.equals(hdfs.types(path).get(0));
    }, () -> hdfs.types(path));
  }

  private static ReplicaInfo replica(TierCluster hdfs, TierDataset dataset, Path path) {
    try {
      return dataset.volumeMap.get(hdfs.pool(), hdfs.blocks(path).get(0).getBlock().getBlockId());
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  void aDataNodeWithoutRoomTakesTheNextTierAndSaysWhy() throws Exception {
    Configuration conf = TierCluster.hhh();
    conf.setLong("dfs.rdma.memory.capacity", 2 * MB);
    try (TierCluster hdfs = new TierCluster(conf, 1, RAM_DISK, SSD)) {
      TierDataset dataset = hdfs.dataset(0);
      assertThat(created(hdfs, dataset, 1, RAM_DISK)).endsWith("\tcreated\tRAM_DISK\tRAM_DISK\tasked");
      assertThat(created(hdfs, dataset, 2, RAM_DISK)).endsWith("\tcreated\tRAM_DISK\tSSD\tram-full");
      assertThat(created(hdfs, dataset, 3, SSD)).endsWith("\tcreated\tSSD\tSSD\tasked");
      assertThatThrownBy(() -> created(hdfs, dataset, 4, DISK)).hasMessageContaining("No more available volumes");
      dataset.volumes(SSD).get(0).setCapacityForTesting(0);
      assertThatThrownBy(() -> created(hdfs, dataset, 5, RAM_DISK)).hasMessageContaining("Out of space");
    }
  }

  private static String created(TierCluster hdfs, TierDataset dataset, long id, StorageType type) throws Exception {
    ExtendedBlock block = new ExtendedBlock(hdfs.pool(), id, MB, 1);
    dataset.createRbw(type, block, false).close();
    List<BlockEvent> events = dataset.journal().of(new ExtendedBlockId(id, hdfs.pool()));
    assertThat(events).hasSize(1);
    return events.get(0).toString();
  }

  @Test
  void whatIsReadOftenIsCopiedToRam() throws Exception {
    try (TierCluster hdfs = new TierCluster(TierCluster.hhh(), 1, TierCluster.THREE)) {
      Path path = hdfs.write("/hot", 2 * MB, 1);
      hdfs.await(path, SSD);
      TierDataset dataset = hdfs.dataset(0);
      hdfs.assertHolds(path, 2 * MB);
      hdfs.assertHolds(path, 2 * MB);
      hdfs.rounds();
      assertThat(dataset.copies().size()).isZero();
      hdfs.assertHolds(path, 2 * MB);
      hdfs.rounds();
      assertThat(dataset.copies().size()).isEqualTo(2);
      assertThat(dataset.counts().readsFromRam.sum()).isZero();
      hdfs.assertHolds(path, 2 * MB);
      assertThat(dataset.counts().readsFromRam.sum()).isEqualTo(2);
      hdfs.await(path, SSD); // the replica is where it was
      byte[] more = TierCluster.bytes(1000, 5);
      try (FSDataOutputStream out = hdfs.fs.append(path)) {
        out.write(more);
      }
      byte[] read = hdfs.read(path);
      assertThat(java.util.Arrays.copyOfRange(read, 2 * MB, read.length)).isEqualTo(more);
      hdfs.fs.delete(path, false);
      TierCluster.awaitThat(() -> dataset.copies().size() == 0, () -> dataset.copies().size());
    }
  }

  @Test
  void copiesMakeRoomForBlocksAndNoneIsMadeAboveTheLowMark() throws Exception {
    Configuration conf = TierCluster.hhh();
    conf.setLong("dfs.rdma.memory.capacity", 5 * MB); // 3.5 MB to fill, 3 MB low
    conf.setInt("dfs.rdma.promotion.reads", 1);
    try (TierCluster hdfs = new TierCluster(conf, 1, TierCluster.THREE)) {
      TierDataset dataset = hdfs.dataset(0);
      for (int i = 0; i < 4; i++) {
        hdfs.assertHolds(hdfs.write("/hot" + i, MB, 1), MB);
      }
      hdfs.rounds();
      assertThat(dataset.copies().size()).isEqualTo(2);
      created(hdfs, dataset, 1, RAM_DISK);
      created(hdfs, dataset, 2, RAM_DISK);
      assertThat(dataset.copies().size()).isEqualTo(1);
      created(hdfs, dataset, 3, RAM_DISK);
      assertThat(dataset.copies().size()).isZero();
      for (int i = 0; i < 4; i++) {
        hdfs.assertHolds(new Path("/hot" + i), MB);
      }
    }
  }

  @Test
  void aReplicaThatGrowsLeavesFullRam() throws Exception {
    Configuration conf = TierCluster.hhh();
    conf.setInt("dfs.replication", 2);
    try (TierCluster hdfs = new TierCluster(conf, 2, TierCluster.THREE)) {
      Path path = hdfs.write("/grows", 100, 2);
      hdfs.await(path, RAM_DISK, SSD);
      for (TierDataset dataset : hdfs.datasets()) {
        dataset.volumes(RAM_DISK).get(0).setCapacityForTesting(1000);
      }
      try (FSDataOutputStream out = hdfs.fs.append(path)) {
        out.write(new byte[MB / 2]);
      }
      hdfs.await(path, SSD, SSD);
      assertThat(hdfs.read(path)).hasSize(100 + MB / 2);
    }
  }

  @Test
  void aRestartFindsReplicasAndWhatHappenedToThem() throws Exception {
    Configuration conf = TierCluster.hhh();
    conf.setInt("dfs.replication", 2);
    try (TierCluster hdfs = new TierCluster(conf, 2, TierCluster.THREE)) {
      Path path = hdfs.write("/file", MB, 2);
      hdfs.await(path, RAM_DISK, SSD);
      long id = hdfs.blocks(path).get(0).getBlock().getBlockId();
      ExtendedBlockId key = new ExtendedBlockId(id, hdfs.pool());
      TierDataset holder = hdfs.datasets().stream().filter(dataset ->
          replica(hdfs, dataset, path).getVolume().getStorageType() == RAM_DISK).findFirst().get();
      int index = hdfs.datasets().indexOf(holder);
      TierVolume disk = holder.volumes(DISK).get(0);
      assertThat(holder.move(hdfs.pool(), (FinalizedReplica) replica(hdfs, holder, path), disk,
          io.howdah.storage.Reason.COLD, null)).isTrue();
      hdfs.await(path, SSD, DISK);
      List<String> before = holder.journal().of(key).stream().map(String::valueOf).collect(Collectors.toList());
      assertThat(before).hasSize(2).last().asString().endsWith("moved\tRAM_DISK\tDISK\tcold");
      hdfs.cluster.restartDataNode(index, true);
      hdfs.cluster.waitActive();
      TierDataset again = hdfs.datasets().stream().filter(dataset -> dataset.datanode.getDatanodeUuid()
          .equals(holder.datanode.getDatanodeUuid())).findFirst().get();
      // The line of its creation is in the folder that it left.
      assertThat(again.journal().of(key)).hasSize(1).last().asString().isEqualTo(before.get(1));
      assertThat(new File(disk.getBasePath(), BlockJournal.FILE)).exists();
      hdfs.assertHolds(path, MB);
    }
  }

  @Test
  void aStockDataNodeTakesPart() throws Exception {
    Configuration stock = new Configuration(false);
    stock.set("dfs.rdma.hhh.mode", "");
    Configuration mode = new Configuration(false);
    mode.set("dfs.rdma.hhh.mode", "hhh");
    Configuration conf = TierCluster.plain(new Configuration());
    conf.addResource(mode); // what is set by set() hides what a DataNode's own configuration has
    try (TierCluster hdfs = new TierCluster(conf, TierCluster.THREE,
        new Configuration[] {stock, new Configuration(false), new Configuration(false)})) {
      assertThat(hdfs.store(0).getClass()).isEqualTo(FsDatasetImpl.class);
      for (int i = 0; i < 6; i++) {
        Path path = hdfs.write("/file" + i, MB, 3);
        hdfs.await(path, RAM_DISK, SSD, DISK);
        hdfs.assertHolds(path, MB);
      }
    }
  }

  @Test
  void whatCannotBeDoneIsRefusedAtTheStart() {
    Configuration conf = TierCluster.hhh();
    conf.set("dfs.datanode.data.dir", "[RAM_DISK]/proc/howdah,[DISK]/tmp/howdah");
    assertThatThrownBy(() -> new TierFactory().newInstance(null, null, conf))
        .hasMessageStartingWith("[RAM_DISK]/proc/howdah of dfs.datanode.data.dir is on proc, not in RAM: ");
    conf.set("dfs.datanode.data.dir", "[RAM_DISK]/dev/shm/howdah");
    assertThatThrownBy(() -> new TierFactory().newInstance(null, null, conf))
        .hasMessageContaining("[RAM_DISK] folders only");
    conf.set("dfs.datanode.data.dir", "[RAM_DISK]/dev/shm/howdah,[DISK]/tmp/howdah");
    conf.set("dfs.rdma.memory.capacity", "1000t");
    assertThatThrownBy(() -> new TierFactory().newInstance(null, null, conf))
        .hasMessageStartingWith("dfs.rdma.memory.capacity=").hasMessageContaining("[RAM_DISK]/dev/shm/howdah");
    conf.set("dfs.rdma.hhh.mode", "Lustre");
    assertThatThrownBy(() -> new TierFactory().newInstance(null, null, conf)).hasMessageContaining("HHH-L");
    assertThatThrownBy(() -> new TierCluster(conf, 1, DISK).close()).hasMessageContaining("dfs.rdma.hhh.mode=Lustre");
  }
}

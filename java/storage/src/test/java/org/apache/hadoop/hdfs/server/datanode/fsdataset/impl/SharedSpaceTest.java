package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.ARCHIVE;
import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.storage.BlockEvent;
import java.io.File;
import java.io.RandomAccessFile;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.util.Time;
import org.junit.jupiter.api.Test;

/** Local replicas that are given up for their copies on the shared path. */
class SharedSpaceTest extends SharedHdfs {
  private static final int MB = 1 << 20;
  private static final String[] AT_ONCE = {"dfs.rdma.lustre.local.percentage=0.000001",
      "dfs.rdma.lustre.local.low.percentage=0.000001"};

  /** Blocks go to disk. */
  private void startWithoutRam(String... settings) throws Exception {
    begin(settings);
    hdfs.setCapacity(RAM_DISK, 0);
  }

  private ExtendedBlockId id(Path path) throws Exception {
    return new ExtendedBlockId(hdfs.blocks(path).get(0).getBlock().getBlockId(), hdfs.pool());
  }

  @Test
  void theColdestLeaveADiskThatIsFilled() throws Exception {
    startWithoutRam("dfs.rdma.lustre.local.percentage=0.25", "dfs.rdma.lustre.local.low.percentage=0.15");
    hdfs.setCapacity(DISK, 10 * MB);
    List<Path> paths = new ArrayList<>();
    for (int i = 0; i < 12; i++) { // three or more on one of four DataNodes
      paths.add(hdfs.write("/file" + i, MB, 1));
      if (i % 2 == 0) {
        hdfs.assertHolds(paths.get(i), MB);
      }
    }
    rounds();
    int left = 0;
    for (TierDataset dataset : hdfs.datasets()) {
      assertThat(dataset.volumes(DISK).get(0).fill()).isLessThanOrEqualTo(0.25);
      double warmestLeft = 0;
      double coldestLocal = Double.MAX_VALUE;
      for (ReplicaInfo replica : dataset.volumeMap.replicas(hdfs.pool())) {
        double weight = dataset.uses().weight(new ExtendedBlockId(replica.getBlockId(), hdfs.pool()),
            Time.monotonicNow());
        if (replica.getVolume().getStorageType() == DISK) {
          coldestLocal = Math.min(coldestLocal, weight);
        } else if (dataset.shared().has(hdfs.pool(), replica.getBlockId())) {
          left++;
          warmestLeft = Math.max(warmestLeft, weight);
        }
      }
      assertThat(warmestLeft).as("decayed by some milliseconds at most").isLessThan(coldestLocal + 0.5);
    }
    assertThat(left).isBetween(2, 11);
    for (Path path : paths) {
      awaitReplicas(path, 1, 2);
      hdfs.assertHolds(path, MB);
    }
    assertThat(sharedFiles()).hasSize(24);
  }

  @Test
  void aBlockWithoutLocalFilesIsReadAppendedToKnownAfterARestartAndDeleted() throws Exception {
    startWithoutRam(AT_ONCE);
    Path path = hdfs.write("/file", MB / 2, 1);
    TierDataset owner = hdfs.dataset(owner(path));
    File local = hdfs.replica(owner, path).getBlockFile();
    assertThat(leftToItsCopy(path)).isSameAs(owner);
    assertThat(local).doesNotExist();
    hdfs.assertHolds(path, MB / 2);
    DataNodeTestUtils.runDirectoryScanner(owner.datanode);
    hdfs.assertHolds(path, MB / 2);
    try (FSDataOutputStream out = hdfs.fs.append(path)) {
      out.write(TierCluster.bytes(1000, 1));
    }
    assertThat(hdfs.replica(owner, path).getVolume().getStorageType()).isEqualTo(DISK);
    assertThat(leftToItsCopy(path)).isSameAs(owner);
    assertThat(hdfs.read(path)).hasSize(MB / 2 + 1000).endsWith(TierCluster.bytes(1000, 1));
    owner.mover().round(); // writes the journal
    DataNodeProperties stopped = end(hdfs.datasets().indexOf(owner));
    comeBack(stopped);
    TierCluster.awaitThat(() -> ownerWithoutFiles(path) != null, () -> types(path)); // before any look at the path
    List<BlockEvent> events = ownerWithoutFiles(path).journal().of(id(path));
    assertThat(events.get(events.size() - 1).toString()).contains("DISK\tARCHIVE\tcold");
    awaitReplicas(path, 1, 2);
    assertThat(hdfs.read(path)).hasSize(MB / 2 + 1000);
    hdfs.fs.delete(path, false);
    TierCluster.awaitThat(() -> {
      rounds();
      return sharedFiles().isEmpty();
    }, this::sharedFiles);
  }

  @Test
  void whatIsDeletedDuringARollingUpgradeIsThereForARollback() throws Exception {
    startWithoutRam(AT_ONCE);
    Path path = hdfs.write("/file", MB / 2, 1);
    TierDataset owner = leftToItsCopy(path);
    Block block = hdfs.blocks(path).get(0).getBlock().getLocalBlock();
    owner.enableTrash(hdfs.pool()); // as a heartbeat's answer has it done
    try {
      hdfs.fs.delete(path, false);
      rounds();
      owner.invalidate(hdfs.pool(), new Block[] {block}); // as the NameNode has, or will have it done
      rounds();
      assertThat(owner.volumeMap.get(hdfs.pool(), block.getBlockId())).isNotNull();
      assertThat(sharedFiles()).hasSize(2);
    } finally {
      owner.clearTrash(hdfs.pool());
    }
    TierCluster.awaitThat(() -> {
      rounds();
      hdfs.reportAll();
      return sharedFiles().isEmpty();
    }, this::sharedFiles);
  }

  @Test
  void whatHasNoWholeCopyIsBeingDeletedOrHasChangedStaysAndWhatIsHotComesToRam() throws Exception {
    startWithoutRam(AT_ONCE);
    whatHasNoWholeCopy();
    whatIsBeingDeletedOrHasChanged();
    hotCopiesComeToRamAndNoJournalIsOnTheSharedPath();
  }

  private void whatHasNoWholeCopy() throws Exception {
    Path path = hdfs.write("/file", MB / 2, 1);
    int owner = owner(path);
    File copy = new File(folderOf(hdfs.replica(hdfs.dataset(owner), path)),
        hdfs.replica(hdfs.dataset(owner), path).getBlockName());
    try (RandomAccessFile file = new RandomAccessFile(copy, "rw")) {
      file.setLength(MB / 2 - 1);
    }
    rounds();
    assertThat(owner(path)).isEqualTo(owner);
    hdfs.assertHolds(path, MB / 2);
  }

  private void whatIsBeingDeletedOrHasChanged() throws Exception {
    Path path = hdfs.write("/other", MB / 2, 1);
    SharedDataset owner = (SharedDataset) hdfs.dataset(owner(path));
    FinalizedReplica replica = (FinalizedReplica) hdfs.replica(owner, path);
    owner.shared().deleting(hdfs.pool(), replica.getBlockId());
    rounds();
    assertThat(hdfs.replica(owner, path)).isSameAs(replica);
    owner.shared().deleted(hdfs.pool(), replica.getBlockId(), false);
    try (FSDataOutputStream out = hdfs.fs.append(path)) {
      out.write(1);
      out.hflush();
      rounds();
      assertThat(owner.giveUp(hdfs.pool(), replica, io.howdah.storage.Reason.COLD)).isFalse();
    }
    assertThat(hdfs.read(path)).hasSize(MB / 2 + 1);
  }

  private void hotCopiesComeToRamAndNoJournalIsOnTheSharedPath() throws Exception {
    Path path = hdfs.write("/hot", MB / 2, 1);
    TierDataset owner = leftToItsCopy(path);
    owner.volumes(RAM_DISK).get(0).setCapacityForTesting(-1);
    owner.mover().promote(id(path));
    owner.mover().round();
    assertThat(owner.copies().has(id(path))).isTrue();
    owner.mover().round();
    assertThat(owner.journal().of(id(path)).toString()).contains("copied");
    assertThat(shared.toFile().list()).containsExactly(hdfs.pool());
    assertThat(types(path)).containsOnly(ARCHIVE);
    hdfs.assertHolds(path, MB / 2);
  }
}

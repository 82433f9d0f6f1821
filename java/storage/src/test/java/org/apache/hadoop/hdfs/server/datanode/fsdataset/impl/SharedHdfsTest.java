package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.ARCHIVE;
import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.BlockJournal;
import io.howdah.storage.Reason;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.hdfs.DFSOutputStream;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.junit.jupiter.api.Test;

/** The mode HHH-L on a whole HDFS: DataNodes, files and the path go and come back. */
class SharedHdfsTest extends SharedHdfs {
  private static final int MB = 1 << 20;
  private static final Pattern SAFE = Pattern.compile("reported blocks (\\d+) .*total blocks (\\d+)");

  @Test
  void aFileOutlivesItsDataNode() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", MB + 1000, 1);
    assertThat(sharedFiles()).as("two blocks and their meta files").hasSize(4);
    assertThat(hdfs.types(path).get(0)).containsExactly(RAM_DISK);
    awaitReplicas(path, 1, 2);
    assertThat(hdfs.fs.getContentSummary(path).getSpaceConsumed()).as("copies are free").isEqualTo(MB + 1000);
    int owner = owner(path);
    DatanodeID id = hdfs.cluster.getDataNodes().get(owner).getDatanodeId();
    String name = hdfs.replica(hdfs.dataset(owner), path).getBlockName();
    for (int i = 0; i < hdfs.datasets().size(); i++) {
      List<String> told = Arrays.asList((String[]) new BlocksMBean(hdfs.dataset(i)).getAttribute(name));
      assertThat(told.contains("serves\t" + id.getDatanodeUuid())).as("%s", told)
          .isEqualTo(i != owner && !told.isEmpty());
    }
    DataNodeProperties stopped = end(owner);
    hdfs.assertHolds(path, MB + 1000); // the NameNode does not know yet
    hdfs.cluster.setDataNodeDead(id);
    TierCluster.awaitThat(() -> {
      rounds();
      return replicas(path).liveReplicas() == 1;
    }, () -> replicas(path).liveReplicas());
    hdfs.assertHolds(path, MB + 1000);
    comeBack(stopped);
    awaitReplicas(path, 1, 2);
    hdfs.assertHolds(path, MB + 1000);
  }

  @Test
  void whatIsDeletedIsGoneEverywhere() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", MB, 1);
    awaitReplicas(path, 1, 2);
    long id = hdfs.blocks(path).get(0).getBlock().getBlockId();
    hdfs.fs.delete(path, false);
    TierCluster.awaitThat(() -> {
      rounds();
      return sharedFiles().isEmpty()
          && hdfs.datasets().stream().allMatch(dataset -> dataset.volumeMap.get(hdfs.pool(), id) == null);
    }, this::sharedFiles);
    hdfs.cluster.triggerBlockReports();
    assertThat(hdfs.cluster.getNamesystem().getMissingBlocksCount()).isZero();
  }

  @Test
  void aReplicaWhoseLocalFilesAreLostIsServedFromItsCopyAndComesBackToBeAppendedTo() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", MB / 2, 1);
    awaitReplicas(path, 1, 2);
    int owner = owner(path);
    File ram = new File(hdfs.dataset(owner).volumes(RAM_DISK).get(0).getBasePath());
    DataNodeProperties stopped = end(owner);
    FileUtil.fullyDeleteContents(ram);
    comeBackWithLess(stopped);
    awaitReplicas(path, 1, 2);
    assertThat(types(path)).contains(ARCHIVE);
    TierDataset left = ownerWithoutFiles(path);
    ExtendedBlockId key = new ExtendedBlockId(hdfs.replica(left, path).getBlockId(), hdfs.pool());
    assertThat(left.journal().of(key)).as("its journal was in the folder").hasSize(1).first().asString()
        .endsWith("\tmoved\tunknown\tARCHIVE\tlost");
    hdfs.assertHolds(path, MB / 2);
    byte[] more = TierCluster.bytes(1000, 1);
    try (FSDataOutputStream out = hdfs.fs.append(path)) {
      out.write(more);
    }
    awaitReplicas(path, 1, 2);
    byte[] all = hdfs.read(path);
    assertThat(all).hasSize(MB / 2 + 1000).endsWith(more).startsWith(TierCluster.bytes(MB / 2, "/file".hashCode()));
    ReplicaInfo replica = hdfs.replica(hdfs.dataset(owner(path)), path);
    assertThat(replica.getVolume().getStorageType()).isIn(RAM_DISK, DISK);
    assertThat(sharedFiles()).hasSize(2);
    assertThat(new File(folderOf(replica), replica.getBlockName())).hasSize(MB / 2 + 1000);
  }

  @Test
  void appendsAndTruncatesGoToTheOwnerAlone() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", 1000, 1);
    awaitReplicas(path, 1, 2);
    for (int i = 0; i < 3; i++) {
      try (FSDataOutputStream out = hdfs.fs.append(path)) {
        out.write(i);
        out.hflush();
      }
      rounds();
    }
    assertThat(hdfs.read(path)).hasSize(1003).endsWith(0, 1, 2);
    assertThat(sharedFiles()).as("the last one's only").hasSize(2);
    hdfs.truncate(path, 500);
    awaitReplicas(path, 1, 2);
    assertThat(hdfs.read(path)).hasSize(500);
    assertThat(sharedFiles()).hasSize(2);
    assertThat(hdfs.datasets().get(owner(path)).shared().unprotected(hdfs.pool())).isEmpty();
  }

  @Test
  void inSafeModeEachBlockIsSafeOnceAndWithoutItsOwnerToo() throws Exception {
    begin();
    List<org.apache.hadoop.fs.Path> paths = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      paths.add(hdfs.write("/file" + i, 1000, 1));
    }
    for (org.apache.hadoop.fs.Path path : paths) {
      awaitReplicas(path, 1, 2);
    }
    DataNodeProperties stopped = end(owner(paths.get(0)));
    hdfs.cluster.getConfiguration(0).set("dfs.namenode.safemode.extension", "3600000");
    hdfs.cluster.restartNameNode(0, false);
    hdfs.reconnect();
    TierCluster.awaitThat(() -> {
      hdfs.cluster.triggerBlockReports();
      Matcher safe = SAFE.matcher(hdfs.cluster.getNamesystem().getSafemode());
      return safe.find() && safe.group(1).equals("8") && safe.group(2).equals("8");
    }, () -> hdfs.cluster.getNamesystem().getSafemode());
    comeBack(stopped);
    hdfs.cluster.triggerBlockReports();
    Matcher safe = SAFE.matcher(hdfs.cluster.getNamesystem().getSafemode());
    assertThat(safe.find()).isTrue();
    assertThat(safe.group(1)).isEqualTo("8");
    hdfs.fs.setSafeMode(SafeModeAction.SAFEMODE_LEAVE);
    hdfs.cluster.getConfiguration(0).set("dfs.namenode.safemode.extension", "0");
    for (org.apache.hadoop.fs.Path path : paths) {
      hdfs.assertHolds(path, 1000);
    }
  }

  @Test
  void withoutTheSharedPathWritesFailAndEverythingElseGoesOn() throws Exception {
    begin();
    org.apache.hadoop.fs.Path before = hdfs.write("/before", MB, 1);
    awaitReplicas(before, 1, 2);
    Path pool = shared.resolve(hdfs.pool());
    Path aside = shared.resolve("aside");
    Files.move(pool, aside);
    assertThatThrownBy(() -> hdfs.write("/during", 1000, 1)).isInstanceOf(IOException.class);
    hdfs.cluster.triggerHeartbeats();
    hdfs.assertHolds(before, MB);
    assertThat(hdfs.datasets().stream().mapToLong(dataset -> dataset.counts().failures.sum()).sum()).isPositive();
    assertThatThrownBy(this::rounds).isInstanceOf(IOException.class);
    assertThat(pool).as("nothing is written where the path is not mounted").doesNotExist();
    Files.move(aside, pool);
    hdfs.write("/after", 1000, 1);
    assertThat(hdfs.replica(hdfs.dataset(owner(before)), before)).isNotNull();
    awaitReplicas(before, 1, 2);
  }

  @Test
  void writesMayGoOnWithoutTheSharedPathAndAreCopiedLater() throws Exception {
    begin("dfs.rdma.lustre.on.failure=local");
    hdfs.write("/before", 1000, 1);
    Path pool = shared.resolve(hdfs.pool());
    Path aside = shared.resolve("aside");
    Files.move(pool, aside);
    org.apache.hadoop.fs.Path during = hdfs.write("/during", MB, 1);
    SharedCopies copies = hdfs.dataset(owner(during)).shared();
    assertThat(copies.unprotected(hdfs.pool())).hasSize(1);
    copies.round();
    assertThat(copies.unprotected(hdfs.pool())).hasSize(1);
    Files.move(aside, pool);
    copies.round();
    assertThat(copies.unprotected(hdfs.pool())).isEmpty();
    awaitReplicas(during, 1, 2);
    end(owner(during));
    hdfs.assertHolds(during, MB);
  }

  @Test
  void copiesMayBeMadeBehind() throws Exception {
    begin("dfs.rdma.lustre.sync=async");
    org.apache.hadoop.fs.Path path = hdfs.write("/file", MB + 1000, 1);
    TierCluster.awaitThat(() -> unprotected() == 0, this::unprotected); // without a round
    assertThat(sharedFiles()).hasSize(4);
    Path pool = shared.resolve(hdfs.pool());
    Path aside = shared.resolve("aside");
    Files.move(pool, aside);
    org.apache.hadoop.fs.Path during = hdfs.write("/during", 1000, 1);
    assertThat(unprotected()).isEqualTo(1);
    Files.move(aside, pool);
    awaitReplicas(path, 1, 2);
    awaitReplicas(during, 1, 2);
    assertThat(unprotected()).isZero();
    assertThat(sharedFiles()).hasSize(6);
    end(owner(during));
    hdfs.assertHolds(during, 1000);
  }

  @Test
  void packetsGoToTheSharedPathBeforeTheyAreAcknowledged() throws Exception {
    begin("dfs.rdma.lustre.sync=packet");
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/file");
    byte[] bytes = TierCluster.bytes(MB / 2, 1);
    try (FSDataOutputStream out = hdfs.fs.create(path)) {
      for (int i = 0; i < 4; i++) {
        out.write(bytes, i * (MB / 8), MB / 8 - 1);
        out.hflush();
        assertThat(begun()).isEqualTo((i + 1) * (MB / 8) - 1);
        out.write(bytes, (i + 1) * (MB / 8) - 1, 1);
      }
    }
    assertThat(begun()).isZero();
    assertThat(sharedFiles()).hasSize(2);
    awaitReplicas(path, 1, 2);
    end(owner(path));
    assertThat(hdfs.read(path)).isEqualTo(bytes);
    Path pool = shared.resolve(hdfs.pool());
    Path aside = shared.resolve("aside");
    Files.move(pool, aside);
    FSDataOutputStream out = hdfs.fs.create(new org.apache.hadoop.fs.Path("/during"));
    out.write(bytes);
    assertThatThrownBy(out::hflush).isInstanceOf(IOException.class);
    DFSTestUtil.abortStream((DFSOutputStream) out.getWrappedStream());
    Files.move(aside, pool);
  }

  /** Bytes of copies that are being made. */
  private long begun() throws IOException {
    long bytes = 0;
    for (TierDataset dataset : hdfs.datasets()) {
      Path folder = shared.resolve(hdfs.pool()).resolve(dataset.datanode.getDatanodeUuid());
      for (File file : folder.resolve("tmp").toFile().listFiles()) {
        bytes += file.length();
      }
    }
    return bytes;
  }

  @Test
  void whatAnHsyncPersistedComesBackToADataNodeThatLostIt() throws Exception {
    begin("dfs.rdma.memory.hsync=persist");
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/file");
    byte[] bytes = TierCluster.bytes(MB / 2, 1);
    int synced = 300_001; // within a chunk
    FSDataOutputStream out = hdfs.fs.create(path);
    out.write(bytes, 0, 1000);
    out.hsync();
    out.write(bytes, 1000, synced - 1000);
    out.hsync();
    out.write(bytes, synced, 1000);
    out.hflush();
    assertThat(sharedFiles()).hasSize(2);
    int owner = owner(path);
    File ram = new File(hdfs.dataset(owner).volumes(RAM_DISK).get(0).getBasePath());
    DataNodeProperties stopped = end(owner);
    FileUtil.fullyDeleteContents(ram);
    DFSTestUtil.abortStream((DFSOutputStream) out.getWrappedStream());
    comeBack(stopped);
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return hdfs.fs.recoverLease(path);
    }, () -> hdfs.blocks(path));
    assertThat(hdfs.read(path)).isEqualTo(Arrays.copyOf(bytes, synced));
    awaitReplicas(path, 1, 2);
    assertThat(sharedFiles()).as("of the copy of what was recovered").hasSize(2);
    aBlockThatEndsOrIsDeletedLeavesNothing(bytes);
  }

  private void aBlockThatEndsOrIsDeletedLeavesNothing(byte[] bytes) throws Exception {
    use("dfs.rdma.memory.hsync=persist");
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/ended");
    try (FSDataOutputStream out = hdfs.fs.create(path)) {
      out.write(bytes);
      out.hsync();
    }
    assertThat(hdfs.read(path)).isEqualTo(bytes);
    assertThat(sharedFiles()).hasSize(4);
    FSDataOutputStream out = hdfs.fs.append(path);
    out.write(bytes, 0, 1000);
    out.hsync();
    assertThat(sharedFiles()).hasSize(6);
    out.close();
    assertThat(sharedFiles()).hasSize(4);
    FSDataOutputStream gone = hdfs.fs.create(new org.apache.hadoop.fs.Path("/gone"));
    gone.write(bytes);
    gone.hsync();
    assertThat(sharedFiles()).hasSize(6);
    DFSTestUtil.abortStream((DFSOutputStream) gone.getWrappedStream());
    hdfs.fs.delete(new org.apache.hadoop.fs.Path("/gone"), false);
    TierCluster.awaitThat(() -> {
      hdfs.cluster.triggerBlockReports();
      rounds();
      return sharedFiles().size() == 4;
    }, this::sharedFiles);
  }

  @Test
  void aDamagedReplicaAndADamagedCopyAreMadeAnewFromEachOther() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", MB / 2, 1);
    awaitReplicas(path, 1, 2);
    SharedDataset dataset = (SharedDataset) hdfs.dataset(owner(path));
    FinalizedReplica replica = (FinalizedReplica) hdfs.replica(dataset, path);
    File copy = new File(folderOf(replica), replica.getBlockName());
    TierCluster.damage(copy);
    assertThat(dataset.giveUp(hdfs.pool(), replica, Reason.COLD)).as("there is no whole copy").isFalse();
    assertThat(unprotected()).isEqualTo(1);
    dataset.shared().round();
    assertThat(unprotected()).isZero();
    assertThat(copy).hasSameBinaryContentAs(replica.getBlockFile());
    awaitReplicas(path, 1, 2);
    TierCluster.damage(replica.getBlockFile());
    TierCluster.awaitThat(() -> {
      hdfs.assertHolds(path, MB / 2); // from the copy; the reader that meets the damage tells the NameNode
      rounds();
      return dataset.volumeMap.get(hdfs.pool(), replica.getBlockId()) != replica
          && replicas(path).liveReplicas() == 1 && replicas(path).corruptReplicas() == 0;
    }, () -> hdfs.blocks(path));
    awaitReplicas(path, 1, 2);
    hdfs.assertHolds(path, MB / 2);
  }

  @Test
  void aKeeperServesABlockAgainWhoseDamagedCopyWasMadeAnew() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", 1000, 1);
    awaitReplicas(path, 1, 2);
    SharedDataset owner = (SharedDataset) hdfs.dataset(owner(path));
    FinalizedReplica replica = (FinalizedReplica) hdfs.replica(owner, path);
    TierDataset keeper = hdfs.datasets().stream().filter(dataset -> dataset != owner
        && dataset.volumeMap.get(hdfs.pool(), replica.getBlockId()) != null).findFirst().get();
    File copy = new File(folderOf(replica), replica.getBlockName());
    TierCluster.damage(copy);
    // As when a reader has met the damage there and told the NameNode.
    keeper.invalidate(hdfs.pool(), new Block[] {new Block(replica)});
    assertThat(hdfs.replica(keeper, path)).isNull();
    keeper.keepers().look();
    keeper.keepers().round();
    assertThat(hdfs.replica(keeper, path)).as("as long as its owner has it as it was").isNull();
    assertThat(unprotected()).as("the owner does not know").isZero();
    owner.keepers().look();
    owner.keepers().round(); // it hears of it
    assertThat(unprotected()).isZero();
    owner.shared().round(); // it lists it no longer and copies it anew, which the keeper reads in one go
    assertThat(copy).hasSameBinaryContentAs(replica.getBlockFile());
    keeper.keepers().round();
    assertThat(hdfs.replica(keeper, path)).isNotNull();
    awaitReplicas(path, 1, 2);
  }

  private long unprotected() {
    return hdfs.datasets().stream().mapToLong(dataset -> dataset.shared().unprotected(hdfs.pool()).size()).sum();
  }

  @Test
  void aDamagedCopyIsFoundAndMadeAnewFromTheLocalReplica() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", 1000, 1);
    awaitReplicas(path, 1, 2);
    SharedDataset owner = (SharedDataset) hdfs.dataset(owner(path));
    FinalizedReplica replica = (FinalizedReplica) hdfs.replica(owner, path);
    File copy = new File(folderOf(replica), replica.getBlockName());
    verify(owner);
    assertThat(unprotected()).isZero();
    TierCluster.damage(copy);
    Path aside = shared.resolve("aside");
    Files.move(shared.resolve(hdfs.pool()), aside);
    verify(owner);
    assertThat(unprotected()).as("one that cannot be read is not damaged").isZero();
    Files.move(aside, shared.resolve(hdfs.pool()));
    verify(owner);
    assertThat(unprotected()).isEqualTo(1);
    owner.shared().round();
    assertThat(unprotected()).isZero();
    assertThat(copy).hasSameBinaryContentAs(replica.getBlockFile());
    awaitReplicas(path, 1, 2);
    assertThat(owner.giveUp(hdfs.pool(), replica, Reason.COLD)).isTrue();
    TierCluster.damage(copy);
    long failures = owner.counts().failures.sum();
    verify(owner);
    assertThat(owner.counts().failures.sum()).as("it is told").isGreaterThan(failures);
    assertThat(copy).as("all that is left is not removed").exists();
    TierCluster.damage(copy); // once more: it is what it was
    hdfs.assertHolds(path, 1000);
  }

  /** Verifies what is left of the last time, and then all. */
  private static void verify(TierDataset dataset) {
    dataset.shared().scrub(TierCluster.later());
    dataset.shared().scrub(TierCluster.later());
  }

  @Test
  void aCopyThatCannotBeOpenedForAWhileIsNotDeleted() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", 1000, 1);
    awaitReplicas(path, 1, 2);
    DataNodeProperties stopped = end(owner(path));
    Path pool = shared.resolve(hdfs.pool());
    Path aside = shared.resolve("aside");
    Files.move(pool, aside);
    assertThatThrownBy(() -> hdfs.read(path)).isInstanceOf(IOException.class);
    Files.move(aside, pool);
    hdfs.assertHolds(path, 1000);
    comeBack(stopped);
    awaitReplicas(path, 1, 2);
  }

  @Test
  void aFolderIsTakenAwayFromARunningDataNodeAndGivenBack() throws Exception {
    begin();
    org.apache.hadoop.fs.Path stays = hdfs.write("/stays", MB / 2, 1);
    TierDataset owner = hdfs.dataset(owner(stays));
    org.apache.hadoop.fs.Path grows = writtenTo(owner, "/grows");
    org.apache.hadoop.fs.Path goes = writtenTo(owner, "/goes");
    for (org.apache.hadoop.fs.Path path : Arrays.asList(stays, grows, goes)) {
      awaitReplicas(path, 1, 2);
    }
    File left = hdfs.replica(owner, stays).getBlockFile();
    File journal = new File(owner.volumes(RAM_DISK).get(0).getBasePath(), BlockJournal.FILE);
    owner.journal().flush();
    long lines = journal.length();
    String all = TierCluster.folders(owner.datanode);
    hdfs.useFolders(owner.datanode, TierCluster.withoutRam(all));
    try {
      hdfs.assertHolds(stays, MB / 2); // by its keepers
      awaitReplicas(stays, 1, 2);
      awaitReplicas(grows, 1, 2);
      hdfs.assertHolds(stays, MB / 2);
      try (FSDataOutputStream out = hdfs.fs.append(grows)) {
        out.write(TierCluster.bytes(1000, 1));
      }
      hdfs.fs.delete(goes, false);
      owner.journal().flush();
      assertThat(journal).as("nothing is written to the folder").hasSize(lines);
      assertThat(left).exists();
    } finally {
      hdfs.useFolders(owner.datanode, all);
    }
    assertThat(owner.volumes(RAM_DISK)).hasSize(1);
    awaitReplicas(stays, 1, 2);
    awaitReplicas(grows, 1, 2);
    hdfs.assertHolds(stays, MB / 2);
    assertThat(hdfs.read(grows)).hasSize(2000).endsWith(TierCluster.bytes(1000, 1));
    TierCluster.awaitThat(() -> {
      rounds();
      hdfs.reportAll();
      return sharedFiles().size() == 4;
    }, this::sharedFiles);
  }

  /** Writes a file of 1000 bytes whose only block is on a DataNode. */
  private org.apache.hadoop.fs.Path writtenTo(TierDataset wanted, String name) throws IOException {
    for (int i = 0; i < 200; i++) {
      org.apache.hadoop.fs.Path path = hdfs.write(name, 1000, 1);
      if (hdfs.dataset(owner(path)) == wanted) {
        return path;
      }
      hdfs.fs.delete(path, false);
    }
    throw new AssertionError("the NameNode never chooses " + wanted);
  }

  @Test
  void theScanOfFoldersAndAFolderThatFailsLeaveCopiesAlone() throws Exception {
    begin();
    org.apache.hadoop.fs.Path path = hdfs.write("/file", 1000, 1);
    awaitReplicas(path, 1, 2);
    for (int i = 0; i < NODES; i++) {
      DataNodeTestUtils.runDirectoryScanner(hdfs.cluster.getDataNodes().get(i));
    }
    awaitReplicas(path, 1, 2);
    ReplicaInfo replica = hdfs.replica(hdfs.dataset(owner(path)), path);
    int owner = owner(path);
    assertThat(replica.getBlockFile().delete() && replica.getMetaFile().delete()).isTrue();
    DataNodeTestUtils.runDirectoryScanner(hdfs.cluster.getDataNodes().get(owner));
    awaitReplicas(path, 1, 2);
    assertThat(types(path)).contains(ARCHIVE);
    hdfs.assertHolds(path, 1000);
    assertThat(sharedFiles()).hasSize(2);
  }
}

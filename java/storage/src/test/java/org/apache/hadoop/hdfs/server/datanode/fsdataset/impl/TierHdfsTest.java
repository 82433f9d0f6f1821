package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.ARCHIVE;
import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.BlockEvent;
import io.howdah.storage.BlockJournal;
import io.howdah.storage.Reason;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicy;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyDefault;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeStorageInfo;
import org.apache.hadoop.hdfs.server.blockmanagement.TierPlacement;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipelineInterface;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.net.NetworkTopology;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The mode HHH on a whole HDFS. */
@ExtendWith(TierCluster.Shared.class)
class TierHdfsTest {
  private static final int MB = 1 << 20;

  @Test
  void whenNotAllReplicasCanBeMadeThePersistentOnesComeFirst(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", 1000, 1);
    hdfs.await(path, SSD);
    DatanodeID away = hdfs.datasets().stream().filter(dataset -> !hdfs.has(dataset, path)).findFirst().get()
        .datanode.getDatanodeId();
    DataNodeProperties stopped = hdfs.cluster.stopDataNode(away.getXferAddr());
    hdfs.cluster.setDataNodeDead(away);
    hdfs.fs.setReplication(path, (short) 3);
    hdfs.await(path, SSD, DISK);
    hdfs.cluster.restartDataNode(stopped);
    hdfs.cluster.waitActive();
    hdfs.await(path, RAM_DISK, SSD, DISK);
  }

  @Test
  void withoutAModeAllIsStock() {
    Configuration conf = new Configuration();
    assertThat(FsDatasetSpi.Factory.getFactory(conf)).isExactlyInstanceOf(FsDatasetFactory.class);
    assertThat(placement(conf)).isExactlyInstanceOf(BlockPlacementPolicyDefault.class);
    conf.set("dfs.rdma.hhh.mode", "Default");
    assertThat(FsDatasetSpi.Factory.getFactory(conf)).isExactlyInstanceOf(TierFactory.class);
    assertThat(placement(conf)).isExactlyInstanceOf(TierPlacement.class);
  }

  private static BlockPlacementPolicy placement(Configuration conf) {
    return BlockPlacementPolicy.getInstance(conf, null, NetworkTopology.getInstance(conf), null);
  }

  @Test
  void replicasGoWhereTheyAreWanted(TierCluster hdfs) throws Exception {
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

  @Test
  void aBlockIsNeverInRamAlone(TierCluster hdfs) throws Exception {
    hdfs.await(hdfs.write("/before", MB, 2), RAM_DISK, SSD);
    hdfs.setCapacity(SSD, 0);
    hdfs.setCapacity(DISK, 0);
    assertThatThrownBy(() -> hdfs.write("/after", MB, 2)).hasMessageContaining("could only be replicated to 0 nodes");
  }

  @Test
  void ramIsFilledUpToItsThresholdAndColdReplicasLeaveIt(TierCluster hdfs) throws Exception {
    hdfs.setCapacity(RAM_DISK, 9 * MB); // 6.3 MB to fill, 5.4 MB low, pressed above the middle: with 6 blocks
    List<Path> files = new ArrayList<>();
    TierCluster.awaitThat(() -> {
      for (int i = 0; i < 4; i++) {
        files.add(hdfs.write("/file" + files.size(), MB, 2));
      }
      hdfs.cluster.triggerHeartbeats(); // the NameNode knows what room there is
      return hdfs.ram().stream().allMatch(TierHdfsTest::isPressed);
    }, () -> files.size() + " files, " + hdfs.ram());
    for (TierVolume ram : hdfs.ram()) {
      assertThat(ram.getCapacity()).isEqualTo((long) (9 * MB * 0.7));
      assertThat(ram.filled()).isBetween(6L * MB, ram.getCapacity());
    }
    // The coldest in RAM of all, but for two reads.
    Path read = files.stream().filter(path -> isOn(hdfs, path, RAM_DISK)).findFirst().get();
    TierDataset holder = hdfs.holder(read, RAM_DISK);
    for (int i = 0; i < 2; i++) {
      holder.getBlockInputStream(hdfs.blocks(read).get(0).getBlock(), 0).close();
    }
    List<Long> moves = count(hdfs, counts -> counts.moves);
    List<Long> failures = count(hdfs, counts -> counts.failures);
    hdfs.rounds();
    for (TierVolume ram : hdfs.ram()) {
      assertThat(ram.filled()).isBetween(5L * MB, ram.lowMark());
    }
    List<Long> more = moves.stream().map(before -> before + 1).collect(Collectors.toList());
    assertThat(count(hdfs, counts -> counts.moves)).as("one left each RAM").isEqualTo(more);
    assertThat(count(hdfs, counts -> counts.failures)).isEqualTo(failures);
    assertThat(hdfs.replica(holder, read).getVolume().getStorageType()).as("it was read").isEqualTo(RAM_DISK);
    for (Path path : files) {
      hdfs.assertHolds(path, MB);
      assertNameNodeKnows(hdfs, path, 2);
    }
  }

  private static boolean isPressed(TierVolume ram) {
    try {
      return ram.isPressed();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isOn(TierCluster hdfs, Path path, StorageType type) {
    try {
      return hdfs.datasets().stream().anyMatch(dataset -> typeOn(hdfs, dataset, path) == type);
    } catch (UncheckedIOException e) {
      throw new AssertionError(e);
    }
  }

  private static StorageType typeOn(TierCluster hdfs, TierDataset dataset, Path path) {
    try {
      ReplicaInfo replica = hdfs.replica(dataset, path);
      return replica == null ? null : replica.getVolume().getStorageType();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<Long> count(TierCluster hdfs, Function<TierCounts, LongAdder> of) {
    return hdfs.datasets().stream().map(dataset -> of.apply(dataset.counts()).sum()).collect(Collectors.toList());
  }

  /** NameNode and DataNodes agree on the types of so many replicas. */
  private static void assertNameNodeKnows(TierCluster hdfs, Path path, int replicas) throws Exception {
    TierCluster.awaitThat(() -> {
      List<StorageType> there = hdfs.datasets().stream().map(dataset -> typeOn(hdfs, dataset, path))
          .filter(Objects::nonNull).sorted().collect(Collectors.toList());
      return there.size() == replicas && there.equals(hdfs.types(path).get(0));
    }, () -> hdfs.types(path));
  }

  @Test
  void ramIsUsedThoughTheNameNodeCountsBlocksThatWentToAnotherTier(TierCluster hdfs) throws Exception {
    hdfs.setCapacity(RAM_DISK, 2 * MB); // room for one block
    for (TierDataset dataset : hdfs.datasets()) {
      // As after a block that was to go to RAM and had no room there, which is counted up to 20 minutes.
      DatanodeStorageInfo.incrementBlocksScheduled(hdfs.cluster.getNamesystem().getBlockManager().getDatanodeManager()
          .getDatanode(dataset.datanode.getDatanodeId()).getStorageInfo(
              dataset.volumes(RAM_DISK).get(0).getStorageID()));
    }
    hdfs.await(hdfs.write("/file", MB, 2), RAM_DISK, SSD);
  }

  @Test
  void aDataNodeWithoutRoomTakesTheNextTierAndSaysWhy(TierCluster hdfs) throws Exception {
    TierDataset dataset = hdfs.dataset(0);
    hdfs.setCapacity(RAM_DISK, 2 * MB);
    try {
      assertThat(created(hdfs, dataset, 1, RAM_DISK)).endsWith("\tcreated\tRAM_DISK\tRAM_DISK\tasked");
      assertThat(created(hdfs, dataset, 2, RAM_DISK)).endsWith("\tcreated\tRAM_DISK\tSSD\tram-full");
      assertThat(created(hdfs, dataset, 3, SSD)).endsWith("\tcreated\tSSD\tSSD\tasked");
      dataset.volumes(SSD).get(0).setCapacityForTesting(0);
      assertThat(created(hdfs, dataset, 4, SSD)).endsWith("\tcreated\tSSD\tDISK\ttier-full");
      assertThatThrownBy(() -> created(hdfs, dataset, 5, ARCHIVE)).hasMessageContaining("No more available volumes");
      dataset.volumes(DISK).get(0).setCapacityForTesting(0);
      assertThatThrownBy(() -> created(hdfs, dataset, 6, RAM_DISK)).hasMessageContaining("Out of space");
    } finally {
      remove(hdfs, dataset, 1, 2, 3, 4);
    }
  }

  private static String created(TierCluster hdfs, TierDataset dataset, long id, StorageType type) throws Exception {
    ExtendedBlock block = new ExtendedBlock(hdfs.pool(), id, MB, 1);
    dataset.createRbw(type, block, false).close();
    List<BlockEvent> events = dataset.journal().of(new ExtendedBlockId(id, hdfs.pool()));
    assertThat(events).hasSize(1);
    return events.get(0).toString();
  }

  /** Removes blocks that the NameNode does not know of. */
  private static void remove(TierCluster hdfs, TierDataset dataset, long... ids) throws IOException {
    for (long id : ids) {
      ReplicaInfo replica = dataset.volumeMap.get(hdfs.pool(), id);
      if (replica != null) {
        ((ReplicaInPipelineInterface) replica).releaseAllBytesReserved();
        dataset.invalidate(hdfs.pool(), new Block[] {replica});
      }
    }
  }

  @Test
  void whatIsReadOftenIsCopiedToRam(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/hot", MB, 1);
    hdfs.await(path, SSD);
    TierDataset dataset = hdfs.holder(path, SSD);
    hdfs.assertHolds(path, MB);
    hdfs.assertHolds(path, MB);
    hdfs.rounds();
    assertThat(dataset.copies().size()).isZero();
    hdfs.assertHolds(path, MB);
    hdfs.rounds();
    assertThat(dataset.copies().size()).isEqualTo(1);
    long before = dataset.counts().readsFromRam.sum();
    hdfs.assertHolds(path, MB);
    assertThat(dataset.counts().readsFromRam.sum()).isEqualTo(before + 1);
    hdfs.await(path, SSD); // the replica is where it was
    byte[] more = TierCluster.bytes(1000, 5);
    try (FSDataOutputStream out = hdfs.fs.append(path)) {
      out.write(more);
    }
    byte[] read = hdfs.read(path);
    assertThat(Arrays.copyOfRange(read, MB, read.length)).isEqualTo(more);
    hdfs.fs.delete(path, false);
    TierCluster.awaitThat(() -> dataset.copies().size() == 0, () -> dataset.copies().size());
  }

  @Test
  void aDamagedCopyInRamIsDroppedWhenAReaderHasMetIt(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/hot", MB, 1);
    hdfs.await(path, SSD);
    TierDataset dataset = hdfs.holder(path, SSD);
    FinalizedReplica replica = (FinalizedReplica) hdfs.replica(dataset, path);
    TierVolume ram = dataset.volumes(RAM_DISK).get(0);
    assertThat(dataset.copyToRam(hdfs.pool(), replica, ram, null)).isTrue();
    TierCluster.damage(new File(ram.getTmpDir(hdfs.pool()), replica.getBlockName() + ".copy"));
    assertThatThrownBy(() -> hdfs.read(path)).isInstanceOf(IOException.class);
    TierCluster.awaitThat(() -> hdfs.blocks(path).get(0).isCorrupt(), () -> hdfs.blocks(path));
    assertThat(dataset.repairs().ask(hdfs.pool())).isTrue();
    assertThat(dataset.copies().size()).isZero();
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return !hdfs.blocks(path).get(0).isCorrupt();
    }, () -> hdfs.blocks(path));
    hdfs.await(path, SSD);
    hdfs.assertHolds(path, MB);
  }

  @Test
  void copiesMakeRoomForBlocksAndNoneIsMadeAboveTheLowMark(TierCluster hdfs) throws Exception {
    hdfs.setCapacity(RAM_DISK, 5 * MB - MB / 5); // 3.36 MB to fill, 2.88 MB low
    TierDataset dataset = hdfs.dataset(0);
    List<Path> files = new ArrayList<>();
    TierCluster.awaitThat(() -> {
      Path path = hdfs.write("/file" + files.size(), MB, 1);
      files.add(path);
      return files.stream().filter(file -> typeOn(hdfs, dataset, file) == SSD).count() >= 4;
    }, () -> files.size());
    for (Path path : files) {
      if (typeOn(hdfs, dataset, path) != null) {
        for (int i = 0; i < 3; i++) {
          dataset.getBlockInputStream(hdfs.blocks(path).get(0).getBlock(), 0).close();
        }
      }
    }
    hdfs.rounds();
    assertThat(dataset.copies().size()).isEqualTo(2);
    try {
      created(hdfs, dataset, 1, RAM_DISK);
      created(hdfs, dataset, 2, RAM_DISK);
      assertThat(dataset.copies().size()).isEqualTo(1);
      created(hdfs, dataset, 3, RAM_DISK);
      assertThat(dataset.copies().size()).isZero();
    } finally {
      remove(hdfs, dataset, 1, 2, 3);
    }
    for (Path path : files) {
      hdfs.assertHolds(path, MB);
    }
  }

  @Test
  void aReplicaThatGrowsLeavesFullRam(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/grows", 100, 2);
    hdfs.await(path, RAM_DISK, SSD);
    hdfs.setCapacity(RAM_DISK, 1000);
    try (FSDataOutputStream out = hdfs.fs.append(path)) {
      out.write(new byte[MB / 2]);
    }
    hdfs.await(path, SSD, SSD);
    assertThat(hdfs.read(path)).hasSize(100 + MB / 2);
  }

  @Test
  void aReplicaInRamThatIsDamagedOrGoneIsMadeAnew(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", MB, 2);
    hdfs.await(path, RAM_DISK, SSD);
    ReplicaInfo damaged = hdfs.replica(hdfs.holder(path, RAM_DISK), path);
    try (RandomAccessFile data = new RandomAccessFile(damaged.getBlockFile(), "rw")) {
      data.setLength(MB - 1);
      data.setLength(MB);
    }
    awaitSound(hdfs, path);
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    ReplicaInfo gone = hdfs.replica(holder, path);
    assertThat(gone.getBlockFile().delete() && gone.getMetaFile().delete()).isTrue();
    DataNodeTestUtils.runDirectoryScanner(holder.datanode);
    hdfs.reportAll(); // upstream's scan tells the NameNode by the next full report only
    awaitSound(hdfs, path);
  }

  /** Waits until a file's block is in RAM, as it was written; a reader that meets damage tells the NameNode. */
  private static void awaitSound(TierCluster hdfs, Path path) throws Exception {
    TierCluster.awaitThat(() -> {
      hdfs.assertHolds(path, MB);
      hdfs.report();
      return hdfs.types(path).get(0).equals(Arrays.asList(RAM_DISK, SSD)) && isSoundIn(hdfs, path, RAM_DISK);
    }, () -> hdfs.types(path));
  }

  /** Whether all replicas on a type of storage, and there are some, are as written: a damaged one is deleted behind. */
  private static boolean isSoundIn(TierCluster hdfs, Path path, StorageType type) throws IOException {
    byte[] wanted = TierCluster.bytes(MB, path.toString().hashCode());
    int sound = 0;
    for (TierDataset dataset : hdfs.datasets()) {
      ReplicaInfo replica = hdfs.replica(dataset, path);
      if (replica != null && replica.getVolume().getStorageType() == type) {
        try {
          if (!Arrays.equals(Files.readAllBytes(replica.getBlockFile().toPath()), wanted)) {
            return false;
          }
          sound++;
        } catch (NoSuchFileException e) {
          return false; // it is being deleted
        }
      }
    }
    return sound > 0;
  }

  @Test
  void aFolderInRamIsTakenAwayFromARunningDataNodeAndGivenBack(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", MB, 2);
    hdfs.await(path, RAM_DISK, SSD);
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    Path hot = hdfs.write("/hot", MB, 3);
    hdfs.await(hot, RAM_DISK, SSD, DISK);
    for (TierDataset dataset : hdfs.datasets()) {
      FinalizedReplica replica = (FinalizedReplica) hdfs.replica(dataset, hot);
      dataset.copyToRam(hdfs.pool(), replica, dataset.volumes(RAM_DISK).get(0), null);
    }
    String all = TierCluster.folders(holder.datanode);
    hdfs.useFolders(holder.datanode, TierCluster.withoutRam(all));
    try {
      assertThat(holder.volumes(RAM_DISK)).isEmpty();
      holder.mover().round();
      assertThat(holder.copies().size()).as("those in the folder").isZero();
      hdfs.await(path, 2); // perhaps on its SSD
      hdfs.assertHolds(path, MB);
      hdfs.assertHolds(hot, MB);
    } finally {
      hdfs.useFolders(holder.datanode, all);
    }
    assertThat(holder.volumes(RAM_DISK)).hasSize(1);
    hdfs.await(path, 2); // the folder has its replica still, and one goes
    hdfs.assertHolds(path, MB);
    hdfs.assertHolds(hot, MB);
  }

  @Test
  void quotasCountWhatTheFilesPolicySays(TierCluster hdfs) throws Exception {
    Path folder = new Path("/quota");
    hdfs.fs.mkdirs(folder);
    hdfs.fs.setStoragePolicy(folder, "HOT"); // upstream counts types for files that were given a policy only
    hdfs.fs.setQuotaByStorageType(folder, DISK, 3 * MB);
    hdfs.await(hdfs.write("/quota/file", MB, 2), RAM_DISK, SSD);
    assertThat(hdfs.fs.getContentSummary(folder).getTypeConsumed(DISK)).isEqualTo(2 * MB);
    assertThat(hdfs.fs.getContentSummary(folder).getSpaceConsumed()).isEqualTo(2 * MB);
    assertThatThrownBy(() -> hdfs.write("/quota/more", MB, 2)).isInstanceOf(QuotaByStorageTypeExceededException.class);
  }

  @Test
  void aRestartFindsReplicasAndWhatHappenedToThem(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/file", MB, 2);
    hdfs.await(path, RAM_DISK, SSD);
    ExtendedBlockId key = new ExtendedBlockId(hdfs.blocks(path).get(0).getBlock().getBlockId(), hdfs.pool());
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    TierVolume disk = holder.volumes(DISK).get(0);
    FinalizedReplica replica = (FinalizedReplica) hdfs.replica(holder, path);
    assertThat(holder.move(hdfs.pool(), replica, disk, Reason.COLD, null)).isTrue();
    hdfs.await(path, SSD, DISK);
    List<String> before = holder.journal().of(key).stream().map(String::valueOf).collect(Collectors.toList());
    assertThat(before).hasSize(2).last().asString().endsWith("moved\tRAM_DISK\tDISK\tcold");
    hdfs.cluster.restartDataNode(hdfs.datasets().indexOf(holder));
    hdfs.cluster.waitActive();
    TierDataset again = hdfs.holder(path, DISK);
    assertThat(again).isNotSameAs(holder);
    assertThat(again.journal().of(key).stream().map(String::valueOf)).containsExactlyElementsOf(before);
    assertThat(new File(disk.getBasePath(), BlockJournal.FILE)).exists();
    hdfs.assertHolds(path, MB);
  }

  @Test
  void whatCannotBeDoneIsRefusedAtTheStart() throws IOException {
    Configuration conf = TierCluster.hhh();
    assertRefused(conf, "[RAM_DISK]/proc/howdah,[DISK]/tmp/howdah")
        .hasMessageStartingWith("[RAM_DISK]/proc/howdah of dfs.datanode.data.dir is on proc, not in RAM: ");
    assertRefused(conf, "[RAM_DISK]/dev/shm/howdah").hasMessageContaining("[RAM_DISK] folders only");
    String folders = "[RAM_DISK]/dev/shm/howdah,[DISK]/tmp/howdah";
    conf.set("dfs.rdma.memory.capacity", "1000t");
    assertRefused(conf, folders).hasMessageStartingWith("dfs.rdma.memory.capacity=")
        .hasMessageContaining("[RAM_DISK]/dev/shm/howdah");
    conf.set("dfs.rdma.memory.capacity", "1m"); // 0.7 MB of it are less than a block
    assertRefused(conf, folders)
        .hasMessageStartingWith("[RAM_DISK]/dev/shm/howdah of dfs.datanode.data.dir is too small")
        .hasMessageContaining("raise dfs.rdma.memory.capacity");
    conf.unset("dfs.rdma.memory.capacity");
    conf.set("dfs.rdma.memory.percentage", "1.5");
    assertRefused(conf, folders).hasMessageContaining("dfs.rdma.memory.percentage").hasMessageContaining("1.5");
    conf.unset("dfs.rdma.memory.percentage");
    conf.set("dfs.rdma.memory.replicas", "3");
    assertRefused(conf, folders).hasMessageStartingWith("dfs.rdma.memory.replicas=3 is not below dfs.replication=3");
    conf.unset("dfs.rdma.memory.replicas");
    conf.set("dfs.rdma.hhh.mode", "Lustre-BB");
    assertRefused(conf, folders).hasMessageContaining("HHH-L");
    assertThatThrownBy(() -> new TierCluster(conf, 1, DISK).close())
        .hasMessageContaining("dfs.rdma.hhh.mode=Lustre-BB");
  }

  @Test
  void aSharedPathThatDoesNotDoIsRefusedBeforeAnythingIsWritten() throws IOException {
    java.nio.file.Path own = Files.createTempDirectory("howdah-storage-test-");
    String folders = "[DISK]" + own;
    Configuration conf = TierCluster.mode("Lustre");
    conf.set("dfs.replication", "1");
    assertRefused(conf, folders).hasMessageStartingWith("dfs.rdma.lustre.path is not set");
    conf.set("dfs.rdma.lustre.path", own + "/shared");
    assertRefused(conf, folders)
        .hasMessageStartingWith("dfs.rdma.lustre.path=" + own + "/shared is in " + own + " of dfs.datanode.data.dir");
    conf.set("dfs.rdma.lustre.path", own + "-none");
    assertRefused(conf, folders).hasMessageStartingWith("dfs.rdma.lustre.path=" + own + "-none is not a folder");
    assertThat(own.toFile().list()).isEmpty();
    Files.delete(own);
  }

  private static AbstractThrowableAssert<?, ?> assertRefused(Configuration conf, String folders) {
    conf.set("dfs.datanode.data.dir", folders);
    return assertThatThrownBy(() -> FsDatasetSpi.Factory.getFactory(conf)).isInstanceOf(UncheckedIOException.class);
  }

  @Test
  void aFolderOfAnotherDataNodeIsRefused() throws Exception {
    java.nio.file.Path folder = Files.createTempDirectory(Paths.get("/dev/shm"), "howdah-storage-test-");
    java.nio.file.Path lock = Files.createFile(folder.resolve("in_use.lock"));
    Configuration conf = TierCluster.hhh();
    conf.set("dfs.datanode.data.dir", "[RAM_DISK]" + folder + ",[DISK]/tmp/howdah");
    Process other = new ProcessBuilder(Paths.get(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
        System.getProperty("java.class.path"), LockHolder.class.getName(), lock.toString())
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try {
      assertThat(other.getInputStream().read()).isEqualTo('+');
      assertThatThrownBy(() -> FsDatasetSpi.Factory.getFactory(conf))
          .hasMessageStartingWith("[RAM_DISK]" + folder + " of dfs.datanode.data.dir is used by another DataNode");
    } finally {
      other.destroyForcibly().waitFor();
    }
    assertThat(FsDatasetSpi.Factory.getFactory(conf)).as("it is gone, its file is not").isInstanceOf(TierFactory.class);
    Files.delete(lock);
    Files.delete(folder);
  }

  /** Locks a file, says so, and waits for its end. */
  static final class LockHolder {
    private LockHolder() {
    }

    /** Run with the file's path. */
    public static void main(String[] arguments) throws Exception {
      try (RandomAccessFile file = new RandomAccessFile(arguments[0], "rw")) {
        file.getChannel().lock();
        System.out.write('+');
        System.out.flush();
        System.in.read();
      }
    }
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.BlockEvent;
import io.howdah.storage.Reason;
import java.io.File;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.FutureTask;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSOutputStream;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManagerTestUtil;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.Scans;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The mode HHH-M on a whole HDFS: all replicas in RAM, and what a power failure leaves. */
@SuppressWarnings("try") // references are held, not used
class ShadowsTest {
  private static final int MB = 1 << 20;
  private static final int NODES = 3;

  private static TierCluster hdfs;

  @BeforeAll
  static void start() throws IOException {
    Configuration conf = TierCluster.mode("In-Memory");
    conf.set("dfs.rdma.memory.hsync", "persist");
    hdfs = new TierCluster(conf, NODES, TierCluster.THREE);
  }

  @AfterAll
  static void stop() {
    hdfs.close();
  }

  @BeforeEach
  void empty() {
    hdfs.emptied();
  }

  @Test
  void exactlyWhatIsListedAsUnpersistedIsLostWithPower() throws Exception {
    Path persisted = hdfs.write("/persisted", 3 * MB + 100, 3);
    hdfs.await(persisted, RAM_DISK, RAM_DISK, RAM_DISK);
    assertThat(hdfs.unpersisted()).isEqualTo(names(persisted));
    Path single = hdfs.write("/single", MB, 1);
    hdfs.await(single, RAM_DISK);
    persist();
    assertThat(hdfs.unpersisted()).isEmpty();
    Path other = hdfs.write("/other", 2 * MB, 3);
    hdfs.await(other, RAM_DISK, RAM_DISK, RAM_DISK);
    restart(false);
    assertThat(hdfs.unpersisted()).as("what has a shadow has it after a restart").isEqualTo(names(other));
    hdfs.await(persisted, RAM_DISK, RAM_DISK, RAM_DISK);
    assertThat(shadowFiles()).hasSize(2 * (3 * 4 + 1));
    hdfs.assertHolds(other, 2 * MB);
    restart(true);
    hdfs.assertHolds(persisted, 3 * MB + 100);
    hdfs.assertHolds(single, MB);
    awaitMissing(2);
    assertThatThrownBy(() -> hdfs.read(other)).isInstanceOf(IOException.class);
    hdfs.fs.delete(other, false);
    awaitMissing(0);
  }

  @Test
  void shadowsFollowTheirReplicas() throws Exception {
    Path path = hdfs.write("/file", 1000, 2);
    hdfs.await(path, RAM_DISK, RAM_DISK);
    persist();
    assertThat(shadowFiles()).hasSize(4);
    assertThat(hdfs.fs.getContentSummary(path).getSpaceConsumed()).as("shadows are free").isEqualTo(2000);
    try (FSDataOutputStream out = hdfs.fs.append(path)) {
      out.write(new byte[MB / 2]);
      out.hflush();
      assertThat(hdfs.unpersisted()).as("it is being written").isEqualTo(names(path));
      assertThat(shadowFiles()).as("that of what it was stays").hasSize(4);
    }
    assertThat(hdfs.unpersisted()).isEqualTo(names(path));
    persist();
    assertThat(hdfs.unpersisted()).isEmpty();
    assertThat(shadowFiles()).as("in place of the first").hasSize(4);
    assertThat(tell("unpersisted")).isEmpty();
    String block = names(path).iterator().next();
    assertThat(tell("persisted:blk_1," + block)).containsExactly(block, block);
    hdfs.fs.delete(path, false);
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return shadowFiles().isEmpty();
    }, ShadowsTest::shadowFiles);
  }

  /** The answers of all DataNodes. */
  private static List<String> tell(String attribute) throws Exception {
    List<String> all = new ArrayList<>();
    for (TierDataset dataset : hdfs.datasets()) {
      all.addAll(Arrays.asList((String[]) new BlocksMBean(dataset).getAttribute(attribute)));
    }
    return all;
  }

  @Test
  void theShadowOfWhatAReplicaWasDoesNotMeetItAtARestart() throws Exception {
    Path path = hdfs.write("/file", MB, 2);
    hdfs.await(path, RAM_DISK, RAM_DISK);
    persist();
    hdfs.truncate(path, 1000);
    assertThat(hdfs.unpersisted()).isEqualTo(names(path));
    restart(false);
    hdfs.await(path, RAM_DISK, RAM_DISK);
    long stamp = hdfs.blocks(path).get(0).getBlock().getGenerationStamp();
    for (TierDataset dataset : hdfs.datasets()) {
      ReplicaInfo replica = hdfs.replica(dataset, path);
      if (replica != null) {
        DataNodeTestUtils.runDirectoryScanner(dataset.datanode);
        assertThat(replica.getGenerationStamp()).isEqualTo(stamp);
        assertThat(hdfs.replica(dataset, path)).isSameAs(replica);
      }
    }
    assertThat(shadowFiles()).isEmpty();
    persist();
    assertThat(shadowFiles()).hasSize(4);
    restart(true);
    hdfs.assertHolds(path, 1000);
  }

  @Test
  void theShadowTakesTheReplicasPlace() throws Exception {
    Path evicted = hdfs.write("/evicted", MB, 1);
    hdfs.await(evicted, RAM_DISK);
    persist();
    TierDataset holder = hdfs.holder(evicted, RAM_DISK);
    Object shadow = inode(shadowOf(holder, evicted));
    hdfs.setCapacity(RAM_DISK, MB / 2);
    hdfs.rounds();
    hdfs.await(evicted, SSD);
    assertThat(inode(hdfs.replica(holder, evicted).getBlockFile())).as("it was not copied again").isEqualTo(shadow);
    hdfs.assertHolds(evicted, MB);
    hdfs.setCapacity(RAM_DISK, -1);

    Path gone = hdfs.write("/gone", MB, 1);
    hdfs.await(gone, RAM_DISK);
    persist();
    holder = hdfs.holder(gone, RAM_DISK);
    ReplicaInfo replica = hdfs.replica(holder, gone);
    assertThat(replica.getBlockFile().delete() && replica.getMetaFile().delete()).isTrue();
    DataNodeTestUtils.runDirectoryScanner(holder.datanode);
    persist();
    hdfs.report();
    hdfs.await(gone, SSD);
    hdfs.assertHolds(gone, MB);
    assertThat(shadowFiles()).isEmpty();
    List<BlockEvent> events = holder.journal().of(new ExtendedBlockId(replica.getBlockId(), hdfs.pool()));
    assertThat(events).last().asString().endsWith("\tmoved\tRAM_DISK\tSSD\tlost");
  }

  @Test
  void aDamagedShadowIsFoundAndMadeAnewFromTheReplica() throws Exception {
    Path path = hdfs.write("/file", MB, 1);
    hdfs.await(path, RAM_DISK);
    persist();
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    verify(holder);
    assertThat(hdfs.unpersisted()).isEmpty();
    TierCluster.damage(shadowOf(holder, path));
    verify(holder);
    assertThat(hdfs.unpersisted()).isEqualTo(names(path));
    persist();
    assertThat(hdfs.unpersisted()).isEmpty();
    restart(true);
    hdfs.assertHolds(path, MB);
  }

  /** Verifies what is left of the last time, and then all. */
  private static void verify(TierDataset dataset) {
    dataset.shadows().scrub(TierCluster.later());
    dataset.shadows().scrub(TierCluster.later());
  }

  @Test
  void aDamagedReplicaInRamIsMadeAnewFromItsShadowWhenItIsScanned() throws Exception {
    Path path = hdfs.write("/file", 1000, 1);
    hdfs.await(path, RAM_DISK);
    persist();
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    ReplicaInfo replica = hdfs.replica(holder, path);
    TierCluster.damage(replica.getBlockFile());
    awaitKnownAsDamaged(path);
    Scans.suspect(holder.datanode, hdfs.blocks(path).get(0).getBlock());
    awaitRepaired(path, replica);
    assertThat(hdfs.replica(holder, path)).as("it did not leave its place").isSameAs(replica);
    assertThat(hdfs.unpersisted()).isEmpty();
    List<BlockEvent> events = holder.journal().of(new ExtendedBlockId(replica.getBlockId(), hdfs.pool()));
    assertThat(events).last().asString().endsWith("\trepaired\tSSD\tRAM_DISK\tdamaged");
  }

  @Test
  void aDamagedReplicaInRamIsMadeAnewFromItsShadowWhenAReaderHasMetIt() throws Exception {
    Path path = hdfs.write("/file", 1000, 1);
    hdfs.await(path, RAM_DISK);
    persist();
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    assertThat(holder.repairs().ask(hdfs.pool())).as("nothing is damaged").isTrue();
    ReplicaInfo replica = hdfs.replica(holder, path);
    File shadow = shadowOf(holder, path);
    TierCluster.damage(replica.getBlockFile());
    TierCluster.damage(shadow);
    awaitKnownAsDamaged(path);
    assertThat(holder.repairs().ask(hdfs.pool())).as("both are damaged").isFalse();
    assertThat(hdfs.blocks(path).get(0).isCorrupt()).isTrue();
    TierCluster.damage(shadow); // once more: it is what it was
    assertThat(holder.repairs().ask(hdfs.pool())).isTrue();
    awaitRepaired(path, replica);
    assertThat(holder.repairs().repair(new ExtendedBlockId(replica.getBlockId(), hdfs.pool()))).as("it is whole")
        .isFalse();
  }

  /** Reads a file, which fails, so that the NameNode hears of the damage. */
  private static void awaitKnownAsDamaged(Path path) throws Exception {
    assertThatThrownBy(() -> hdfs.read(path)).isInstanceOf(IOException.class);
    TierCluster.awaitThat(() -> hdfs.blocks(path).get(0).isCorrupt(), () -> hdfs.blocks(path));
  }

  private static void awaitRepaired(Path path, ReplicaInfo replica) throws Exception {
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return !hdfs.blocks(path).get(0).isCorrupt() && hdfs.types(path).get(0).equals(Arrays.asList(RAM_DISK));
    }, () -> hdfs.blocks(path));
    assertThat(replica.getBlockFile()).hasSameBinaryContentAs(shadowOf(hdfs.holder(path, RAM_DISK), path));
    hdfs.assertHolds(path, 1000);
  }

  @Test
  void aDamagedShadowThatHasTakenTheReplicasPlaceIsMadeAnewFromAnotherOne() throws Exception {
    Path path = hdfs.write("/file", MB, 2);
    hdfs.await(path, RAM_DISK, RAM_DISK);
    persist();
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    TierCluster.damage(shadowOf(holder, path));
    holder.volumes(RAM_DISK).get(0).setCapacityForTesting(MB / 2);
    holder.mover().round();
    ReplicaInfo damaged = hdfs.replica(holder, path);
    assertThat(damaged.getVolume().getStorageType()).isEqualTo(SSD);
    TierCluster.awaitThat(() -> {
      hdfs.assertHolds(path, MB); // a reader that meets the damage tells the NameNode
      hdfs.report();
      return hdfs.types(path).get(0).size() == 2 && hdfs.replica(holder, path) != damaged;
    }, () -> hdfs.types(path));
    for (TierDataset dataset : hdfs.datasets()) {
      ReplicaInfo replica = hdfs.replica(dataset, path);
      if (replica instanceof FinalizedReplica) {
        assertThat(Files.readAllBytes(replica.getBlockFile().toPath()))
            .isEqualTo(TierCluster.bytes(MB, path.toString().hashCode()));
      }
    }
  }

  @Test
  void aShadowOutlivesAMoveThatMeetsItsFolderBeingTakenAway() throws Exception {
    Path path = hdfs.write("/file", MB / 2, 1);
    hdfs.await(path, RAM_DISK);
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    persist();
    FinalizedReplica replica = (FinalizedReplica) hdfs.replica(holder, path);
    TierVolume ram = (TierVolume) replica.getVolume();
    String all = TierCluster.folders(holder.datanode);
    FutureTask<Void> away = new FutureTask<>(() -> {
      hdfs.useFolders(holder.datanode, TierCluster.withoutRam(all));
      return null;
    });
    try {
      try (FsVolumeReference used = ram.obtainReference()) { // as by a reader, for which the folder waits
        new Thread(away).start();
        TierCluster.awaitThat(() -> isGoing(ram), () -> ram);
        assertThatThrownBy(() -> holder.moveDown(hdfs.pool(), replica, Reason.COLD, null))
            .isInstanceOf(ClosedChannelException.class);
      }
      away.get();
      persist();
      hdfs.await(path, SSD);
      hdfs.assertHolds(path, MB / 2);
    } finally {
      hdfs.useFolders(holder.datanode, all);
    }
  }

  private static boolean isGoing(TierVolume volume) throws IOException {
    try (FsVolumeReference one = volume.obtainReference()) {
      return false;
    } catch (ClosedChannelException e) {
      return true;
    }
  }

  @Test
  void aShadowThatIsTakenByAMoveOfAReplicaWhichIsLostMeanwhileTakesItsPlace() throws Exception {
    Path path = hdfs.write("/file", MB / 2, 1);
    hdfs.await(path, RAM_DISK);
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    persist();
    ReplicaInfo replica = hdfs.replica(holder, path);
    ExtendedBlockId block = new ExtendedBlockId(replica.getBlockId(), hdfs.pool());
    ReplicaCopy shadow =
        holder.shadows().take(block, replica, holder.shadows().folder(hdfs.pool(), replica));
    Files.delete(replica.getBlockFile().toPath());
    holder.checkAndUpdate(hdfs.pool(), replica.getBlockId(), null, replica.getMetaFile(), replica.getVolume());
    assertThat(holder.volumeMap.get(hdfs.pool(), replica.getBlockId())).isNull();
    holder.shadows().giveUp(block, shadow);
    persist();
    hdfs.await(path, SSD);
    hdfs.assertHolds(path, MB / 2);
  }

  @Test
  void aShadowThatCannotTakeThePlaceOfALostReplicaDoesSoLater() throws Exception {
    Path path = hdfs.write("/file", MB / 2, 1);
    hdfs.await(path, RAM_DISK);
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    persist();
    ReplicaInfo replica = hdfs.replica(holder, path);
    TierVolume ssd = holder.shadows().folder(hdfs.pool(), replica);
    File finalized = ssd.getFinalizedDir(hdfs.pool());
    File aside = new File(finalized.getParentFile(), "finalized-aside");
    assertThat(finalized.renameTo(aside)).isTrue();
    Files.createFile(finalized.toPath()); // no folder can be made there
    Files.delete(replica.getBlockFile().toPath());
    holder.checkAndUpdate(hdfs.pool(), replica.getBlockId(), null, replica.getMetaFile(), replica.getVolume());
    holder.shadows().round();
    Files.delete(finalized.toPath());
    assertThat(aside.renameTo(finalized)).isTrue();
    persist();
    hdfs.await(path, SSD);
    hdfs.assertHolds(path, MB / 2);
  }

  @Test
  void theShadowsOfAFolderInRamThatIsTakenAwayStayTheReplicasWhenItComesBack() throws Exception {
    Path path = hdfs.write("/file", MB / 2, 1);
    hdfs.await(path, RAM_DISK);
    TierDataset holder = hdfs.holder(path, RAM_DISK);
    persist();
    File left = hdfs.replica(holder, path).getBlockFile();
    String all = TierCluster.folders(holder.datanode);
    hdfs.useFolders(holder.datanode, TierCluster.withoutRam(all));
    try {
      persist();
      hdfs.await(path, SSD);
      try (FSDataOutputStream out = hdfs.fs.append(path)) {
        out.write(TierCluster.bytes(1000, 1));
      }
      assertThat(left).exists();
    } finally {
      hdfs.useFolders(holder.datanode, all);
    }
    assertThat(left).as("what is older than the replica").doesNotExist();
    assertThat(holder.volumes(RAM_DISK)).hasSize(1);
    hdfs.await(path, SSD);
    DataNodeTestUtils.runDirectoryScanner(holder.datanode);
    assertThat(hdfs.read(path)).hasSize(MB / 2 + 1000).endsWith(TierCluster.bytes(1000, 1));
  }

  @Test
  void whatAnHsyncPersistedOutlivesAPowerFailure() throws Exception {
    byte[] bytes = TierCluster.bytes(MB / 2, 9);
    int synced = 300_001; // within a chunk
    Path appended = hdfs.write("/appended", 1000, 2);
    Path closed = new Path("/closed");
    try (FSDataOutputStream out = hdfs.fs.create(closed, true, 4096, (short) 2, MB)) {
      out.write(bytes, 0, synced);
      assertThat(openFiles()).as("nobody has asked").isEmpty();
      out.hsync();
      assertThat(openFiles()).as("two replicas and their meta files").hasSize(4);
      out.write(bytes, synced, bytes.length - synced);
    }
    assertThat(openFiles()).isEmpty();
    assertThat(hdfs.unpersisted()).as("its end waited").isEqualTo(names(appended));
    FSDataOutputStream more = hdfs.fs.append(appended);
    more.write(bytes, 0, synced);
    more.hsync();
    more.write(bytes, synced, 1);
    more.hsync();
    Path open = new Path("/open");
    FSDataOutputStream out = hdfs.fs.create(open, true, 4096, (short) 2, MB);
    out.write(bytes, 0, synced);
    out.hsync();
    out.write(bytes, synced, 1000);
    out.hflush();
    restart(true, more, out);
    assertThat(hdfs.read(closed)).isEqualTo(bytes);
    recoverLease(appended);
    assertThat(hdfs.read(appended)).startsWith(TierCluster.bytes(1000, "/appended".hashCode())).hasSize(1001 + synced)
        .endsWith(Arrays.copyOf(bytes, synced + 1));
    recoverLease(open);
    assertThat(hdfs.read(open)).isEqualTo(Arrays.copyOf(bytes, synced));
  }

  @Test
  void whatAnHsyncPersistedIsFoundThoughUpstreamLeftAListOfReplicas() throws Exception {
    Path down = hdfs.write("/down", 1000, NODES);
    hdfs.await(down, RAM_DISK, RAM_DISK, RAM_DISK);
    for (TierDataset dataset : hdfs.datasets()) {
      dataset.moveDown(hdfs.pool(), (FinalizedReplica) hdfs.replica(dataset, down), Reason.COLD, null);
    }
    byte[] bytes = TierCluster.bytes(1000, 9);
    Path open = new Path("/open");
    FSDataOutputStream out = hdfs.fs.create(open, true, 4096, (short) 2, MB);
    out.write(bytes);
    out.hsync();
    restart(true, out);
    recoverLease(open);
    assertThat(hdfs.read(open)).isEqualTo(bytes);
    hdfs.assertHolds(down, 1000);
  }

  @Test
  void anHsyncOfADeletedFileFailsAndLeavesNothing() throws Exception {
    Path path = new Path("/file");
    FSDataOutputStream out = hdfs.fs.create(path, true, 4096, (short) 2, MB);
    out.write(1);
    out.hflush();
    hdfs.fs.delete(path, false);
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return hdfs.datasets().stream().allMatch(dataset -> dataset.volumeMap.size(hdfs.pool()) == 0);
    }, () -> path);
    out.write(2);
    assertThatThrownBy(out::hsync).isInstanceOf(IOException.class);
    assertThat(openFiles()).isEmpty();
    for (TierDataset dataset : hdfs.datasets()) {
      for (TierVolume volume : dataset.volumes(SSD)) {
        assertThat(volume.getReservedForReplicas()).isZero();
      }
    }
  }

  @Test
  void whatAnHsyncPersistedIsFoundAfterARecoveryOfThePipeline() throws Exception {
    byte[] bytes = TierCluster.bytes(MB / 2, 9);
    Path path = new Path("/file");
    FSDataOutputStream out = hdfs.fs.create(path, true, 4096, (short) 2, MB);
    out.write(bytes, 0, 300_001);
    out.hsync();
    DataNodeProperties stopped = hdfs.cluster.stopDataNode(hdfs.datasets().indexOf(hdfs.holder(path, RAM_DISK)));
    out.write(bytes, 300_001, 1000);
    out.hflush();
    hdfs.cluster.restartDataNode(stopped);
    hdfs.cluster.waitActive();
    restart(true, out);
    recoverLease(path);
    assertThat(hdfs.read(path)).isEqualTo(Arrays.copyOf(bytes, 300_001));
  }

  private static void recoverLease(Path path) throws Exception {
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return hdfs.fs.recoverLease(path);
    }, () -> hdfs.blocks(path));
  }

  @Test
  void anHsyncThatCannotPersistFailsAndSaysWhy() throws Exception {
    Path path = new Path("/file");
    try (FSDataOutputStream out = hdfs.fs.create(path, true, 4096, (short) 1, MB)) {
      out.write(new byte[1000]);
      out.hflush();
      TierDataset holder = hdfs.holder(path, RAM_DISK);
      ReplicaInfo replica = hdfs.replica(holder, path);
      hdfs.setCapacity(SSD, 0);
      hdfs.setCapacity(DISK, 0);
      assertThatThrownBy(() -> holder.openShadows().sync(hdfs.pool(), replica))
          .hasMessageContaining("dfs.rdma.memory.hsync=persist").hasMessageContaining("no SSD or disk has room");
      hdfs.setCapacity(DISK, -1);
      out.hsync();
      assertThat(openFiles()).hasSize(2);
      hdfs.fs.delete(path, false); // of a file that is deleted nothing is left
      TierCluster.awaitThat(() -> {
        hdfs.report();
        hdfs.cluster.triggerBlockReports();
        return openFiles().isEmpty();
      }, ShadowsTest::openFiles);
    } catch (IOException e) {
      assertThat(hdfs.fs.exists(path)).as("%s", e).isFalse(); // the end of a file that was deleted
    }
  }

  /** The files on SSD and disk of blocks that are being written. */
  private static List<String> openFiles() throws IOException {
    List<String> files = new ArrayList<>();
    for (TierDataset dataset : hdfs.datasets()) {
      for (TierVolume volume : dataset.volumes(null)) {
        if (!volume.isRam()) {
          files.addAll(Arrays.asList(volume.getBlockPoolSlice(hdfs.pool()).getRbwDir().list()));
        }
      }
    }
    return files;
  }

  private static File shadowOf(TierDataset dataset, Path path) throws IOException {
    String name = hdfs.blocks(path).get(0).getBlock().getBlockName();
    return new File(dataset.volumes(SSD).get(0).getLazyPersistDir(hdfs.pool()), name);
  }

  private static Object inode(File file) throws IOException {
    return Files.getAttribute(file.toPath(), "unix:ino");
  }

  @Test
  void fullRamMeansSsdAndFullSsdMeansDisk() throws Exception {
    hdfs.setCapacity(RAM_DISK, 0);
    hdfs.await(hdfs.write("/ssd", MB, 2), SSD, SSD);
    hdfs.setCapacity(SSD, 0);
    hdfs.await(hdfs.write("/disk", MB, 2), DISK, DISK);
    hdfs.setCapacity(RAM_DISK, -1);
    Path path = hdfs.write("/ram", MB, 2);
    hdfs.await(path, RAM_DISK, RAM_DISK);
    hdfs.setCapacity(DISK, 0);
    long failures = failures();
    persist();
    assertThat(failures()).isEqualTo(failures + 2);
    assertThat(hdfs.unpersisted()).isEqualTo(names(path));
    hdfs.assertHolds(path, MB);
  }

  private static long failures() {
    return hdfs.datasets().stream().mapToLong(dataset -> dataset.counts().failures.sum()).sum();
  }

  private static void persist() {
    hdfs.datasets().forEach(dataset -> dataset.shadows().round());
  }

  private static Set<String> names(Path path) throws IOException {
    Set<String> names = new TreeSet<>();
    for (LocatedBlock block : hdfs.blocks(path)) {
      names.add(block.getBlock().getBlockName());
    }
    return names;
  }

  private static List<String> shadowFiles() throws IOException {
    List<String> files = new ArrayList<>();
    for (TierDataset dataset : hdfs.datasets()) {
      for (TierVolume volume : dataset.volumes(null)) {
        String[] there = volume.getLazyPersistDir(hdfs.pool()).list();
        files.addAll(Arrays.asList(there == null ? new String[0] : there));
      }
    }
    return files;
  }

  /**
   * All DataNodes end and start again, after a start that ended half-way; without power what was in RAM is gone.
   */
  private static void restart(boolean isWithoutPower, FSDataOutputStream... abandoned) throws Exception {
    List<DataNodeProperties> all = new ArrayList<>();
    for (int i = 0; i < NODES; i++) {
      File ram = new File(hdfs.dataset(0).volumes(RAM_DISK).get(0).getBasePath());
      File shadows = hdfs.dataset(0).volumes(SSD).get(0).getLazyPersistDir(hdfs.pool());
      all.add(hdfs.cluster.stopDataNode(0));
      if (shadows.isDirectory()) {
        assertThat(shadows.renameTo(new File(shadows.getParentFile(), "howdah-shadows"))).isTrue();
      }
      if (isWithoutPower) {
        FileUtil.fullyDeleteContents(ram);
      }
    }
    for (FSDataOutputStream stream : abandoned) {
      DFSTestUtil.abortStream((DFSOutputStream) stream.getWrappedStream());
    }
    for (DataNodeProperties node : all) {
      hdfs.cluster.restartDataNode(node);
    }
    hdfs.cluster.waitActive();
    hdfs.report();
    hdfs.cluster.triggerBlockReports();
  }

  private static void awaitMissing(int count) throws Exception {
    BlockManager blocks = hdfs.cluster.getNamesystem().getBlockManager();
    TierCluster.awaitThat(() -> {
      hdfs.report();
      BlockManagerTestUtil.checkHeartbeat(blocks); // removes replicas on storage that is gone
      BlockManagerTestUtil.updateState(blocks);
      return blocks.getMissingBlocksCount() == count;
    }, blocks::getMissingBlocksCount);
  }
}

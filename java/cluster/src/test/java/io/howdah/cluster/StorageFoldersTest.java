package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.Properties;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StorageFoldersTest {
  private static final DaemonId SECOND = new DaemonId(DaemonKind.DATANODE, 2);

  @TempDir
  private Path folder;
  private Path ram;

  @BeforeEach
  void makeRam() throws IOException {
    ram = Files.createTempDirectory(Paths.get("/dev/shm"), "howdah-cluster-test-");
  }

  @AfterEach
  void removeRam() throws IOException {
    ClusterDir.delete(ram);
  }

  private ClusterSpec hhh() {
    return new ClusterSpec().mode("hhh").ram(ram).site("dfs.blocksize", "1m");
  }

  private static void refused(ClusterSpec spec, String message) {
    assertThatThrownBy(() -> StorageFolders.check(spec)).isInstanceOf(ClusterException.class)
        .hasMessageContaining(message);
  }

  @Test
  void eachDataNodeHasFoldersOfItsOwn() {
    ClusterSpec spec = hhh().ssd(folder);
    StorageFolders.check(spec);
    assertThat(new StorageFolders(spec, "id").value(SECOND, "file:///disk")).isEqualTo("[RAM_DISK]file://" + ram
        + "/howdah-id/datanode-2,[SSD]file://" + folder + "/howdah-id/datanode-2,[DISK]file:///disk");
    assertThat(new StorageFolders(hhh(), "id").value(SECOND, "file:///disk")).isEqualTo("[RAM_DISK]file://" + ram
        + "/howdah-id/datanode-2,[DISK]file:///disk");
    ClusterSpec notMade = new ClusterSpec().mode("hhh").ram(ram.resolve("not/made"));
    assertThat(new StorageFolders(notMade, "id").capacity()).isEqualTo(ram.toFile().getTotalSpace() / 3);
  }

  @Test
  void theSharedPathIsForItsModeAlone() throws IOException {
    refused(new ClusterSpec().mode("hhh-l").ram(ram).site("dfs.blocksize", "1m"), "needs a folder for the copies");
    refused(hhh().shared(folder), "--shared is for the mode hhh-l");
    refused(new ClusterSpec().shared(folder), "--shared is for the mode hhh-l");
    ClusterSpec spec = new ClusterSpec().mode("hhh-l").ram(ram).shared(folder).site("dfs.blocksize", "1m");
    StorageFolders.check(spec);
    assertThat(spec.replication()).isEqualTo(1);
    StorageFolders folders = new StorageFolders(spec, "id");
    assertThat(folders.shared()).isEqualTo(folder.resolve("howdah-id"));
    folders.make(folders.used());
    assertThat(folders.shared()).isEmptyDirectory();
    Properties record = new Properties();
    spec.save(record);
    assertThat(ClusterSpec.load(record).shared()).isEqualTo(folder);
    folders.delete();
    assertThat(folder).isEmptyDirectory();
  }

  @Test
  void modesWithoutHdfsHaveASharedFolderAndYarn() throws IOException {
    for (String mode : new String[] {"lustre-local", "lustre-only"}) {
      refused(new ClusterSpec().mode(mode), "--mode " + mode + " needs a folder");
      refused(new ClusterSpec().mode(mode).shared(folder).ram(ram), "--ram is for a storage mode");
      refused(new ClusterSpec().mode(mode).shared(folder).ssd(ram), "--ssd is for a storage mode");
      refused(new ClusterSpec().mode(mode).shared(folder).yarn(false), "leaves nothing to start");
      ClusterSpec spec = new ClusterSpec().mode(mode).shared(folder).secondary(true);
      StorageFolders.check(spec);
      assertThat(spec.daemons()).extracting(DaemonId::kind).containsOnly(DaemonKind.RESOURCEMANAGER,
          DaemonKind.NODEMANAGER, DaemonKind.HISTORYSERVER);
      StorageFolders folders = new StorageFolders(spec, "id");
      folders.make(folders.used());
      assertThat(folder.resolve("howdah-id")).isEmptyDirectory();
      folders.delete();
      assertThat(folder).isEmptyDirectory();
      checkSites(spec, folders);
      Properties record = new Properties();
      spec.save(record);
      assertThat(ClusterSpec.load(record).mode("lustre-only").mode()).isEqualTo("lustre-only");
      assertThatThrownBy(() -> ClusterSpec.load(record).mode("hhh")).hasMessageContaining("made without HDFS");
      Properties hdfs = new Properties();
      new ClusterSpec().save(hdfs);
      assertThatThrownBy(() -> ClusterSpec.load(hdfs).mode(mode)).hasMessageContaining("made with HDFS");
    }
  }

  private void checkSites(ClusterSpec spec, StorageFolders folders) {
    Ports ports = new Ports(Collections.emptyMap());
    ports.assign(spec.daemons(), Collections.emptyMap());
    Path own = folder.resolve("a cluster");
    SiteDefaults defaults = new SiteDefaults(spec, ports, folders, folder, own);
    boolean local = "lustre-local".equals(spec.mode());
    DaemonId first = new DaemonId(DaemonKind.NODEMANAGER, 1);
    assertThat(defaults.of("core-site.xml", null)).containsEntry("fs.defaultFS", "shared:///")
        .containsEntry("fs.AbstractFileSystem.shared.impl", "io.howdah.mapreduce.SharedFs");
    assertThat(defaults.of("hdfs-site.xml", null)).isEmpty();
    assertThat(defaults.of("mapred-site.xml", first))
        .containsEntry("yarn.app.mapreduce.am.staging-dir", folders.shared() + "/staging")
        .containsEntry("mapred.rdma.shuffle.lustre", local ? "1" : "2");
    assertThat(defaults.of("yarn-site.xml", first)).containsEntry("yarn.nodemanager.local-dirs",
        (local ? own.resolve("data") : folders.shared()) + "/nodemanager-1");
  }

  @Test
  void siteFilesHaveTheMode() {
    ClusterSpec spec = hhh();
    Ports ports = new Ports(Collections.emptyMap());
    ports.assign(spec.daemons(), Collections.emptyMap());
    SiteDefaults defaults = new SiteDefaults(spec, ports, new StorageFolders(spec, "id"), folder, folder);
    assertThat(defaults.of("hdfs-site.xml", DaemonId.of(DaemonKind.NAMENODE)))
        .containsEntry("dfs.rdma.hhh.mode", "hhh").doesNotContainKey("dfs.datanode.data.dir");
    assertThat(defaults.of("hdfs-site.xml", SECOND).get("dfs.datanode.data.dir")).startsWith("[RAM_DISK]");
  }

  @Test
  void whatIsNotFitIsRefusedByName() throws IOException {
    assertThatCode(() -> StorageFolders.check(new ClusterSpec())).doesNotThrowAnyException();
    refused(new ClusterSpec().ram(ram), "--ram is for a storage mode");
    refused(new ClusterSpec().ssd(ram), "--ssd is for a storage mode");
    refused(new ClusterSpec().mode("hhh").ram(Paths.get("/proc/x")), "--ram /proc/x is on proc, not in RAM");
    refused(hhh().site("dfs.blocksize", "100t"), "--ram " + ram + " is too small");
    ClusterSpec asked = hhh().site("dfs.blocksize", "100t").site("dfs.rdma.memory.capacity", "1m");
    assertThatCode(() -> StorageFolders.check(asked)).as("the DataNodes look at that").doesNotThrowAnyException();
    refused(hhh().ssd(folder.resolve("a b")), "white space");
    Path file = Files.createFile(folder.resolve("file"));
    refused(hhh().ssd(file.resolve("x")), file + " is not a folder");
    assertThatThrownBy(() -> new ClusterSpec().mode("hhh-x"))
        .hasMessageContaining("--mode hhh-x: there is no storage mode");
    assertThatThrownBy(() -> new ClusterSpec().mode("hhh-x"))
        .hasFieldOrPropertyWithValue("remedy", "use --mode hhh (Default), hhh-m (In-Memory), hhh-l (Lustre), "
            + "lustre-local, lustre-only or none");
  }

  @Test
  void aModeIsTakenByTheGuidesNamesInAnyCase() {
    assertThat(new ClusterSpec().mode("HHH").mode()).isEqualTo("hhh");
    assertThat(new ClusterSpec().mode("Default").mode()).isEqualTo("hhh");
    assertThat(new ClusterSpec().mode("In-Memory").mode()).isEqualTo("hhh-m");
    assertThat(new ClusterSpec().mode("LUSTRE").mode()).isEqualTo("hhh-l");
    assertThat(new ClusterSpec().mode("Lustre-Only").mode()).isEqualTo("lustre-only");
    assertThat(new ClusterSpec().mode("hhh").mode("None").mode()).isNull();
  }

  /** The settings that a start records and the next one reads. */
  private static ClusterSpec recorded(ClusterSpec spec) {
    Properties record = new Properties();
    spec.save(record);
    return ClusterSpec.load(record);
  }

  @Test
  void foldersWithDataAreNotLeftSilently() {
    assertThatThrownBy(() -> recorded(hhh()).ram(folder)).hasMessage("the cluster has data in " + ram
        + ", and --ram is " + folder);
    assertThatThrownBy(() -> recorded(new ClusterSpec().mode("hhh")).ram(folder))
        .hasMessage("the cluster has data in /dev/shm, and --ram is " + folder);
    Properties older = new Properties();
    hhh().save(older);
    older.remove("ram");
    assertThat(ClusterSpec.load(older).ram()).isEqualTo(Paths.get("/dev/shm"));
    assertThat(recorded(hhh()).withoutData().ram(folder).ram()).isEqualTo(folder);
    ClusterSpec lustre = new ClusterSpec().mode("lustre-only").shared(folder);
    assertThat(recorded(lustre).withoutData().mode("hhh").shared()).isNull();
  }

  @Test
  void aModeThatIsLeftKeepsItsLocalFoldersAndDropsTheSharedOne() {
    Path shared = folder.resolve("shared");
    ClusterSpec spec = recorded(new ClusterSpec().mode("hhh-l").ram(ram).shared(shared).site("dfs.blocksize", "1m"));
    assertThatCode(() -> StorageFolders.check(spec.mode("hhh-m"))).doesNotThrowAnyException();
    assertThat(spec.shared()).isNull();
    assertThat(spec.left()).containsExactly(shared);
    assertThatCode(() -> StorageFolders.check(spec.mode("none"))).doesNotThrowAnyException();
    assertThat(new StorageFolders(recorded(spec), "id").value(SECOND, "file:///disk"))
        .isEqualTo("[RAM_DISK]file://" + ram + "/howdah-id/datanode-2,[DISK]file:///disk");
    refused(recorded(spec).ssd(folder), "--ssd is for a storage mode");
    refused(recorded(spec).mode("hhh").shared(shared), "--shared is for the mode hhh-l");
    assertThat(recorded(spec).mode("hhh-l").shared(shared).left()).isEmpty();
  }

  @Test
  void aFullSharedFolderIsRefusedBeforeAnythingIsMade() throws IOException {
    Path shared = folder.resolve("shared");
    ClusterSpec spec = new ClusterSpec().mode("hhh-l").ram(ram).shared(shared).site("dfs.blocksize", "100t")
        .site("dfs.rdma.memory.capacity", "1m");
    refused(spec, "--shared " + shared + " is too full");
    assertThat(shared).doesNotExist();
    assertThatCode(() -> StorageFolders.check(recorded(spec))).as("the DataNodes look at that")
        .doesNotThrowAnyException();
    Path conf = Files.createDirectory(folder.resolve("conf"));
    Files.write(conf.resolve("hdfs-site.xml"), ("<configuration><property><name>dfs.blocksize</name>"
        + "<value>100t</value></property></configuration>").getBytes());
    refused(new ClusterSpec().mode("hhh-l").ram(ram).shared(shared).conf(conf), "is too full");
  }

  @Test
  void theRecordKeepsThemAndWipingRemovesThem() throws IOException {
    ClusterSpec spec = hhh().ssd(folder.resolve("ssd"));
    Properties record = new Properties();
    spec.save(record);
    ClusterSpec loaded = ClusterSpec.load(record);
    assertThat(loaded.mode()).isEqualTo("hhh");
    assertThat(loaded.ram()).isEqualTo(ram);
    assertThat(loaded.ssd()).isEqualTo(folder.resolve("ssd"));

    ClusterDir dir = new ClusterDir(folder.resolve("cluster"));
    dir.create();
    dir.writeRecord(spec, new Ports(Collections.emptyMap()), "id");
    Files.createDirectories(ram.resolve("howdah-id/datanode-1"));
    Files.createDirectories(ram.resolve("howdah-other"));
    Files.createDirectories(folder.resolve("ssd/howdah-id"));
    dir.wipe();
    assertThat(ram.resolve("howdah-id")).doesNotExist();
    assertThat(folder.resolve("ssd/howdah-id")).doesNotExist();
    assertThat(ram.resolve("howdah-other")).exists();
  }
}

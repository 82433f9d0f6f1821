package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.TierSettings;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What of a shared path is refused, and with which words. */
class SharedSettingsTest {
  @TempDir
  private Path folder;

  private static Configuration conf(String path) {
    Configuration conf = new Configuration(false);
    conf.set("dfs.rdma.hhh.mode", "Lustre");
    conf.set("dfs.replication", "1");
    if (path != null) {
      conf.set("dfs.rdma.lustre.path", path);
    }
    return conf;
  }

  @Test
  void aPathIsNamed() throws IOException {
    assertThatThrownBy(() -> SharedSettings.of(conf(null))).hasMessageContaining("dfs.rdma.lustre.path is not set");
    assertThatThrownBy(() -> SharedSettings.of(conf("scratch"))).hasMessageContaining("is not an absolute path");
    assertThat(SharedSettings.of(conf("file:///lustre/a b")).path()).isEqualTo(Paths.get("/lustre/a b"));
    SharedSettings read = SharedSettings.of(conf("/lustre/hdfs"));
    assertThat(read.path()).isEqualTo(Paths.get("/lustre/hdfs"));
    assertThat(read.keepers()).isEqualTo(2);
    assertThat(read.failsWrites()).isTrue();
    assertThat(read.isSynced()).isTrue();
  }

  @Test
  void aPathThatDoesNotDoIsNamedWithTheReason() throws IOException {
    assertThatThrownBy(() -> SharedSettings.of(conf(folder + "/none")).check(0))
        .hasMessageContaining("is not a folder: mount the shared file system");
    Path file = Files.createFile(folder.resolve("file"));
    assertThatThrownBy(() -> SharedSettings.of(conf(file.toString())).check(0)).hasMessageContaining("is not a folder");
    assertThatThrownBy(() -> SharedSettings.of(conf("/dev/shm")).check(0)).hasMessageContaining("is on tmpfs, which "
        + "only this node has").hasMessageContaining("dfs.rdma.lustre.path.local=true");
    Configuration local = conf(folder.toString());
    local.set("dfs.rdma.lustre.path.local", "true");
    SharedSettings.of(local).check(1);
    assertThat(folder.toFile().list()).as("no probe is left").containsExactly("file");
    assertThatThrownBy(() -> SharedSettings.of(local).check(Long.MAX_VALUE)).hasMessageContaining("make room");
    local.set("dfs.rdma.lustre.path", "/proc/sys");
    assertThatThrownBy(() -> SharedSettings.of(local).check(0)).hasMessageContaining("takes no files");
  }

  @Test
  void aPathThatTakesNoFilesIsMountedToBeWrittenToOrGivenToTheUser() {
    IOException readOnly = new FileSystemException("/lustre/probe", null, "Read-only file system");
    IOException denied = new AccessDeniedException("/lustre/probe");
    assertThat(SharedSettings.refusal(readOnly, false)).contains("mounted read-only").doesNotContain("user");
    assertThat(SharedSettings.refusal(denied, true)).contains("mounted read-only").doesNotContain("user");
    assertThat(SharedSettings.refusal(denied, false)).contains("takes no files").contains("let the DataNode's user");
  }

  @Test
  void aPathInADataNodesOwnFolderIsRefused() throws IOException {
    SharedSettings read = SharedSettings.of(conf("/lustre/node/hdfs"));
    for (String own : new String[] {"/lustre/node", "/lustre/node/hdfs", "/lustre/other/../node/hdfs/."}) {
      assertThatThrownBy(() -> read.checkApartFrom(Paths.get(own))).hasMessageStartingWith("dfs.rdma.lustre.path="
          + "/lustre/node/hdfs is in " + own + " of dfs.datanode.data.dir");
    }
    read.checkApartFrom(Paths.get("/lustre/node/hdf"));
    read.checkApartFrom(Paths.get("/lustre/node/hdfs/data"));
  }

  @Test
  void whatAnHsyncPersistsHasToLastWhenTheBlockEnds() throws IOException {
    Configuration conf = conf("/lustre");
    conf.set("dfs.rdma.memory.hsync", "persist");
    conf.set("dfs.rdma.lustre.sync", "packet");
    assertThat(SharedSettings.of(conf).isPersistingOnSync()).isTrue();
    for (String[] other : new String[][] {{"dfs.rdma.lustre.sync", "async"}, {"dfs.rdma.lustre.on.failure", "local"},
        {"dfs.rdma.lustre.fsync", "false"}}) {
      Configuration bad = new Configuration(conf);
      bad.set(other[0], other[1]);
      assertThatThrownBy(() -> SharedSettings.of(bad)).hasMessageStartingWith("dfs.rdma.memory.hsync=persist with "
          + other[0] + "=" + other[1]);
    }
  }

  @Test
  void oneReplicaIsWanted() throws IOException {
    assertThat(TierSettings.of(conf("/lustre")).memoryReplicas(1)).isEqualTo(1);
    Configuration three = conf("/lustre");
    three.set("dfs.replication", "3");
    assertThatThrownBy(() -> TierSettings.of(three)).hasMessageContaining("dfs.replication=3")
        .hasMessageContaining("set it to 1");
  }
}

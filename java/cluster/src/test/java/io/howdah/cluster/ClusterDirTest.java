package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Properties;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterDirTest {
  @TempDir
  private Path folder;
  private ClusterDir dir;

  @BeforeEach
  void choose() {
    dir = new ClusterDir(folder.resolve("c"));
  }

  private void make() {
    dir.create();
    ClusterSpec spec = new ClusterSpec().datanodes(5).site("dfs.blocksize", "1m");
    dir.writeRecord(spec, new Ports(Collections.emptyMap()), "id1");
  }

  @Test
  void theRecordComesBackAsItWas() {
    make();
    Properties record = dir.readRecord();
    assertThat(ClusterSpec.load(record).datanodes()).isEqualTo(5);
    assertThat(ClusterSpec.load(record).site()).containsEntry("dfs.blocksize", "1m");
    assertThat(ClusterDir.id(record)).isEqualTo("id1");
  }

  @Test
  void aForeignFolderIsRefusedAndUntouched() throws IOException {
    Files.createDirectories(dir.root());
    Path precious = Files.createFile(dir.root().resolve("precious"));
    assertThatThrownBy(dir::refuseForeign).isInstanceOf(ClusterException.class)
        .hasMessageContaining("nothing was touched");
    dir.wipe();
    assertThat(precious).exists();
  }

  @Test
  void anEmptyFolderIsWelcome() throws IOException {
    Files.createDirectories(dir.root());
    dir.refuseForeign();
  }

  @Test
  void wipingSparesWhatTheClusterDidNotMake() throws IOException {
    make();
    Path precious = Files.createFile(dir.root().resolve("precious"));
    Path outside = Files.createDirectories(folder.resolve("outside"));
    Path kept = Files.createFile(outside.resolve("kept"));
    Files.createSymbolicLink(dir.data().resolve("link"), outside);
    dir.wipe();
    assertThat(precious).exists();
    assertThat(kept).exists();
    assertThat(dir.data()).doesNotExist();
    assertThat(dir.exists()).isFalse();
  }

  @Test
  @SuppressWarnings("try")
  void oneCommandAtATime() throws IOException {
    make();
    try (FileChannel lock = dir.lock()) {
      assertThatThrownBy(dir::lock).isInstanceOf(ClusterException.class).hasMessageContaining("another howdah command");
    }
    dir.lock().close();
  }

  @Test
  void aDamagedRecordIsNamed() throws IOException {
    make();
    Files.write(dir.root().resolve("cluster.properties"), "datanodes=many".getBytes());
    assertThatThrownBy(dir::readRecord).isInstanceOf(ClusterException.class)
        .hasMessageContaining("cluster.properties");
  }
}

package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Properties;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AttemptTest {
  @TempDir
  private Path folder;
  private ClusterDir dir;
  private Path ram;
  private Path shared;

  @BeforeEach
  void choose() {
    dir = new ClusterDir(folder.resolve("c"));
    dir.create();
    ram = folder.resolve("made/ram");
    shared = folder.resolve("shared");
  }

  private ClusterSpec recorded() {
    return new Cluster(dir.root()).recordedSpec();
  }

  private Attempt attempt(ClusterSpec spec) {
    return new Attempt(dir, dir.readRecord(), spec, new Ports(Collections.emptyMap()));
  }

  /** A start that succeeded. */
  private void started(ClusterSpec spec) throws IOException {
    attempt(spec).begin();
    Files.createDirectories(dir.data());
    if (!dir.hasData()) {
      Files.createFile(dir.formatted());
    }
  }

  private static Path block(Path dataNode, int id) throws IOException {
    return Files.createFile(Files.createDirectories(dataNode).resolve("blk_" + id));
  }

  private Path own(Path of) {
    return of.resolve("howdah-" + ClusterDir.id(dir.readRecord()));
  }

  @Test
  void aFirstStartThatFailsLeavesNothingButItsId() throws IOException {
    Files.createDirectory(shared);
    Attempt failed = attempt(new ClusterSpec().datanodes(1).mode("hhh-l").ram(ram).shared(shared).site("a", "b"));
    failed.begin();
    assertThat(own(shared)).isEmptyDirectory();
    block(own(ram), 1);
    Files.createDirectories(dir.formatted());
    assertThat(failed.takeBack()).isEmpty();
    assertThat(shared).isEmptyDirectory();
    assertThat(folder.resolve("made")).doesNotExist();
    assertThat(dir.hasData()).isFalse();
    ClusterSpec next = recorded();
    assertThat(next.datanodes()).isEqualTo(3);
    assertThat(next.mode()).isNull();
    assertThat(next.site()).isEmpty();
    assertThat(next.mode("lustre-only").shared(folder.resolve("other")).shared()).isEqualTo(folder.resolve("other"));
    assertThat(dir.readRecord()).containsKey("port.datanode-3.http");
    assertThat(failed.takeBack()).as("the second time").isEmpty();
  }

  @Test
  void aStartThatFailsRecordsNothing() throws IOException {
    started(new ClusterSpec().site("dfs.blocksize", "1m"));
    Properties before = dir.readRecord();
    ClusterSpec other = recorded().mode("hhh-l").ram(ram).ssd(folder.resolve("ssd")).shared(shared).site("a", "b");
    Attempt failed = attempt(other);
    failed.begin();
    assertThat(own(shared)).as("made when the mode is taken").isEmptyDirectory();
    assertThat(recorded().mode()).isEqualTo("hhh-l");
    failed.takeBack();
    assertThat(dir.readRecord()).isEqualTo(before);
    assertThat(dir.hasData()).isTrue();
    assertThat(shared).doesNotExist();
    assertThat(folder.resolve("made")).doesNotExist();
    assertThat(folder.resolve("ssd")).doesNotExist();
  }

  @Test
  void aFolderThatGotBlocksIsKeptWithThem() throws IOException {
    started(new ClusterSpec());
    Attempt failed = attempt(recorded().mode("hhh-l").ram(ram).ssd(folder.resolve("ssd")).shared(shared));
    failed.begin();
    Path block = block(own(ram).resolve("datanode-1"), 1);
    assertThat(failed.takeBack()).containsExactly(ram);
    assertThat(block).exists();
    assertThat(recorded().mode()).isNull();
    assertThat(recorded().ram()).isEqualTo(ram);
    assertThat(recorded().ssd()).isNull();
    dir.wipe();
    assertThat(folder.resolve("made")).doesNotExist();
  }

  @Test
  void theSharedFolderIsNotMadeForAModeThatHadOne() throws IOException {
    started(new ClusterSpec().mode("hhh-l").ram(ram).shared(shared));
    ClusterDir.delete(own(shared));
    attempt(recorded()).begin();
    assertThat(own(shared)).as("may be a mount that is not there").doesNotExist();
  }

  @Test
  void blocksThatAreOnTheSharedPathAloneHoldTheMode() throws IOException {
    started(new ClusterSpec().mode("hhh-l").ram(ram).shared(shared));
    Path node = Files.createDirectories(own(shared).resolve("BP-1/uuid"));
    Files.write(node.resolve("list"), "howdah-shared-blocks 1 x\n+ 1 9 1\n+ 2 9 1\n+ 3 9 1\n- 3\n".getBytes());
    block(own(ram).resolve("datanode-1/current"), 1);
    ClusterSpec left = recorded().mode("none");
    assertThatThrownBy(() -> attempt(left).checkLeaving()).isInstanceOf(ClusterException.class)
        .hasMessageContaining("`howdah storage import` comes first: 1 block is in " + own(shared) + " only");
    block(dir.data().resolve("datanode-2/current"), 2);
    assertThatCode(() -> attempt(left).checkLeaving()).doesNotThrowAnyException();
    started(left);
    Path copies = own(shared);
    ClusterDir.delete(own(shared));
    assertThatCode(() -> attempt(recorded()).checkLeaving()).as("it is left").doesNotThrowAnyException();
    Files.createDirectories(copies);
    dir.wipe();
    assertThat(copies).as("fresh deletes it").doesNotExist();
  }

  @Test
  void aSharedPathThatIsNotThereHoldsTheMode() throws IOException {
    started(new ClusterSpec().mode("hhh-l").ram(ram).shared(shared));
    ClusterDir.delete(own(shared));
    assertThatThrownBy(() -> attempt(recorded().mode("hhh")).checkLeaving())
        .hasMessageContaining("is not a folder");
  }

  @Test
  void freshDeletesWhatAStartMade() throws IOException {
    Path mine = Files.createDirectories(folder.resolve("mine"));
    started(new ClusterSpec().mode("hhh").ram(ram).ssd(mine.resolve("ssd")));
    block(own(ram), 1);
    dir.wipe();
    assertThat(folder.resolve("made")).doesNotExist();
    assertThat(mine).isEmptyDirectory();
  }

  @Test
  void whatAKilledFirstStartLeftIsRemoved() throws IOException {
    attempt(new ClusterSpec().mode("lustre-only").shared(shared)).begin();
    Path old = own(shared);
    attempt(recorded().mode("none")).begin();
    assertThat(old).doesNotExist();
  }

  @Test
  void aRefusedFirstStartLeavesAFolderThatIsTaken() throws IOException {
    dir.discardUnused();
    dir.refuseForeign();
    assertThat(dir.root()).isEmptyDirectory();
  }
}

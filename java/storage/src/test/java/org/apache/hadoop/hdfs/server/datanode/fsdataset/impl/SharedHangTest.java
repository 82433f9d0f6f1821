package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.shared.SharedWait;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.junit.jupiter.api.Test;

/** A shared path that does not answer. The files that hang are pipes without a writer. */
class SharedHangTest extends SharedHdfs {
  private static final int MB = 1 << 20;
  private static final String[] SETTINGS = {"dfs.rdma.lustre.timeout=2000", "dfs.rdma.lustre.on.failure=local",
      "dfs.rdma.lustre.local.percentage=0.000001", "dfs.rdma.lustre.local.low.percentage=0.000001"};

  private static Path hang(Path file) throws Exception {
    Path aside = file.resolveSibling("aside");
    Files.move(file, aside);
    assertThat(new ProcessBuilder("mkfifo", file.toString()).inheritIO().start().waitFor()).isZero();
    return aside;
  }

  /** Whoever waits for the file goes on, and finds it empty; later ones find what it was. */
  @SuppressWarnings("try") // the pipe is opened, not used
  private static void answer(Path file, Path aside) throws IOException {
    try (RandomAccessFile end = new RandomAccessFile(file.toFile(), "rw")) { // opens a pipe without waiting
      Files.move(aside, file, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  @Test
  void whoeverWaitsGoesOn() throws Exception {
    start(SETTINGS);
    whatWaitsForACopyEndsAndTheRestGoesOn();
    readersOfCopiesGoOnElsewhereAtOnceWhenADataNodeGetsNoAnswer();
  }

  private void whatWaitsForACopyEndsAndTheRestGoesOn() throws Exception {
    hdfs.setCapacity(RAM_DISK, 0);
    org.apache.hadoop.fs.Path path = hdfs.write("/file", MB / 2, 1);
    TierDataset owner = leftToItsCopy(path);
    ReplicaInfo replica = hdfs.replica(owner, path);
    ExtendedBlock block = new ExtendedBlock(hdfs.pool(), replica);
    ExtendedBlockId id = new ExtendedBlockId(replica.getBlockId(), hdfs.pool());
    Path meta = replica.getMetaFile().toPath();
    Path asideMeta = hang(meta);
    assertThat(((FinalizedReplica) replica).getLastChecksumAndDataLen()).as("asked for with the lock").isNull();
    answer(meta, asideMeta);
    Path file = replica.getBlockFile().toPath();
    Path aside = hang(file);
    // What the thread that sends heartbeats asks for: the file is not looked at, which has no bytes now.
    owner.checkBlock(block, MB / 2, ReplicaState.FINALIZED);
    assertThat(owner.getLength(block)).isEqualTo(MB / 2);
    assertThatThrownBy(() -> owner.checkBlock(block, MB, ReplicaState.FINALIZED)).isInstanceOf(IOException.class);
    // The mover waits once; then requests for what is there are dropped until it is back.
    hdfs.setCapacity(RAM_DISK, -1);
    for (int i = 0; i < 3; i++) {
      owner.mover().promote(id);
      owner.mover().round();
    }
    assertThat(owner.counts().failures.sum()).isPositive();
    assertThat(owner.copies().has(id)).isFalse();
    assertThatThrownBy(() -> owner.append(block, block.getGenerationStamp() + 1, block.getNumBytes()))
        .isInstanceOf(SharedWait.NoAnswer.class).hasMessageContaining("did not answer within 2000 ms");
    hdfs.cluster.triggerHeartbeats();
    hdfs.assertHolds(hdfs.write("/local", 1000, 1), 1000);
    answer(file, aside);
    TierCluster.awaitThat(() -> {
      owner.mover().promote(id);
      owner.mover().round();
      return owner.copies().has(id);
    }, () -> owner.counts().failures);
    TierCluster.awaitThat(() -> owner.inMotion() == 0, owner::inMotion);
    AtomicReference<IOException> late = new AtomicReference<>();
    TierCluster.awaitThat(() -> {
      try (FSDataOutputStream out = hdfs.fs.append(path)) {
        out.write(TierCluster.bytes(1000, 1));
        return true;
      } catch (IOException e) { // a busy machine may take longer to copy the block back than the path may be silent
        late.set(e);
        hdfs.fs.recoverLease(path);
        hdfs.report();
        return false;
      }
    }, late::get);
    assertThat(hdfs.read(path)).hasSize(MB / 2 + 1000).endsWith(TierCluster.bytes(1000, 1));
  }

  private void readersOfCopiesGoOnElsewhereAtOnceWhenADataNodeGetsNoAnswer() throws Exception {
    org.apache.hadoop.fs.Path path = hdfs.write("/other", MB / 2, 1);
    awaitReplicas(path, 1, 2);
    TierDataset owner = hdfs.dataset(owner(path));
    ExtendedBlock block = new ExtendedBlock(hdfs.pool(), hdfs.replica(owner, path));
    File folder = folderOf(hdfs.replica(owner, path));
    Path list = shared.resolve(hdfs.pool()).resolve(owner.datanode.getDatanodeUuid()).resolve("list");
    assertThat(folder.toPath().startsWith(list.getParent())).isTrue();
    List<Thread> waiting = new ArrayList<>();
    List<TierDataset> keeping = new ArrayList<>();
    Path aside = hang(list);
    for (TierDataset dataset : hdfs.datasets()) {
      if (dataset != owner && hdfs.replica(dataset, path) != null) {
        keeping.add(dataset);
        Thread round = new Thread(() -> {
          try {
            dataset.keepers().round();
          } catch (IOException e) {
            return; // when the pipe is gone
          }
        });
        round.setDaemon(true);
        round.start();
        waiting.add(round);
      }
    }
    assertThat(keeping).hasSize(2);
    for (TierDataset dataset : keeping) {
      TierCluster.awaitThat(() -> dataset.keepers().isStuck(), () -> dataset.keepers().silence());
      assertThat(dataset.keepers().owners()).as("JMX answers").isPositive();
      assertThat(dataset.countOn(DatanodeStorage.State.READ_ONLY_SHARED)).isPositive();
      assertThatThrownBy(() -> dataset.getBlockInputStream(block, 0)).hasMessageContaining("has not answered for");
      assertThatThrownBy(() -> dataset.getMetaDataInputStream(block)).hasMessageContaining("has not answered for");
    }
    hdfs.cluster.triggerHeartbeats();
    hdfs.assertHolds(path, MB / 2);
    answer(list, aside);
    for (Thread thread : waiting) {
      TierCluster.awaitThat(() -> !thread.isAlive(), () -> thread);
    }
    for (TierDataset dataset : keeping) {
      assertThat(dataset.keepers().isStuck()).isFalse();
      dataset.getBlockInputStream(block, 0).close();
    }
    awaitReplicas(path, 1, 2);
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.Reason;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.NumberReplicas;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaAlreadyExistsException;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.ReplicaWaitingToBeRecovered;
import org.apache.hadoop.hdfs.server.protocol.ReceivedDeletedBlockInfo;
import org.apache.hadoop.hdfs.server.protocol.ReceivedDeletedBlockInfo.BlockStatus;
import org.apache.hadoop.hdfs.server.protocol.StorageReceivedDeletedBlocks;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.util.Time;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A replica that changes while it is copied, at the worst moment: after its last byte was read. */
@ExtendWith(TierCluster.Shared.class)
class TierRaceTest {
  private static final int SIZE = 700_000;

  /** Runs something once, when so many files were copied; each is one piece. */
  private static final class Meanwhile extends DataTransferThrottler {
    private final Callable<?> change;
    private int files;

    Meanwhile(int files, Callable<?> change) {
      super(Long.MAX_VALUE / 1000);
      this.files = files;
      this.change = change;
    }

    @Override
    public synchronized void throttle(long bytes) {
      if (--files == 0) {
        try {
          change.call();
        } catch (Exception e) {
          throw new AssertionError(e);
        }
      }
    }
  }

  private interface Change {
    /** @return the file's bytes after it; null if it is gone */
    byte[] to(TierCluster hdfs, Path path, byte[] bytes) throws Exception;
  }

  @Test
  void anAppendIsNotLost(TierCluster shared) throws Exception {
    during(shared, (hdfs, path, bytes) -> {
      byte[] all = Arrays.copyOf(bytes, bytes.length + 1000);
      try (FSDataOutputStream out = hdfs.fs.append(path)) {
        out.write(new byte[1000]);
      }
      return all;
    });
  }

  @Test
  void aTruncatedByteDoesNotComeBack(TierCluster shared) throws Exception {
    during(shared, (hdfs, path, bytes) -> {
      hdfs.truncate(path, 1234);
      return Arrays.copyOf(bytes, 1234);
    });
  }

  @Test
  void whatIsDeletedStaysDeleted(TierCluster shared) throws Exception {
    during(shared, (hdfs, path, bytes) -> {
      hdfs.fs.delete(path, false);
      return null;
    });
  }

  @Test
  void theNameNodeDoesNotBelieveInAReplicaThatWasDeletedBeforeItsMoveWasReported(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/deleted", SIZE, 1); // the only replica, so that no other comes in its place
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    Block block = hdfs.blocks(path).get(0).getBlock().getLocalBlock();
    moveAnd(hdfs, dataset, path, () -> {
      dataset.invalidate(hdfs.pool(), new Block[] {block});
      TierCluster.awaitThat(() -> DataNodeTestUtils.getPendingAsyncDeletions(dataset.datanode) == 0, () -> path);
      return null;
    });
    assertThat(dataset.volumeMap.get(hdfs.pool(), block.getBlockId())).isNull();
    assertThat(dataset.journal().of(new ExtendedBlockId(block.getBlockId(), hdfs.pool()))).isEmpty();
    hdfs.report(); // all that there is to tell: nothing comes after it
    assertThat(hdfs.blocks(path).get(0).getLocations()).isEmpty();
    for (TierVolume volume : dataset.volumes(null)) {
      assertThat(volume.getTmpDir(hdfs.pool()).list()).isEmpty();
      assertThat(volume.getReservedForReplicas()).isZero();
    }
  }

  @Test
  void theNameNodeDoesNotBelieveForLongThatAReplicaIsWhereItWasBeforeItMoved(TierCluster hdfs) throws Exception {
    long took;
    int tries = 0;
    do { // a machine that stands still for seconds may be late itself
      took = reportLate(hdfs, new Path("/late" + tries));
      tries++;
    } while (took >= PlaceReports.AGAIN_MS && tries < 5);
    assertThat(took).isLessThan(PlaceReports.AGAIN_MS);
    Path path = new Path("/late" + (tries - 1));
    String now = hdfs.replica(hdfs.holder(path, StorageType.DISK), path).getStorageUuid();
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return Arrays.equals(hdfs.blocks(path).get(0).getStorageIDs(), new String[] {now});
    }, () -> Arrays.toString(hdfs.blocks(path).get(0).getStorageIDs()) + ", it is on " + now);
  }

  /** Reports a replica where it was before it moved, as upstream's threads do when they have let go of one. */
  private static long reportLate(TierCluster hdfs, Path path) throws Exception {
    hdfs.write(path.toString(), SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    String before = hdfs.replica(dataset, path).getStorageUuid();
    long began = Time.monotonicNow();
    moveAnd(hdfs, dataset, path, () -> null);
    dataset.datanode.notifyNamenodeReceivedBlock(hdfs.blocks(path).get(0).getBlock(), null, before, false);
    long took = Time.monotonicNow() - began;
    hdfs.report();
    return took;
  }

  @Test
  void theNameNodeDoesNotBelieveForLongInAReplicaThatWasReportedAfterItWasDeleted(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/deleted", SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    ExtendedBlock block = hdfs.blocks(path).get(0).getBlock();
    moveAnd(hdfs, dataset, path, () -> null);
    ReplicaInfo moved = hdfs.replica(dataset, path);
    AtomicReference<Throwable> failure = new AtomicReference<>(new AssertionError("it was not told again"));
    ReportHook.beforeNextDeletion(() -> {
      try { // as upstream's thread that has finalized it, on a busy machine
        dataset.datanode.notifyNamenodeReceivedBlock(block, null, moved.getStorageUuid(), false);
        hdfs.report();
        assertThat(hdfs.blocks(path).get(0).getLocations()).hasSize(1);
        failure.set(null);
      } catch (IOException | AssertionError e) {
        failure.set(e);
      }
    });
    dataset.invalidate(hdfs.pool(), new Block[] {moved});
    TierCluster.awaitThat(() -> failure.get() == null, failure::get);
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return hdfs.blocks(path).get(0).getLocations().length == 0;
    }, () -> "the NameNode believes in " + moved);
  }

  @Test
  void theNameNodeDoesNotBelieveForLongThatAReplicaThatCameBackIsGone(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/back", SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    ExtendedBlock block = hdfs.blocks(path).get(0).getBlock();
    ReplicaInfo deleted = hdfs.replica(dataset, path);
    byte[] data = Files.readAllBytes(deleted.getBlockFile().toPath());
    byte[] meta = Files.readAllBytes(deleted.getMetaFile().toPath());
    dataset.invalidate(hdfs.pool(), new Block[] {deleted});
    TierCluster.awaitThat(() -> DataNodeTestUtils.getPendingAsyncDeletions(dataset.datanode) == 0, () -> path);
    AtomicReference<Throwable> failure = new AtomicReference<>(new AssertionError("it was not told twice"));
    ReportHook.beforeNextReport(() -> ReportHook.beforeNextReport(() -> {
      try {
        reportDeleted(hdfs, dataset, path);
        failure.set(null);
      } catch (IOException | AssertionError e) {
        failure.set(e);
      }
    }));
    try (ReplicaHandler again = dataset.createTemporary(StorageType.SSD, block)) {
      ReplicaInPipeline made = (ReplicaInPipeline) again.getReplica();
      Files.write(made.getBlockFile().toPath(), data);
      Files.write(made.getMetaFile().toPath(), meta);
      made.setNumBytes(data.length);
      dataset.finalizeBlock(block);
    }
    TierCluster.awaitThat(() -> failure.get() == null, failure::get);
    hdfs.await(path, StorageType.SSD);

    reportDeleted(hdfs, dataset, path); // later still, and the NameNode has a copy sent here
    assertThatThrownBy(() -> dataset.createTemporary(StorageType.SSD, block))
        .isInstanceOf(ReplicaAlreadyExistsException.class);
    hdfs.await(path, StorageType.SSD);
    assertThat(hdfs.read(path)).hasSize(SIZE);
  }

  /** Reports a replica as deleted that is there. */
  private static void reportDeleted(TierCluster hdfs, TierDataset dataset, Path path) throws IOException {
    ReplicaInfo replica = hdfs.replica(dataset, path);
    dataset.reportDeleted(hdfs.pool(), replica, replica.getVolume());
    hdfs.report();
    assertThat(hdfs.blocks(path).get(0).getLocations()).isEmpty();
  }

  @Test
  void aFileThatIsBeingDeletedIsNoReplicaThatAScanHasFound(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/scanned", SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    ReplicaInfo replica = hdfs.replica(dataset, path);
    File file = replica.getBlockFile();
    dataset.invalidate(hdfs.pool(), new Block[] {replica});
    TierCluster.awaitThat(() -> DataNodeTestUtils.getPendingAsyncDeletions(dataset.datanode) == 0, () -> path);
    Files.write(file.toPath(), new byte[SIZE]); // as before it was deleted
    dataset.checkAndUpdate(hdfs.pool(), replica.getBlockId(), file, null, replica.getVolume());
    assertThat(dataset.volumeMap.get(hdfs.pool(), replica.getBlockId())).isNull();
    Files.delete(file.toPath());
  }

  @Test
  void aScanThatSawNoMetaFileOfAReplicaWhichHasOneGoesOn(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/moved", SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    ReplicaInfo replica = hdfs.replica(dataset, path);
    long stamp = replica.getGenerationStamp();
    for (File file : new File[] {replica.getBlockFile(), null}) {
      dataset.checkAndUpdate(hdfs.pool(), replica.getBlockId(), file, null, replica.getVolume());
      assertThat(hdfs.replica(dataset, path)).isSameAs(replica);
      assertThat(replica.getGenerationStamp()).isEqualTo(stamp);
    }
    assertThat(hdfs.read(path)).hasSize(SIZE);
  }

  @Test
  void ofTwoSetsOfFilesThatAScanFindsTheNewerOneIsTheReplica(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/twice", SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    ReplicaInfo replica = hdfs.replica(dataset, path);
    long stamp = replica.getGenerationStamp();
    TierVolume disk = dataset.volumes(StorageType.DISK).get(0);
    for (boolean hasMeta : new boolean[] {true, false}) {
      File old = new File(disk.getFinalizedDir(hdfs.pool()), replica.getBlockName());
      File meta = FsDatasetUtil.getMetaFile(old, stamp - 1);
      Files.write(old.toPath(), new byte[SIZE - 1]);
      Files.write(meta.toPath(), new byte[7]);
      dataset.checkAndUpdate(hdfs.pool(), replica.getBlockId(), old, hasMeta ? meta : null, disk);
      assertThat(hdfs.replica(dataset, path)).isSameAs(replica);
      assertThat(replica.getGenerationStamp()).isEqualTo(stamp);
      assertThat(replica.getMetaFile()).exists();
      assertThat(old).doesNotExist();
      Files.deleteIfExists(meta.toPath());
    }
    assertThat(hdfs.read(path)).hasSize(SIZE);
  }

  @Test
  void aBlockThatWasBeingWrittenWhenItsDataNodeEndedIsReplacedByTheWholeOne(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/whole", SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    ExtendedBlock block = hdfs.blocks(path).get(0).getBlock();
    TierDataset other = hdfs.datasets().stream()
        .filter(each -> each.volumeMap.get(hdfs.pool(), block.getBlockId()) == null).findFirst().get();
    TierVolume ssd = other.volumes(StorageType.SSD).get(0);
    File folder = ssd.getBlockPoolSlice(hdfs.pool()).getRbwDir();
    ReplicaInfo begun =
        new ReplicaWaitingToBeRecovered(block.getBlockId(), 5, block.getGenerationStamp() - 1, ssd, folder);
    Files.write(begun.getBlockFile().toPath(), new byte[5]);
    Files.write(begun.getMetaFile().toPath(), new byte[11]);
    other.volumeMap.add(hdfs.pool(), begun);
    hdfs.fs.setReplication(path, (short) 3);
    hdfs.await(path, TierCluster.THREE);
    assertThat(other.volumeMap.get(hdfs.pool(), block.getBlockId())).isInstanceOf(FinalizedReplica.class);
    assertThat(begun.getBlockFile()).doesNotExist();
  }

  @Test
  void theNameNodeKnowsAReplicaThatWasAppendedToBeforeItsMoveWasReported(TierCluster hdfs) throws Exception {
    Path path = hdfs.write("/appended", SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    moveAnd(hdfs, dataset, path, () -> {
      try (FSDataOutputStream out = hdfs.fs.append(path)) {
        out.write(new byte[1000]);
      }
      return null;
    });
    hdfs.report();
    hdfs.await(path, StorageType.DISK);
    assertThat(hdfs.blocks(path).get(0).isCorrupt()).isFalse();
    assertThat(hdfs.read(path)).hasSize(SIZE + 1000);
  }

  @Test
  void anOldReportOfAMoveThatTheNameNodeComesToLateDoesNotMakeAnAppendedReplicaCorrupt(TierCluster hdfs)
      throws Exception {
    Path path = hdfs.write("/late", SIZE, 1);
    hdfs.await(path, StorageType.SSD);
    TierDataset dataset = hdfs.holder(path, StorageType.SSD);
    Block before = hdfs.blocks(path).get(0).getBlock().getLocalBlock();
    try (FSDataOutputStream out = hdfs.fs.append(path)) {
      out.write(new byte[1000]);
      out.hflush();
      ReceivedDeletedBlockInfo moved = new ReceivedDeletedBlockInfo(before, BlockStatus.RECEIVED_BLOCK, null);
      hdfs.cluster.getNameNodeRpc().blockReceivedAndDeleted(dataset.datanode.getDNRegistrationForBP(hdfs.pool()),
          hdfs.pool(), new StorageReceivedDeletedBlocks[] {new StorageReceivedDeletedBlocks(
              dataset.volumes(StorageType.DISK).get(0).toDatanodeStorage(), new ReceivedDeletedBlockInfo[] {moved})});
    }
    hdfs.report();
    hdfs.await(path, StorageType.SSD);
    BlockManager blocks = hdfs.cluster.getNamesystem().getBlockManager();
    NumberReplicas replicas = blocks.countNodes(blocks.getStoredBlock(before));
    assertThat(replicas.corruptReplicas()).isZero();
    assertThat(replicas.liveReplicas()).isEqualTo(1);
    assertThat(hdfs.read(path)).hasSize(SIZE + 1000);
  }

  /** Moves a file's replica from SSD to disk; something happens before the move is reported. */
  private static void moveAnd(TierCluster hdfs, TierDataset dataset, Path path, Callable<?> then) throws Exception {
    AtomicReference<Throwable> failure = new AtomicReference<>(new AssertionError("the move was not reported"));
    ReportHook.beforeNextReport(() -> {
      try {
        then.call();
        failure.set(null);
      } catch (Exception e) {
        failure.set(e);
      }
    });
    TierVolume disk = dataset.volumes(StorageType.DISK).get(0);
    FinalizedReplica replica = (FinalizedReplica) hdfs.replica(dataset, path);
    assertThat(dataset.move(hdfs.pool(), replica, disk, Reason.COMMAND, null)).isTrue();
    assertThat(failure.get()).isNull();
  }

  private static void during(TierCluster hdfs, Change change) throws Exception {
    // A copy has one file; of a move the meta file is the second one.
    for (int files = 0; files <= 2; files++) {
      boolean isMove = files > 0;
      Path path = hdfs.write("/file" + files, SIZE, 1);
      byte[] bytes = hdfs.read(path);
      long id = hdfs.blocks(path).get(0).getBlock().getBlockId();
      TierDataset dataset = hdfs.holder(path, StorageType.SSD);
      FinalizedReplica replica = (FinalizedReplica) dataset.volumeMap.get(hdfs.pool(), id);
      byte[][] after = {null};
      Meanwhile meanwhile = new Meanwhile(Math.max(1, files), () -> {
        after[0] = change.to(hdfs, path, bytes);
        TierCluster.awaitThat(() -> {
          hdfs.report();
          return after[0] != null || dataset.volumeMap.size(hdfs.pool()) == 0;
        }, () -> path);
        return null;
      });
      TierVolume target = dataset.volumes(isMove ? StorageType.DISK : StorageType.RAM_DISK).get(0);
      boolean isDone = isMove ? dataset.move(hdfs.pool(), replica, target, Reason.COMMAND, meanwhile)
          : dataset.copyToRam(hdfs.pool(), replica, target, meanwhile);
      assertThat(isDone).isFalse();
      assertThat(meanwhile.files).as("it was changed meanwhile").isLessThanOrEqualTo(0);
      assertThat(target.getTmpDir(hdfs.pool()).list()).isEmpty();
      assertThat(target.getReservedForReplicas()).isZero();
      if (after[0] == null) {
        assertThat(dataset.volumeMap.get(hdfs.pool(), id)).isNull();
      } else {
        assertThat(Arrays.equals(hdfs.read(path), after[0])).isTrue();
        hdfs.fs.delete(path, false);
        TierCluster.awaitThat(() -> {
          hdfs.report();
          return dataset.volumeMap.size(hdfs.pool()) == 0;
        }, () -> path);
      }
    }
  }
}

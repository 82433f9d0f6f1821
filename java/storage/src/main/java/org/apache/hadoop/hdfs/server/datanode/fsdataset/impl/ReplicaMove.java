package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.util.AutoCloseableLock;

/**
 * Moves a finalized replica to another folder of the DataNode. The files are copied without the dataset's lock. Under
 * it the move is given up if the replica is no longer the one that was copied: appended to, recovered, deleted or
 * moved. Used by one thread.
 */
@SuppressWarnings("try") // locks and references are held, not used
final class ReplicaMove {
  private static final int PIECE = 1 << 20;

  private final TierDataset dataset;
  private final DataTransferThrottler throttler;
  private final String pool;
  private final FinalizedReplica replica;
  private final TierVolume target;

  // Of the replica as it was when it was copied.
  private Block block;
  private File data;
  private File meta;

  /** A move that copies no faster than the throttler lets it; null: as fast as it can. */
  ReplicaMove(TierDataset dataset, DataTransferThrottler throttler, String pool, FinalizedReplica replica,
      TierVolume target) {
    this.dataset = dataset;
    this.throttler = throttler;
    this.pool = pool;
    this.replica = replica;
    this.target = target;
  }

  /**
   * Moves it.
   *
   * @return the replica at its new place, or null if it changed meanwhile and is where it was
   * @throws IOException if files cannot be read or written; the replica is where it was
   */
  FinalizedReplica run() throws IOException {
    TierVolume source;
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      block = new Block(replica);
      data = replica.getBlockFile();
      meta = replica.getMetaFile();
      source = (TierVolume) replica.getVolume();
      if (!isUnchanged() || source == target) {
        return null;
      }
    }
    try (FsVolumeReference from = source.obtainReference(); FsVolumeReference to = target.obtainReference()) {
      long reserved = block.getNumBytes() + meta.length();
      target.reserveSpaceForReplica(reserved);
      File copy = new File(target.getTmpDir(pool), data.getName() + ".move");
      File metaCopy = FsDatasetUtil.getMetaFile(copy, block.getGenerationStamp());
      FinalizedReplica moved = null;
      try {
        boolean isWhole = copy(data, copy) == block.getNumBytes() && copy(meta, metaCopy) > 0;
        moved = isWhole ? exchange(source, copy, reserved) : null;
      } catch (IOException e) {
        if (isUnchanged()) {
          throw e;
        } // else its files are elsewhere, or gone
      } finally {
        if (moved == null) {
          target.releaseReservedSpace(reserved);
          delete(copy, metaCopy);
        }
      }
      return moved;
    }
  }

  private boolean isUnchanged() {
    ReplicaInfo now = dataset.volumeMap.get(pool, replica.getBlockId());
    return now == replica && now.getGenerationStamp() == block.getGenerationStamp()
        && now.getNumBytes() == block.getNumBytes() && now.getBlockFile().equals(data);
  }

  private FinalizedReplica exchange(TierVolume source, File copy, long reserved) throws IOException {
    File old = new File(source.getTmpDir(pool), data.getName() + ".moved");
    File oldMeta = FsDatasetUtil.getMetaFile(old, block.getGenerationStamp());
    long metaLength = meta.length();
    FinalizedReplica moved;
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      if (!isUnchanged()) {
        return null;
      }
      File there = target.getBlockPoolSlice(pool).addBlock(block, copy);
      target.releaseReservedSpace(reserved);
      target.getBlockPoolSlice(pool).incrNumBlocks();
      moved = new FinalizedReplica(block, target, there.getParentFile());
      dataset.volumeMap.add(pool, moved);
      // Out of the folder that scans look at. What a crash leaves of it is removed at the next start.
      rename(data, old);
      rename(meta, oldMeta);
    }
    // Clients that hold the old file open let go of it: they would not see what is appended.
    dataset.datanode.getShortCircuitRegistry().processBlockInvalidation(new ExtendedBlockId(block.getBlockId(), pool));
    report();
    delete(old, oldMeta);
    source.onBlockFileDeletion(pool, block.getNumBytes());
    source.onMetaFileDeletion(pool, metaLength);
    return moved;
  }

  /**
   * Tells the NameNode where the replica is. That cannot be done under the dataset's lock: a block pool that ends waits
   * for that lock, and reports wait for the pool. So the replica may be deleted or appended to, and be reported as
   * such, right before. The NameNode believes the last report of a block, so the replica is looked at again after each,
   * until it is what was told.
   */
  private void report() {
    Block told = null;
    FsVolumeSpi where = target;
    while (true) {
      ReplicaInfo now = dataset.volumeMap.get(pool, block.getBlockId());
      if (now == null && told != null) {
        told = null;
        dataset.reportDeleted(pool, block, where);
      } else if (now instanceof FinalizedReplica && !isTold((FinalizedReplica) now, told, where)) {
        told = new Block(now);
        where = now.getVolume();
        dataset.reportReceived(pool, told, where);
      } else {
        return; // a replica that is being written is reported when that ends
      }
    }
  }

  private static boolean isTold(FinalizedReplica now, Block told, FsVolumeSpi where) {
    return told != null && where == now.getVolume() && told.getGenerationStamp() == now.getGenerationStamp()
        && told.getNumBytes() == now.getNumBytes();
  }

  private static void rename(File from, File to) {
    if (!from.renameTo(to)) {
      TierDataset.LOG.warn("{} was moved to another folder and could not be removed; the next scan of the folders does",
          from);
    }
  }

  private static void delete(File... files) {
    for (File file : files) {
      if (file.exists() && !file.delete()) {
        TierDataset.LOG.warn("{} could not be removed; the DataNode's next start removes it", file);
      }
    }
  }

  private long copy(File from, File to) throws IOException {
    try (FileInputStream in = new FileInputStream(from); FileOutputStream out = new FileOutputStream(to)) {
      long copied = copy(in.getChannel(), out.getChannel(), throttler);
      if (!target.isRam()) {
        out.getChannel().force(true);
      }
      return copied;
    }
  }

  /** Copies a file; the thread's interrupt ends it with an exception. */
  static long copy(FileChannel in, FileChannel out, DataTransferThrottler throttler) throws IOException {
    ByteBuffer piece = ByteBuffer.allocateDirect(PIECE);
    long copied = 0;
    while (in.read(piece) >= 0) {
      piece.flip();
      int bytes = piece.remaining();
      while (piece.hasRemaining()) {
        out.write(piece);
      }
      piece.clear();
      copied += bytes;
      if (throttler != null) {
        throttler.throttle(bytes);
      }
    }
    return copied;
  }
}

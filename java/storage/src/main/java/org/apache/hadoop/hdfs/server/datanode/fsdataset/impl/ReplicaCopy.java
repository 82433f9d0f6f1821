package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.BlockSums;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.util.AutoCloseableLock;

/**
 * A copy of a finalized replica's files in another folder of the DataNode, which may take the replica's place. Files
 * are copied without the dataset's lock. On SSD and disk a copy lies in the folder that DataNodes of any kind recover
 * replicas from when they start, so it is never lost once it is whole. Used by one thread at a time.
 */
@SuppressWarnings("try") // locks and references are held, not used
final class ReplicaCopy {
  private static final int PIECE = 1 << 20;
  private static final int LEAST = 1 << 12;

  private final TierDataset dataset;
  private final String pool;
  private final FinalizedReplica replica;
  private final TierVolume target;

  // Of the replica as it was when it was copied.
  private final Block block;
  private final File original;
  private final File originalMeta;

  private BooleanSupplier condition = () -> true;
  private File data;
  private File meta;
  /** Bytes that count as used in the folder. */
  private long counted;

  /** A copy that is still to be made of a replica as it is now. */
  ReplicaCopy(TierDataset dataset, String pool, FinalizedReplica replica, TierVolume target) {
    this.dataset = dataset;
    this.pool = pool;
    this.replica = replica;
    this.target = target;
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      block = new Block(replica);
      original = replica.getBlockFile();
      originalMeta = replica.getMetaFile();
    }
  }

  /** A copy that was found when the DataNode started. */
  static ReplicaCopy found(TierDataset dataset, String pool, FinalizedReplica replica, TierVolume target, File data) {
    ReplicaCopy copy = new ReplicaCopy(dataset, pool, replica, target);
    copy.data = data;
    copy.meta = FsDatasetUtil.getMetaFile(data, copy.block.getGenerationStamp());
    copy.counted = copy.data.length() + copy.meta.length(); // the folder was measured with it
    return copy;
  }

  /**
   * A copy that is on the shared path, whole.
   *
   * @param condition looked at under the dataset's lock before it takes the replica's place
   */
  static ReplicaCopy shared(TierDataset dataset, String pool, FinalizedReplica replica, SharedVolume target,
      File folder, BooleanSupplier condition) {
    ReplicaCopy copy = new ReplicaCopy(dataset, pool, replica, target);
    copy.data = new File(folder, copy.original.getName());
    copy.meta = FsDatasetUtil.getMetaFile(copy.data, copy.block.getGenerationStamp());
    copy.condition = condition;
    return copy;
  }

  /** A copy that was made while the replica was being written, complete and forced, which gets its place now. */
  static ReplicaCopy grown(TierDataset dataset, String pool, FinalizedReplica replica, TierVolume target, File data,
      File meta) throws IOException {
    ReplicaCopy copy = new ReplicaCopy(dataset, pool, replica, target);
    copy.data = data;
    copy.meta = meta;
    copy.place();
    copy.counted = copy.data.length() + copy.meta.length();
    target.incDfsUsed(pool, copy.counted);
    return copy;
  }

  TierVolume volume() {
    return target;
  }

  long bytes() {
    return block.getNumBytes();
  }

  /** Whether it is a copy of a replica as that is now. */
  boolean isOf(ReplicaInfo now) {
    return now == replica && now.getGenerationStamp() == block.getGenerationStamp()
        && now.getNumBytes() == block.getNumBytes() && now.getBlockFile().equals(original);
  }

  /** Whether its data has the checksums of its meta file. Reads both. */
  boolean isSound() throws IOException {
    return BlockSums.areRight(data.toPath(), meta.toPath(), block.getNumBytes());
  }

  /** Whether the replica's own files have other checksums, or cannot be read, though it is still what was copied. */
  boolean isReplicaDamaged() {
    try {
      return !BlockSums.areRight(original.toPath(), originalMeta.toPath(), block.getNumBytes()) && isUnchanged();
    } catch (IOException e) {
      return isUnchanged();
    }
  }

  /** Whether the replica is still the one that was copied: recovery gives back the same object changed. */
  boolean isUnchanged() {
    return isOf(dataset.volumeMap.get(pool, block.getBlockId()));
  }

  /**
   * Copies the files, no faster than the throttler lets it; null: as fast as it can.
   *
   * @param placing run when all is copied, right before the copy gets its name in the folder
   * @return whether there is a copy now; not if the replica was seen to change meanwhile
   * @throws IOException if files cannot be read or written
   */
  boolean make(DataTransferThrottler throttler, Runnable placing) throws IOException {
    TierVolume source = (TierVolume) replica.getVolume();
    if (!isUnchanged() || source == target) {
      return false;
    }
    boolean isMade = false;
    try (FsVolumeReference from = source.obtainReference(); FsVolumeReference to = target.obtainReference()) {
      long reserved = block.getNumBytes() + originalMeta.length();
      target.reserveSpaceForReplica(reserved);
      name(new File(target.getTmpDir(pool), original.getName() + ".move"));
      try {
        if (copy(original, data, source, target, throttler) == block.getNumBytes()
            && copy(originalMeta, meta, source, target, throttler) > 0) {
          placing.run();
          if (!target.isRam()) {
            place();
          }
          isMade = true;
        }
      } catch (IOException e) {
        if (isUnchanged()) {
          throw e;
        } // else its files are elsewhere, or gone
      } finally {
        target.releaseReservedSpace(reserved);
        if (isMade) {
          counted = data.length() + meta.length();
          target.incDfsUsed(pool, counted);
        } else {
          delete();
        }
      }
    }
    return isMade;
  }

  private void name(File file) {
    data = file;
    meta = FsDatasetUtil.getMetaFile(file, block.getGenerationStamp());
  }

  /** Moves the files to where a start of the DataNode looks for them, and makes that last. */
  private void place() throws IOException {
    File folder = target.getLazyPersistDir(pool);
    if (!folder.isDirectory()) {
      Files.createDirectories(folder.toPath());
      sync(folder.getParentFile());
    }
    File from = data;
    File fromMeta = meta;
    name(new File(folder, original.getName()));
    try {
      // A block file without its meta file is nothing, so that one comes first.
      Files.move(from.toPath(), data.toPath(), StandardCopyOption.REPLACE_EXISTING);
      Files.move(fromMeta.toPath(), meta.toPath(), StandardCopyOption.REPLACE_EXISTING);
      sync(folder);
    } finally {
      delete(from, fromMeta); // there is one only if that failed
    }
  }

  static void sync(File folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder.toPath())) {
      channel.force(true);
    }
  }

  /**
   * Has the copy take the replica's place. The caller has references to both folders.
   *
   * @return the replica at its new place, or null if it has changed or is gone; then the copy is the caller's to delete
   */
  FinalizedReplica exchange() throws IOException {
    FinalizedReplica moved;
    TierVolume source = (TierVolume) replica.getVolume();
    File old = source.ownsFiles() ? new File(source.getTmpDir(pool), original.getName() + ".moved") : null;
    long metaLength = old == null ? 0 : originalMeta.length();
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      if (!isUnchanged() || !condition.getAsBoolean()) {
        return null;
      }
      moved = activate();
      if (old != null) {
        // Out of the folder that scans look at. What a crash leaves of it is removed at the next start.
        rename(original, old);
        rename(originalMeta, FsDatasetUtil.getMetaFile(old, block.getGenerationStamp()));
      }
    }
    // Clients that hold the old file open let go of it: they would not see what is appended.
    dataset.datanode.getShortCircuitRegistry().processBlockInvalidation(new ExtendedBlockId(block.getBlockId(), pool));
    dataset.places().tell(new ExtendedBlockId(block.getBlockId(), pool));
    if (old != null) {
      delete(old, FsDatasetUtil.getMetaFile(old, block.getGenerationStamp()));
      source.onBlockFileDeletion(pool, block.getNumBytes());
      source.onMetaFileDeletion(pool, metaLength);
    }
    return moved;
  }

  /**
   * Has the copy take the place of a replica that is gone, with its files or its folder.
   *
   * @return the replica, or null if there is one by now, and the copy is deleted; null also if the pool ends, and the
   *     copy stays
   */
  FinalizedReplica revive() throws IOException {
    FinalizedReplica revived;
    try (FsVolumeReference to = target.obtainReference()) {
      try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
        if (!dataset.isOpen(pool)) {
          return null;
        }
        if (dataset.volumeMap.get(pool, block.getBlockId()) != null) {
          delete();
          return null;
        }
        revived = activate();
      }
      dataset.places().tell(new ExtendedBlockId(block.getBlockId(), pool));
      return revived;
    }
  }

  /**
   * Makes the files of the replica, which are damaged, anew from this copy, which stays. The replica is the same object
   * as before.
   *
   * @return whether that was done; not if the replica changed meanwhile
   * @throws IOException if files cannot be read or written, or have other checksums by then
   */
  boolean restore() throws IOException {
    TierVolume home = (TierVolume) replica.getVolume();
    try (FsVolumeReference from = target.obtainReference(); FsVolumeReference to = home.obtainReference()) {
      long reserved = data.length() + meta.length();
      File part = new File(home.getTmpDir(pool), original.getName() + ".anew");
      File partMeta = FsDatasetUtil.getMetaFile(part, block.getGenerationStamp());
      home.reserveSpaceForReplica(reserved);
      try {
        copy(data, part, target, home, null);
        copy(meta, partMeta, target, home, null);
        if (!BlockSums.areRight(part.toPath(), partMeta.toPath(), block.getNumBytes())) {
          throw new IOException(part + " has other checksums than " + data + ", of which it is a copy");
        }
        try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
          if (!isUnchanged()) {
            return false;
          }
          Files.move(partMeta.toPath(), originalMeta.toPath(), StandardCopyOption.REPLACE_EXISTING);
          Files.move(part.toPath(), original.toPath(), StandardCopyOption.REPLACE_EXISTING);
        }
      } finally {
        home.releaseReservedSpace(reserved);
        delete(part, partMeta);
      }
    }
    // Clients that hold the damaged file open let go of it.
    dataset.datanode.getShortCircuitRegistry().processBlockInvalidation(new ExtendedBlockId(block.getBlockId(), pool));
    return true;
  }

  private FinalizedReplica activate() throws IOException {
    File there = data;
    if (target.ownsFiles()) {
      there = target.getBlockPoolSlice(pool).addBlock(block, data);
      target.onMetaFileDeletion(pool, counted); // the replica counts in its place
      counted = 0;
      target.getBlockPoolSlice(pool).incrNumBlocks();
    }
    FinalizedReplica active = new FinalizedReplica(block, target, there.getParentFile());
    dataset.volumeMap.add(pool, active);
    return active;
  }

  private static void rename(File from, File to) {
    if (!from.renameTo(to)) {
      TierDataset.LOG.warn("{} was moved to another folder and could not be removed; the next scan of the folders does",
          from);
    }
  }

  /** Removes its files, unless they are those of the copy on the shared path, which stays. */
  void delete() {
    if (!target.ownsFiles()) {
      return;
    }
    delete(meta, data);
    target.onMetaFileDeletion(pool, counted);
    counted = 0;
  }

  static void delete(File... files) {
    for (File file : files) {
      if (file.exists() && !file.delete()) {
        TierDataset.LOG.warn("{} could not be removed; the DataNode's next start removes it", file);
      }
    }
  }

  private static long copy(File from, File to, TierVolume source, TierVolume target, DataTransferThrottler throttler)
      throws IOException {
    try (FileInputStream file = new FileInputStream(from); FileOutputStream copy = new FileOutputStream(to)) {
      FileChannel in = file.getChannel();
      FileChannel out = copy.getChannel();
      long begin = source.isRam() && !target.isRam() ? DirectCopy.copy(in, to, throttler) : 0;
      long copied = begin + copy(in.position(begin), out.position(begin), throttler);
      if (!target.isRam()) {
        out.force(true);
      }
      return copied;
    }
  }

  /** Copies a file; the thread's interrupt ends it with an exception. */
  static long copy(FileChannel in, FileChannel out, DataTransferThrottler throttler) throws IOException {
    long left = in.size() - in.position(); // of an hsync often little, which is not worth the largest buffer
    ByteBuffer piece = ByteBuffer.allocateDirect((int) Math.max(LEAST, Math.min(PIECE, left)));
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

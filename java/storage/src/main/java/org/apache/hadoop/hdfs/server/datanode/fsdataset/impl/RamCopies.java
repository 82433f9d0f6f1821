package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.BlockSums;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.util.AutoCloseableLock;

/**
 * Copies in RAM of replicas that are on SSD or disk and are read often. The replica stays where it is, so no copy that
 * a file was promised leaves persistent storage, and the NameNode need not know. A copy is used as long as the replica
 * is the one that was copied; it lies in the folder for temporary files, which is emptied at start. Thread-safe.
 */
@SuppressWarnings("try") // locks and references are held, not used
final class RamCopies {
  private final TierDataset dataset;
  private final ConcurrentHashMap<ExtendedBlockId, Copy> copies = new ConcurrentHashMap<>();

  private static final class Copy {
    private final FinalizedReplica of;
    private final long stamp;
    private final long length;
    private final File file;
    private final TierVolume volume;

    private Copy(FinalizedReplica of, File file, TierVolume volume) {
      this.of = of;
      this.stamp = of.getGenerationStamp();
      this.length = of.getNumBytes();
      this.file = file;
      this.volume = volume;
    }

    private boolean isOf(ReplicaInfo replica) {
      return replica == of && replica.getGenerationStamp() == stamp && replica.getNumBytes() == length;
    }
  }

  RamCopies(TierDataset dataset) {
    this.dataset = dataset;
  }

  /**
   * Copies a replica.
   *
   * @return whether there is a copy now; not if the replica changed meanwhile
   * @throws IOException if files cannot be read or written
   */
  boolean make(String pool, FinalizedReplica replica, TierVolume volume, DataTransferThrottler throttler)
      throws IOException {
    ExtendedBlockId key = new ExtendedBlockId(replica.getBlockId(), pool);
    try (FsVolumeReference held = volume.obtainReference()) {
      Copy copy = new Copy(replica, new File(volume.getTmpDir(pool), replica.getBlockName() + ".copy"), volume);
      volume.reserveSpaceForReplica(copy.length);
      boolean isMade = false;
      try (FileInputStream in = new FileInputStream(replica.getBlockFile());
          FileOutputStream out = new FileOutputStream(copy.file)) {
        boolean isWhole = ReplicaCopy.copy(in.getChannel(), out.getChannel(), throttler) == copy.length;
        try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
          isMade = isWhole && copy.isOf(dataset.volumeMap.get(pool, replica.getBlockId()));
          if (isMade) {
            copies.put(key, copy);
            volume.incDfsUsed(pool, copy.length);
          }
        }
      } catch (IOException e) {
        if (copy.isOf(dataset.volumeMap.get(pool, replica.getBlockId()))) {
          throw e;
        } // else its file is elsewhere, or gone
      } finally {
        volume.releaseReservedSpace(copy.length);
        if (!isMade) {
          delete(copy.file);
        }
      }
      return isMade;
    }
  }

  private static void delete(File file) {
    if (file.exists() && !file.delete()) {
      TierDataset.LOG.warn("{} could not be removed; the DataNode's next start removes it", file);
    }
  }

  /** Opens the copy of a block at an offset; null if there is none of the replica as it is now. */
  InputStream open(ExtendedBlockId block, long offset) {
    Copy copy = copies.get(block);
    if (copy == null) {
      return null;
    }
    if (!copy.isOf(dataset.volumeMap.get(block.getBlockPoolId(), block.getBlockId()))) {
      drop(block);
      return null;
    }
    FileInputStream in = null;
    try {
      in = new FileInputStream(copy.file);
      in.getChannel().position(offset);
      return in;
    } catch (IOException e) {
      org.apache.hadoop.io.IOUtils.closeStream(in);
      drop(block); // whoever removed the file: the replica is read instead
      return null;
    }
  }

  /**
   * Whether the copy of a block has other bytes than its replica's checksums say. Reads all of it. Of a replica whose
   * checksums are on the shared path, which may not answer, any copy counts as damaged.
   */
  boolean isDamaged(ExtendedBlockId block) throws IOException {
    Copy copy = copies.get(block);
    return copy != null && copy.isOf(dataset.volumeMap.get(block.getBlockPoolId(), block.getBlockId()))
        && !(((TierVolume) copy.of.getVolume()).ownsFiles()
            && BlockSums.areRight(copy.file.toPath(), copy.of.getMetaFile().toPath(), copy.length));
  }

  /** Whether there is a copy of a block. */
  boolean has(ExtendedBlockId block) {
    return copies.containsKey(block);
  }

  /**
   * Removes the copy of a block, if there is one. Clients that have it open are told to let go of it.
   *
   * @return how many bytes it had; 0 if there was none
   */
  long drop(ExtendedBlockId block) {
    Copy copy = copies.remove(block);
    if (copy == null) {
      return 0;
    }
    delete(copy.file);
    copy.volume.onMetaFileDeletion(block.getBlockPoolId(), copy.length);
    dataset.datanode.getShortCircuitRegistry().processBlockInvalidation(block);
    dataset.droppedCopy(block, copy.of);
    return copy.length;
  }

  /** Removes copies of replicas that have changed or are gone, and those in a folder that was taken away. */
  void prune() {
    List<TierVolume> volumes = dataset.volumes(null);
    copies.forEach((block, copy) -> {
      if (!volumes.contains(copy.volume)
          || !copy.isOf(dataset.volumeMap.get(block.getBlockPoolId(), block.getBlockId()))) {
        drop(block);
      }
    });
  }

  /** The blocks that have a copy in a folder; all if it is null. */
  List<ExtendedBlockId> in(TierVolume volume) {
    List<ExtendedBlockId> blocks = new ArrayList<>();
    copies.forEach((block, copy) -> {
      if (volume == null || copy.volume == volume) {
        blocks.add(block);
      }
    });
    return blocks;
  }

  long bytes() {
    return copies.values().stream().mapToLong(copy -> copy.length).sum();
  }

  int size() {
    return copies.size();
  }
}

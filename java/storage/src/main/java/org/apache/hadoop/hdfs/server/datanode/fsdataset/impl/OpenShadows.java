package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.upgrade.Options;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInPipeline;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.util.AutoCloseableLock;

/**
 * Copies on SSD or disk of replicas in RAM that are being written and whose writer has called hsync, in the mode HHH-M.
 * They are where a start of any DataNode looks for replicas that were being written, so a power failure leaves them to
 * the recovery of the lease. The copy becomes the shadow when the replica is finalized, before that is acknowledged.
 * Thread-safe.
 */
@SuppressWarnings("try") // locks and references are held, not used
final class OpenShadows {
  /** The longest checksum of a chunk: the last one of a meta file changes while its chunk grows. */
  private static final int LAST_CHECKSUM = 8;

  private final TierDataset dataset;
  private final ConcurrentHashMap<ExtendedBlockId, Open> copies = new ConcurrentHashMap<>();

  /** The copy of one replica. */
  private static final class Open {
    private final ReplicaInfo replica;
    private final TierVolume target;
    private final long reserved;
    private final File data;
    private File meta;
    private long position;
    private long metaPosition;
    private boolean isReleased;

    private Open(String pool, ReplicaInfo replica, TierVolume target) throws IOException {
      this.replica = replica;
      this.target = target;
      long expected = replica instanceof ReplicaInPipeline
          ? ((ReplicaInPipeline) replica).getOriginalBytesReserved() : 0;
      reserved = Math.max(expected, replica.getNumBytes());
      data = new File(target.getBlockPoolSlice(pool).getRbwDir(), replica.getBlockName());
      meta = metaOf();
      target.reserveSpaceForReplica(reserved);
    }

    private File metaOf() {
      return FsDatasetUtil.getMetaFile(data, replica.getGenerationStamp());
    }

    /** Copies what the files have by now, and makes it last. */
    private synchronized void sync() throws IOException {
      if (isReleased) {
        throw new IOException(replica.getBlockName() + " was deleted while it was persisted");
      }
      try (FsVolumeReference to = target.obtainReference()) {
        boolean isNew = position == 0;
        position = extend(replica.getBlockFile(), data, position);
        metaPosition = extend(replica.getMetaFile(), meta, Math.max(0, metaPosition - LAST_CHECKSUM));
        if (isNew) {
          ReplicaCopy.sync(data.getParentFile());
        }
      }
    }

    private static long extend(File from, File to, long position) throws IOException {
      try (FileChannel in = FileChannel.open(from.toPath()).position(position);
          FileChannel out = FileChannel.open(to.toPath(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        out.position(position);
        long end = position + ReplicaCopy.copy(in, out, null);
        out.truncate(end); // it was longer before a recovery
        out.force(true);
        return end;
      }
    }

    /** After a recovery: the replica has another generation stamp, and may be shorter. */
    private synchronized void restamp() throws IOException {
      File now = metaOf();
      if (!now.equals(meta)) {
        Files.move(meta.toPath(), now.toPath(), StandardCopyOption.ATOMIC_MOVE);
        meta = now;
        ReplicaCopy.sync(data.getParentFile());
      }
      position = 0; // what is copied again has the same bytes
      metaPosition = 0;
    }

    private synchronized void release(boolean isToBeDeleted) {
      isReleased = true;
      target.releaseReservedSpace(reserved);
      if (isToBeDeleted) {
        ReplicaCopy.delete(data, meta);
      }
    }
  }

  OpenShadows(TierDataset dataset) {
    this.dataset = dataset;
  }

  private static ExtendedBlockId key(String pool, long id) {
    return new ExtendedBlockId(id, pool);
  }

  /** How a receiver has a replica persisted; null if the replica is on persistent storage anyway. */
  WatchedReplica.Watch watch(String pool, ReplicaInfo replica) {
    if (replica.getVolume().getStorageType() != StorageType.RAM_DISK) {
      return null;
    }
    return new WatchedReplica.Watch() {
      @Override
      public void flushed(long length) {
        // Only what is to last is copied.
      }

      @Override
      public void synced(long length) throws IOException {
        sync(pool, replica);
      }
    };
  }

  /**
   * Persists what a replica that is being written has so far. Called by its receiver, which writes nothing meanwhile.
   *
   * @throws IOException if no SSD or disk takes it, or it was deleted meanwhile
   */
  void sync(String pool, ReplicaInfo replica) throws IOException {
    ExtendedBlockId key = key(pool, replica.getBlockId());
    Open open = copies.get(key);
    if (open != null && open.replica == replica) {
      open.sync();
      return;
    }
    drop(key);
    open = begin(key, replica);
    try {
      open.sync();
    } catch (IOException e) {
      drop(key);
      throw e;
    }
  }

  private Open begin(ExtendedBlockId key, ReplicaInfo replica) throws IOException {
    TierVolume target = dataset.below(replica);
    if (target == null) {
      dataset.counts().failures.increment();
      throw new IOException("an hsync cannot persist " + replica.getBlockName() + ", which is in RAM ("
          + Options.MEMORY_HSYNC.key() + "=persist): no SSD or disk has room for it; make room, or set it to flush");
    }
    // Under the lock: one that leaves the map has its copy dropped after.
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      if (dataset.volumeMap.get(key.getBlockPoolId(), key.getBlockId()) != replica) {
        throw new IOException(replica.getBlockName() + " was deleted, and is not persisted");
      }
      Open open = new Open(key.getBlockPoolId(), replica, target);
      copies.put(key, open);
      return open;
    }
  }

  /** After a replica that goes on being written got another generation stamp, before its writer hears of that. */
  void restamp(String pool, long id) throws IOException {
    Open open = copies.get(key(pool, id));
    if (open != null) {
      open.restamp();
    }
  }

  /** Before a replica is finalized: persists the rest, if an hsync persisted the begin. */
  void complete(String pool, long id) throws IOException {
    Open open = copies.get(key(pool, id));
    if (open != null) {
      open.sync();
    }
  }

  /** After a replica was finalized: its copy becomes its shadow. */
  void place(String pool, long id) throws IOException {
    ExtendedBlockId key = key(pool, id);
    Open open = copies.get(key);
    ReplicaInfo now = dataset.volumeMap.get(pool, id);
    if (open == null || !(now instanceof FinalizedReplica) || !dataset.begin(key)) {
      settle(pool, id);
      return;
    }
    try {
      copies.remove(key, open);
      open.release(false);
      dataset.shadows().keepOpen(key, (FinalizedReplica) now, open.target, open.data, open.meta);
    } catch (IOException e) {
      TierDataset.LOG.debug("{} is copied again", open.data, e);
    } finally {
      dataset.end(key);
    }
    dataset.shadows().persistNow(pool, id);
  }

  /**
   * After a recovery that finalized a replica, or may have: what an hsync persisted is of an older generation stamp, so
   * the replica gets its shadow before the recovery ends.
   */
  void settle(String pool, long id) throws IOException {
    ExtendedBlockId key = key(pool, id);
    if (copies.containsKey(key) && dataset.volumeMap.get(pool, id) instanceof FinalizedReplica) {
      dataset.shadows().persistNow(pool, id);
      drop(key);
    }
  }

  /** Removes the copy of a block, if there is one. */
  void drop(ExtendedBlockId key) {
    Open open = copies.remove(key);
    if (open != null) {
      open.release(true);
    }
  }

  /** Lets go of a block pool that ends; the files stay. */
  void forget(String pool) {
    copies.keySet().removeIf(key -> {
      boolean isIn = key.getBlockPoolId().equals(pool);
      if (isIn) {
        copies.get(key).release(false);
      }
      return isIn;
    });
  }
}

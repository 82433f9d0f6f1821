package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.Scrub;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.util.Time;

/**
 * Copies on SSD or disk of the replicas in RAM, in the mode HHH-M: what a power failure leaves. They are where stock
 * Hadoop has lazily persisted replicas, so any DataNode that starts on the folders finds them. A shadow is never
 * changed: that of a replica that was appended to stays until the next one is whole. Thread-safe.
 */
@SuppressWarnings("try") // locks are held, not used
final class Shadows {
  private static final long STOP_MS = 10_000;
  private static final long PERSIST_MS = 30_000;

  private final TierDataset dataset;
  private final boolean isOn;
  private final long interval;
  private final Scrub<ExtendedBlockId> scrub;
  private final ConcurrentHashMap<ExtendedBlockId, ReplicaCopy> shadows = new ConcurrentHashMap<>();
  /** Blocks that are being deleted: their shadows do not take the place of what is missing. */
  private final Set<ExtendedBlockId> going = ConcurrentHashMap.newKeySet();
  private final Thread thread = new Thread(this::run, "TierShadows");
  private volatile boolean isStopped;
  private volatile boolean isFailing;

  /** Those of a DataNode that persists what is in RAM, or does not: then there are none. */
  Shadows(TierDataset dataset, boolean isOn, long interval, Configuration conf) {
    this.dataset = dataset;
    this.isOn = isOn;
    this.interval = interval;
    scrub = new Scrub<>(conf);
    thread.setDaemon(true);
  }

  void start() {
    if (isOn) {
      thread.start();
    }
  }

  /** Ends the thread; a shadow that is being written is given up. Those that are whole stay. */
  void stop() {
    isStopped = true;
    thread.interrupt();
    try {
      thread.join(STOP_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    while (!isStopped) {
      try {
        Thread.sleep(interval);
        round();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      } catch (RuntimeException e) {
        failed("persisting replicas", e);
      }
    }
  }

  /** A failure is logged once until a round goes well; each is counted. */
  private void failed(String what, Exception e) {
    dataset.counts().failures.increment();
    if (!isStopped && !isFailing) {
      TierDataset.LOG.warn("{} failed, and is tried again each {} ms: until it succeeds a power failure loses what is "
          + "in RAM only", what, interval, e);
    }
    isFailing = true;
  }

  /** Writes the shadows that are missing, oldest replica first; those of replicas that are gone take their place. */
  synchronized void round() {
    if (!isOn) {
      return;
    }
    long failures = dataset.counts().failures.sum();
    List<TierVolume> volumes = dataset.volumes(null);
    shadows.values().removeIf(shadow -> !volumes.contains(shadow.volume())); // its folder was removed, or has failed
    shadows.forEach((block, shadow) -> {
      String pool = block.getBlockPoolId();
      // In this order: a block that is deleted is among those that go before it is gone, until its shadow is, too.
      if (dataset.isOpen(pool) && dataset.volumeMap.get(pool, block.getBlockId()) == null && !going.contains(block)) {
        revive(block, shadow);
      }
    });
    scrub(Time.monotonicNow());
    for (TierVolume ram : dataset.volumes(StorageType.RAM_DISK)) {
      for (String pool : ram.getBlockPoolList()) {
        List<FinalizedReplica> replicas = dataset.finalizedIn(pool, ram);
        replicas.sort(Comparator.comparingLong(FinalizedReplica::getGenerationStamp));
        for (FinalizedReplica replica : replicas) {
          if (isStopped) {
            return;
          }
          persist(pool, replica);
        }
      }
    }
    isFailing = isFailing && dataset.counts().failures.sum() > failures;
  }

  /** Verifies shadows that were not for long. */
  synchronized void scrub(long now) {
    scrub.round(now, shadows::keySet, this::verify);
  }

  /** Gives up a shadow that is damaged, or cannot be read; it is made anew from the replica in RAM. */
  private long verify(ExtendedBlockId block) {
    ReplicaCopy shadow = shadows.get(block);
    if (shadow == null || isStopped) {
      return 0;
    }
    String why = "has other checksums";
    try {
      if (shadow.isSound()) {
        return shadow.bytes();
      }
    } catch (IOException e) {
      why = e.toString();
    }
    if (shadows.remove(block, shadow)) { // else it was given up meanwhile, or has become the replica
      dataset.counts().failures.increment();
      TierDataset.LOG.warn("the copy of blk_{} in {} is damaged ({}), and is made anew from the replica in RAM",
          block.getBlockId(), shadow.volume(), why);
      shadow.delete();
    }
    return shadow.bytes();
  }

  /** The replica left RAM without being deleted: its file or its folder is gone. */
  private void revive(ExtendedBlockId block, ReplicaCopy shadow) {
    if (shadows.remove(block, shadow)) {
      try {
        dataset.revive(block, shadow);
      } catch (IOException e) {
        shadows.putIfAbsent(block, shadow);
        failed("using the copy of blk_" + block.getBlockId() + ", which is no longer in RAM,", e);
      }
    }
  }

  private void persist(String pool, FinalizedReplica replica) {
    try {
      make(pool, replica);
    } catch (IOException e) {
      failed("persisting " + replica.getBlockName(), e);
    }
  }

  /** Persists a replica, unless it is, or another thread moves or persists it. */
  private void make(String pool, FinalizedReplica replica) throws IOException {
    ExtendedBlockId block = new ExtendedBlockId(replica.getBlockId(), pool);
    if (isPersistent(pool, replica) || !dataset.begin(block)) {
      return;
    }
    try {
      TierVolume target = dataset.below(replica);
      if (target == null) {
        throw new IOException("no SSD or disk has room for " + replica);
      }
      ReplicaCopy shadow = new ReplicaCopy(dataset, pool, replica, target);
      if (shadow.make(null, () -> drop(block, target)) && keep(block, shadow)) {
        dataset.persisted(block, replica, shadow);
      }
    } finally {
      dataset.end(block);
    }
  }

  /**
   * Persists a finalized replica before the caller goes on; one that is gone, or is being written, is left alone.
   *
   * @throws IOException if it cannot be persisted, or is not in time
   */
  void persistNow(String pool, long id) throws IOException {
    long end = Time.monotonicNow() + PERSIST_MS;
    while (true) {
      ReplicaInfo now = dataset.volumeMap.get(pool, id);
      if (!(now instanceof FinalizedReplica) || isPersistent(pool, now)) {
        return;
      }
      make(pool, (FinalizedReplica) now);
      if (Time.monotonicNow() > end) {
        throw new IOException(now.getBlockName() + " is not persisted after " + PERSIST_MS + " ms, since it is being "
            + "moved: see whether the DataNode's disks answer");
      }
      try {
        Thread.sleep(1);
      } catch (InterruptedException e) {
        throw (IOException) new InterruptedIOException("persisting " + now.getBlockName()).initCause(e);
      }
    }
  }

  /** A copy that grew with the replica until that was finalized becomes its shadow. */
  void keepOpen(ExtendedBlockId block, FinalizedReplica replica, TierVolume target, File data, File meta)
      throws IOException {
    drop(block, target); // it has the same names
    ReplicaCopy shadow = ReplicaCopy.grown(dataset, block.getBlockPoolId(), replica, target, data, meta);
    if (keep(block, shadow)) {
      dataset.persisted(block, replica, shadow);
    }
  }

  /** Under the lock, since a replica that is deleted takes its shadow with it. */
  private boolean keep(ExtendedBlockId block, ReplicaCopy shadow) {
    ReplicaCopy other = shadow;
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      if (dataset.isOpen(block.getBlockPoolId()) && shadow.isUnchanged()) {
        other = shadows.put(block, shadow);
      }
    }
    if (other != null) {
      other.delete(); // that of what the replica was before, in another folder; or this one, if it changed
    }
    return other != shadow;
  }

  /** Gives away the shadow of a replica as it is now; null if it has none in that folder. */
  ReplicaCopy take(ExtendedBlockId block, ReplicaInfo replica, TierVolume folder) {
    ReplicaCopy shadow = shadows.get(block);
    boolean fits = shadow != null && shadow.isOf(replica) && folder == shadow.volume();
    return fits && shadows.remove(block, shadow) ? shadow : null;
  }

  /** What becomes of a copy that did not take the replica's place: if that is gone, it does so in the next round. */
  void giveUp(ExtendedBlockId block, ReplicaCopy copy) {
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      if (isOn && dataset.volumeMap.get(block.getBlockPoolId(), block.getBlockId()) == null && !going.contains(block)
          && shadows.putIfAbsent(block, copy) == null) {
        return;
      }
    }
    copy.delete();
  }

  /** The shadow of a replica as it is now; null if it has none. */
  ReplicaCopy of(String pool, ReplicaInfo replica) {
    ReplicaCopy shadow = shadows.get(new ExtendedBlockId(replica.getBlockId(), pool));
    return shadow != null && shadow.isOf(replica) ? shadow : null;
  }

  /** The folder of the shadow of a replica as it is now; null if it has none. */
  TierVolume folder(String pool, ReplicaInfo replica) {
    ReplicaCopy shadow = of(pool, replica);
    return shadow == null ? null : shadow.volume();
  }

  boolean isEmpty() {
    return shadows.isEmpty();
  }

  /** Whether a replica is on persistent storage as it is: there, or by its shadow. */
  boolean isPersistent(String pool, ReplicaInfo replica) {
    return replica.getVolume().getStorageType() != StorageType.RAM_DISK || folder(pool, replica) != null;
  }

  /** The replicas in RAM without a shadow of what is in them now, blocks that are being written included. */
  List<ReplicaInfo> unpersisted(String pool) {
    List<ReplicaInfo> found = new ArrayList<>();
    if (!isOn) {
      return found;
    }
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      for (ReplicaInfo replica : dataset.volumeMap.replicas(pool)) {
        if (replica.getState() != ReplicaState.TEMPORARY && !isPersistent(pool, replica)) {
          found.add(replica);
        }
      }
    }
    return found;
  }

  /** A block is about to be deleted. */
  void deleting(ExtendedBlockId block) {
    going.add(block);
  }

  /** Whether a block is being deleted: it has left the map, or is about to, and its files are still there. */
  boolean isDeleting() {
    return !going.isEmpty();
  }

  /** A block was deleted, or not; the shadow of one that is gone goes with it. */
  void deleted(ExtendedBlockId block, boolean isGone) {
    if (isGone) {
      drop(block, null);
    }
    going.remove(block);
  }

  /** Removes the shadow of a block, if there is one in a folder (null: in any). */
  void drop(ExtendedBlockId block, TierVolume folder) {
    ReplicaCopy shadow = shadows.get(block);
    if (shadow != null && (folder == null || folder == shadow.volume()) && shadows.remove(block, shadow)) {
      shadow.delete();
    }
  }

  /** A shadow that was found when the DataNode started. */
  void found(ExtendedBlockId block, ReplicaCopy shadow) {
    shadows.put(block, shadow);
  }

  /** Lets go of a block pool that ends; the files stay. */
  void forget(String pool) {
    shadows.keySet().removeIf(block -> block.getBlockPoolId().equals(pool));
  }
}

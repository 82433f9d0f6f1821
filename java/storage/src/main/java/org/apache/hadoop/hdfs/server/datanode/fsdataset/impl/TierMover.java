package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.Reason;
import io.howdah.storage.TierSettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.util.Time;

/**
 * Moves the coldest replicas out of RAM when it is filled, and copies those that are read often into it. One thread,
 * which looks once an interval.
 */
final class TierMover {
  /** How much colder than a block that is to come a resident of RAM has to be. */
  private static final double HYSTERESIS = 2;
  private static final int QUEUE = 1024;
  private static final long STOP_MS = 10_000;

  private final TierDataset dataset;
  private final TierSettings settings;
  private final DataTransferThrottler throttler;
  private final Set<ExtendedBlockId> wanted = new LinkedHashSet<>();
  private final Thread thread = new Thread(this::run, "TierMover");
  private volatile boolean isStopped;
  private volatile boolean isFailing;

  /** Something in RAM that may leave it: a replica, or the copy of one. */
  private static final class Resident {
    private final ExtendedBlockId block;
    private final FinalizedReplica replica;
    private final double weight;
    /** Whether the mode wants it to be persisted before it leaves, which is not done yet. */
    private final boolean isUnpersisted;

    private Resident(ExtendedBlockId block, FinalizedReplica replica, double weight, boolean isUnpersisted) {
      this.block = block;
      this.replica = replica;
      this.weight = weight;
      this.isUnpersisted = isUnpersisted;
    }

    private boolean isCopy() {
      return replica == null;
    }
  }

  TierMover(TierDataset dataset, TierSettings settings) {
    this.dataset = dataset;
    this.settings = settings;
    this.throttler = settings.moverBandwidth() > 0 ? new DataTransferThrottler(settings.moverBandwidth()) : null;
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  /** Ends the thread; a move that is under way is given up. */
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
        Thread.sleep(settings.moverInterval());
        round();
        dataset.repairs().round(Time.monotonicNow());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      } catch (IOException | RuntimeException e) {
        failed("moving replicas between tiers", e);
      }
    }
  }

  /** A failure is logged once until a round goes well; each is counted. */
  private void failed(String what, Exception e) {
    dataset.counts().failures.increment();
    if (!isStopped && !isFailing) {
      TierDataset.LOG.warn("{} failed, and is tried again each {} ms: replicas stay where they are", what,
          settings.moverInterval(), e);
    }
    isFailing = true;
  }

  /** Looks once at what is to be moved, and moves it. */
  synchronized void round() throws IOException {
    long failures = dataset.counts().failures.sum();
    long now = Time.monotonicNow();
    dataset.copies().prune();
    dataset.uses().prune(now);
    for (TierVolume ram : dataset.volumes(StorageType.RAM_DISK)) {
      if (ram.isPressed()) {
        relieve(ram, now);
      }
    }
    for (ExtendedBlockId block : takeWanted()) {
      if (isStopped) {
        break;
      }
      copyUp(block, now);
    }
    dataset.journal().flush();
    isFailing = isFailing && dataset.counts().failures.sum() > failures;
  }

  // Down.

  private void relieve(TierVolume ram, long now) {
    for (Resident resident : residents(ram, now)) {
      try {
        if (isStopped || ram.filled() <= ram.lowMark()) {
          return;
        }
        leave(resident, Reason.COLD);
      } catch (IOException e) {
        failed("moving blk_" + resident.block.getBlockId() + " out of RAM", e);
      }
    }
  }

  private boolean leave(Resident resident, Reason reason) throws IOException {
    if (resident.isCopy()) {
      return dataset.copies().drop(resident.block) > 0;
    }
    return dataset.moveDown(resident.block.getBlockPoolId(), resident.replica, reason, throttler);
  }

  /**
   * What may leave a folder in RAM: first what has a shadow, in the mode HHH-M, which leaves at no cost, then coldest
   * first; of the same weight copies first.
   */
  private List<Resident> residents(TierVolume ram, long now) {
    List<Resident> residents = new ArrayList<>();
    for (ExtendedBlockId block : dataset.copies().in(ram)) {
      residents.add(new Resident(block, null, dataset.uses().weight(block, now), false));
    }
    for (String pool : ram.getBlockPoolList()) {
      for (FinalizedReplica replica : dataset.finalizedIn(pool, ram)) {
        ExtendedBlockId block = new ExtendedBlockId(replica.getBlockId(), pool);
        // What the cache has locked in memory stays where it is mapped from.
        if (!dataset.isCached(pool, replica.getBlockId())) {
          boolean isUnpersisted =
              settings.mode().isAllInRam() && !dataset.shadows().isPersistent(pool, replica);
          residents.add(new Resident(block, replica, dataset.uses().weight(block, now), isUnpersisted));
        }
      }
    }
    residents.sort(Comparator.comparing((Resident resident) -> resident.isUnpersisted)
        .thenComparingDouble(resident -> resident.weight)
        .thenComparing(resident -> !resident.isCopy()));
    return residents;
  }

  /** Removes copies from RAM until a block of so many bytes has room there, if that helps. */
  void makeRoom(long bytes) throws IOException {
    if (dataset.copies().size() == 0 || dataset.roomiest(StorageType.RAM_DISK, bytes) != null) {
      return;
    }
    long now = Time.monotonicNow();
    List<ExtendedBlockId> copies = dataset.copies().in(null);
    copies.sort(Comparator.comparingDouble(block -> dataset.uses().weight(block, now)));
    for (ExtendedBlockId block : copies) {
      dataset.copies().drop(block);
      if (dataset.roomiest(StorageType.RAM_DISK, bytes) != null) {
        return;
      }
    }
  }

  // Up.

  /**
   * Asks for a copy in RAM of a replica that is read often. More than some requests at a time are dropped: reads repeat
   * them.
   */
  void promote(ExtendedBlockId block) {
    synchronized (wanted) {
      if (wanted.size() < QUEUE) {
        wanted.add(block);
      }
    }
  }

  private List<ExtendedBlockId> takeWanted() {
    synchronized (wanted) {
      List<ExtendedBlockId> taken = new ArrayList<>(wanted);
      wanted.clear();
      return taken;
    }
  }

  private void copyUp(ExtendedBlockId block, long now) {
    ReplicaInfo replica = dataset.volumeMap.get(block.getBlockPoolId(), block.getBlockId());
    if (!(replica instanceof FinalizedReplica) || dataset.copies().has(block)
        || replica.getVolume().getStorageType() == StorageType.RAM_DISK) {
      return;
    }
    try {
      TierVolume ram = roomBelowLowMark(replica.getNumBytes(), dataset.uses().weight(block, now), now);
      if (ram != null) {
        dataset.copyToRam(block.getBlockPoolId(), (FinalizedReplica) replica, ram, throttler);
      }
    } catch (IOException e) {
      failed("copying blk_" + block.getBlockId() + " to RAM", e);
    }
  }

  /**
   * A folder in RAM that is below its low mark with so many bytes more, once what is colder by half has left; else
   * null.
   */
  private TierVolume roomBelowLowMark(long bytes, double weight, long now) throws IOException {
    for (TierVolume ram : dataset.volumes(StorageType.RAM_DISK)) {
      if (ram.filled() + bytes <= ram.lowMark()) {
        return ram;
      }
    }
    for (TierVolume ram : dataset.volumes(StorageType.RAM_DISK)) {
      for (Resident resident : residents(ram, now)) {
        if (resident.weight * HYSTERESIS > weight) {
          break;
        }
        leave(resident, Reason.COLD);
        if (ram.filled() + bytes <= ram.lowMark()) {
          return ram;
        }
      }
    }
    return null;
  }
}

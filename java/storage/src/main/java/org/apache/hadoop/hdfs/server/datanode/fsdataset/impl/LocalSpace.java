package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.Reason;
import io.howdah.storage.shared.SharedSettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.util.Time;

/**
 * Gives up local replicas for their copies on the shared path, coldest first, where a folder is filled: on SSD and disk
 * above a share of it, in RAM where nothing slower has room. Used by the thread that makes copies, which may wait for
 * the shared path as long as that takes.
 */
final class LocalSpace {
  private final SharedDataset dataset;
  private volatile SharedSettings settings;
  private boolean isFailing;

  LocalSpace(SharedDataset dataset, SharedSettings settings) {
    this.dataset = dataset;
    this.settings = settings;
  }

  void useForTesting(SharedSettings other) {
    settings = other;
  }

  /** Looks once at each folder. */
  void round() {
    long failures = dataset.counts().failures.sum();
    for (TierVolume volume : dataset.volumes(null)) {
      try {
        if (volume.isRam() ? volume.isPressed() : volume.fill() > settings.localShare()) {
          relieve(volume);
        }
      } catch (IOException e) {
        failed(volume, e);
      }
    }
    isFailing = isFailing && dataset.counts().failures.sum() > failures;
  }

  /** A failure is logged once until a round goes well; each is counted. */
  private void failed(Object what, IOException e) {
    dataset.counts().failures.increment();
    if (!isFailing) {
      TierDataset.LOG.warn("{} is filled, and its replicas cannot be left to their copies on {}, which is tried again "
          + "each {} ms: they stay where they are", what, settings.path(), settings.interval(), e);
    }
    isFailing = true;
  }

  private boolean isRelieved(TierVolume volume) throws IOException {
    return volume.isRam() ? volume.filled() <= volume.lowMark() : volume.fill() <= settings.localLow();
  }

  private void relieve(TierVolume volume) throws IOException {
    for (Resident resident : residents(volume)) {
      if (isRelieved(volume)) {
        return;
      }
      if (!volume.isRam() || dataset.below(resident.replica) == null) { // else the mover has it leave RAM
        leave(volume, resident);
      }
    }
  }

  private void leave(TierVolume volume, Resident resident) {
    try {
      dataset.giveUp(resident.pool, resident.replica, Reason.COLD);
    } catch (IOException e) {
      failed(volume, e);
    }
  }

  private static final class Resident {
    private final String pool;
    private final FinalizedReplica replica;
    private final double weight;

    private Resident(String pool, FinalizedReplica replica, double weight) {
      this.pool = pool;
      this.replica = replica;
      this.weight = weight;
    }
  }

  /** What may leave a folder, coldest first. What the cache has locked in memory stays where it is mapped from. */
  private List<Resident> residents(TierVolume volume) {
    long now = Time.monotonicNow();
    List<Resident> residents = new ArrayList<>();
    for (String pool : volume.getBlockPoolList()) {
      for (FinalizedReplica replica : dataset.finalizedIn(pool, volume)) {
        if (!dataset.isCached(pool, replica.getBlockId())) {
          double weight = dataset.uses().weight(new ExtendedBlockId(replica.getBlockId(), pool), now);
          residents.add(new Resident(pool, replica, weight));
        }
      }
    }
    residents.sort(Comparator.comparingDouble(resident -> resident.weight));
    return residents;
  }
}

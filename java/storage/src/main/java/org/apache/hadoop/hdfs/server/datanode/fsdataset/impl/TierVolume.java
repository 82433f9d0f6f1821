package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.TierSettings;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/**
 * A folder of a DataNode in a storage mode. One in RAM is not transient: checksums are written and verified as on
 * disks, and no locked memory is accounted. It counts with the share of its size that blocks may fill.
 */
class TierVolume extends FsVolumeImpl {
  private final FsDatasetImpl dataset;
  private final TierSettings settings;

  TierVolume(FsDatasetImpl dataset, String storageId, File current, Configuration conf, StorageType type,
      TierSettings settings) throws IOException {
    super(dataset, storageId, current, conf, type);
    this.dataset = dataset;
    this.settings = settings;
    if (cacheExecutor == null) {
      // Upstream has none for RAM.
      cacheExecutor = new ThreadPoolExecutor(1, 1, 60, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
        Thread thread = new Thread(task, "TierVolume-" + current.getParent());
        thread.setDaemon(true);
        return thread;
      });
      cacheExecutor.allowCoreThreadTimeOut(true);
    }
  }

  /**
   * Finds the replicas here. A folder that is added to a running DataNode may have some that the DataNode has elsewhere
   * since the folder was taken away; upstream would take those here for the ones, and forget the others, though they
   * may be newer.
   */
  @Override
  void getVolumeMap(String pool, ReplicaMap found, RamDiskReplicaTracker tracker) throws IOException {
    super.getVolumeMap(pool, found, tracker);
    Collection<ReplicaInfo> replicas = found == dataset.volumeMap ? null : found.replicas(pool);
    if (replicas == null) {
      return;
    }
    for (ReplicaInfo replica : new ArrayList<>(replicas)) {
      if (isElsewhere(replica, dataset.volumeMap.get(pool, replica.getBlockId()))) {
        found.remove(pool, replica.getBlockId());
        long bytes = replica.getBlockFile().length() + replica.getMetaFile().length();
        ReplicaCopy.delete(replica.getMetaFile(), replica.getBlockFile());
        onMetaFileDeletion(pool, bytes);
      }
    }
  }

  /** Whether the DataNode has a replica of its own that is as new. */
  private static boolean isElsewhere(ReplicaInfo here, ReplicaInfo there) {
    if (there == null || there.getGenerationStamp() != here.getGenerationStamp()) {
      return there != null && there.getGenerationStamp() > here.getGenerationStamp();
    }
    return ((TierVolume) there.getVolume()).ownsFiles() && there.getNumBytes() >= here.getNumBytes();
  }

  boolean isRam() {
    return getStorageType() == StorageType.RAM_DISK;
  }

  /** Whether the files of its replicas go when a replica moves from here. */
  boolean ownsFiles() {
    return true;
  }

  @Override
  public boolean isTransientStorage() {
    return false;
  }

  @Override
  public long getCapacity() {
    return isRam() ? (long) (size() * settings.memoryShare()) : super.getCapacity();
  }

  private long size() {
    long size = super.getCapacity();
    return settings.memoryCapacity() > 0 ? Math.min(size, settings.memoryCapacity()) : size;
  }

  /** Bytes that are used or reserved, of {@link #getCapacity()}. */
  long filled() throws IOException {
    return getCapacity() - getAvailable();
  }

  /** The share that is filled of what blocks may have here, whatever else is on the file system. */
  double fill() throws IOException {
    long used = getDfsUsed() + getReservedForReplicas();
    long room = used + getAvailable();
    return room == 0 ? 1 : (double) used / room;
  }

  /** Bytes down to which cold replicas leave a folder in RAM. */
  long lowMark() {
    return (long) (size() * settings.memoryLow());
  }

  /** Whether so much is filled that cold replicas are to leave: half of what is between both marks. */
  boolean isPressed() throws IOException {
    return filled() > lowMark() + (getCapacity() - lowMark()) / 2;
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.TierSettings;
import java.io.File;
import java.io.IOException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;

/**
 * A folder of a DataNode in a storage mode. One in RAM is not transient: checksums are written and verified as on
 * disks, and no locked memory is accounted. It counts with the share of its size that blocks may fill.
 */
class TierVolume extends FsVolumeImpl {
  private final TierSettings settings;

  TierVolume(FsDatasetImpl dataset, String storageId, File current, Configuration conf, StorageType type,
      TierSettings settings) throws IOException {
    super(dataset, storageId, current, conf, type);
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

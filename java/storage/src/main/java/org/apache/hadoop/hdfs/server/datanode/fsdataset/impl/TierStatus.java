package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.TierSettings;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import javax.management.ObjectName;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.metrics2.util.MBeans;

/** The state of a DataNode's tiers in JMX. Thread-safe. */
final class TierStatus implements TierStatusMXBean, AutoCloseable {
  private final TierDataset dataset;
  private final TierSettings settings;
  private final ObjectName name;
  private final ObjectName blocks;

  private interface Size {
    long of(TierVolume volume) throws IOException;
  }

  TierStatus(TierDataset dataset, TierSettings settings, String uuid) {
    this.dataset = dataset;
    this.settings = settings;
    name = MBeans.register("DataNode", "HowdahStorage-" + uuid, this);
    blocks = MBeans.register("DataNode", "HowdahBlocks-" + uuid, new BlocksMBean(dataset));
  }

  @Override
  public void close() {
    MBeans.unregister(name);
    MBeans.unregister(blocks);
  }

  private long sum(Size size) {
    long sum = 0;
    for (TierVolume volume : dataset.volumes(StorageType.RAM_DISK)) {
      try {
        sum += size.of(volume);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return sum;
  }

  @Override
  public String getMode() {
    return settings.mode().toString();
  }

  @Override
  public long getRamCapacity() {
    return sum(TierVolume::getCapacity);
  }

  @Override
  public long getRamFilled() {
    return sum(TierVolume::filled);
  }

  @Override
  public long getRamLowMark() {
    return sum(TierVolume::lowMark);
  }

  @Override
  public int getCopiesInRam() {
    return dataset.copies().size();
  }

  @Override
  public long getCopiesInRamBytes() {
    return dataset.copies().bytes();
  }

  @Override
  public int getMovesInFlight() {
    return dataset.inMotion();
  }

  @Override
  public long getCreatedInRam() {
    return dataset.counts().createdInRam.sum();
  }

  @Override
  public long getCreatedElsewhere() {
    return dataset.counts().createdElsewhere.sum();
  }

  @Override
  public long getReads() {
    return dataset.counts().reads.sum();
  }

  @Override
  public long getReadsFromRam() {
    return dataset.counts().readsFromRam.sum();
  }

  @Override
  public long getMoves() {
    return dataset.counts().moves.sum();
  }

  @Override
  public long getMovedBytes() {
    return dataset.counts().movedBytes.sum();
  }

  @Override
  public long getCopies() {
    return dataset.counts().copies.sum();
  }

  @Override
  public long getCopiedBytes() {
    return dataset.counts().copiedBytes.sum();
  }

  @Override
  public long getPersisted() {
    return dataset.counts().persisted.sum();
  }

  @Override
  public long getPersistedBytes() {
    return dataset.counts().persistedBytes.sum();
  }

  private List<ReplicaInfo> unpersisted() {
    List<ReplicaInfo> all = new ArrayList<>();
    for (String pool : dataset.volumeMap.getBlockPoolList()) {
      all.addAll(dataset.shadows().unpersisted(pool));
    }
    return all;
  }

  @Override
  public int getUnpersisted() {
    return unpersisted().size();
  }

  @Override
  public long getUnpersistedBytes() {
    return unpersisted().stream().mapToLong(ReplicaInfo::getNumBytes).sum();
  }

  @Override
  public int getShared() {
    return dataset.shared() == null ? 0 : dataset.shared().size();
  }

  @Override
  public long getSharedBytes() {
    return dataset.shared() == null ? 0 : dataset.shared().bytes();
  }

  private List<ReplicaInfo> unshared() {
    List<ReplicaInfo> all = new ArrayList<>();
    for (String pool : dataset.volumeMap.getBlockPoolList()) {
      all.addAll(dataset.shared() == null ? Collections.emptyList() : dataset.shared().unprotected(pool));
    }
    return all;
  }

  @Override
  public int getUnshared() {
    return unshared().size();
  }

  @Override
  public long getUnsharedBytes() {
    return unshared().stream().mapToLong(ReplicaInfo::getNumBytes).sum();
  }

  @Override
  public int getSharedOnly() {
    return dataset.countOn(DatanodeStorage.State.NORMAL);
  }

  @Override
  public int getKept() {
    return dataset.countOn(DatanodeStorage.State.READ_ONLY_SHARED);
  }

  @Override
  public int getKeptOwners() {
    return dataset.keepers() == null ? 0 : dataset.keepers().owners();
  }

  @Override
  public long getSharedPathSilence() {
    return dataset.keepers() == null ? 0 : dataset.keepers().silence();
  }

  @Override
  public long getFailures() {
    return dataset.counts().failures.sum();
  }
}

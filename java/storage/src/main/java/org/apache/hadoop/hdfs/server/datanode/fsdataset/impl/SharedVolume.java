package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.TierSettings;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.hdfs.server.protocol.StorageReport;

/**
 * The storage of replicas whose files are on the shared path only: of this DataNode's own, or, read-only, of those that
 * it serves for others. It is none of the DataNode's folders: nobody scans it, asks for its size or places blocks
 * on it.
 */
final class SharedVolume extends TierVolume {
  private final DatanodeStorage.State state;

  SharedVolume(TierDataset dataset, String storageId, Path path, Configuration conf, TierSettings settings,
      DatanodeStorage.State state) throws IOException {
    super(dataset, storageId, new File(path.toFile(), "current"), conf, StorageType.ARCHIVE, settings);
    this.state = state;
  }

  @Override
  DatanodeStorage toDatanodeStorage() {
    return new DatanodeStorage(getStorageID(), state, getStorageType());
  }

  /** What the NameNode hears: no capacity, so nothing is placed here. */
  StorageReport report() {
    return new StorageReport(toDatanodeStorage(), false, 0, 0, 0, 0, 0);
  }

  /** The files are those of the copy on the shared path, and stay when a replica moves from here. */
  @Override
  boolean ownsFiles() {
    return false;
  }

  /**
   * Upstream reads the meta file with the dataset's lock, for a replica that may be appended to meanwhile. A copy is
   * replaced then, and whoever has it open goes on with what it was.
   */
  @Override
  public byte[] loadLastPartialChunkChecksum(File blockFile, File metaFile) {
    return null;
  }
}

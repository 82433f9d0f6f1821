package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.StorageMode;
import io.howdah.storage.TierSettings;
import io.howdah.storage.shared.SharedSettings;
import io.howdah.upgrade.Options;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;

/**
 * Makes the replica store of a DataNode in a storage mode. A configuration is checked when the factory is made, which a
 * DataNode does at its start, before it asks a NameNode or makes a folder, and again before it formats them.
 */
public class TierFactory extends FsDatasetSpi.Factory<FsDatasetImpl> implements Configurable {
  private Configuration conf;

  /** The factory that is used unless {@code dfs.datanode.fsdataset.factory} names one: upstream's without a mode. */
  @SuppressWarnings("rawtypes")
  public static Class<? extends FsDatasetSpi.Factory> orStock(Configuration conf) {
    return StorageMode.isSet(conf) ? TierFactory.class : FsDatasetFactory.class;
  }

  /**
   * Checks the mode's settings and the DataNode's folders.
   *
   * @throws UncheckedIOException if the DataNode cannot run with them; the message says why, and what to do
   */
  @Override
  public void setConf(Configuration configuration) {
    conf = configuration;
    try {
      check(configuration);
    } catch (IOException e) {
      throw new UncheckedIOException(e.getMessage(), e);
    }
  }

  @Override
  public Configuration getConf() {
    return conf;
  }

  private static void check(Configuration conf) throws IOException {
    TierSettings settings = TierSettings.of(conf);
    RamFolder.Limits limits = new RamFolder.Limits(settings, conf);
    int persistent = 0;
    for (StorageLocation location : DataNode.getStorageLocations(conf)) {
      if (location.getStorageType() == StorageType.RAM_DISK) {
        new RamFolder(location.getFile()).check(limits);
      } else {
        persistent++;
      }
    }
    if (persistent == 0) {
      throw new IOException("dfs.datanode.data.dir has [RAM_DISK] folders only, and replicas that leave RAM have no "
          + "place: add a folder on SSD or disk");
    }
    if (settings.mode().isShared()) {
      SharedSettings shared = SharedSettings.of(conf);
      for (StorageLocation location : DataNode.getStorageLocations(conf)) {
        shared.checkApartFrom(location.getFile().toPath());
      }
      shared.check(conf.getLongBytes(DFSConfigKeys.DFS_BLOCK_SIZE_KEY, DFSConfigKeys.DFS_BLOCK_SIZE_DEFAULT));
    }
  }

  @Override
  public FsDatasetImpl newInstance(DataNode datanode, DataStorage storage, Configuration configuration)
      throws IOException {
    TierSettings settings = TierSettings.of(configuration);
    if (DataNode.getStorageLocations(configuration).stream()
        .noneMatch(location -> location.getStorageType() == StorageType.RAM_DISK)) {
      TierDataset.LOG.warn("{}: dfs.datanode.data.dir has no [RAM_DISK] folder, so this DataNode keeps nothing in RAM",
          Options.STORAGE_MODE.key());
    }
    return settings.mode().isShared() ? new SharedDataset(datanode, storage, configuration, settings)
        : new TierDataset(datanode, storage, configuration, settings);
  }
}

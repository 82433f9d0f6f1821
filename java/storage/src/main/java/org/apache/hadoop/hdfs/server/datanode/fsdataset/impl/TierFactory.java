package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.StorageMode;
import io.howdah.storage.TierSettings;
import io.howdah.upgrade.Options;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;

/** Makes the replica store of a DataNode in a storage mode. */
public class TierFactory extends FsDatasetSpi.Factory<FsDatasetImpl> {
  /** The factory that is used unless {@code dfs.datanode.fsdataset.factory} names one: upstream's without a mode. */
  @SuppressWarnings("rawtypes")
  public static Class<? extends FsDatasetSpi.Factory> orStock(Configuration conf) {
    return StorageMode.isSet(conf) ? TierFactory.class : FsDatasetFactory.class;
  }

  @Override
  public FsDatasetImpl newInstance(DataNode datanode, DataStorage storage, Configuration conf) throws IOException {
    TierSettings settings = TierSettings.of(conf);
    int inRam = 0;
    int persistent = 0;
    for (StorageLocation location : DataNode.getStorageLocations(conf)) {
      if (location.getStorageType() == StorageType.RAM_DISK) {
        checkRam(location.getFile().toPath(), settings);
        inRam++;
      } else {
        persistent++;
      }
    }
    if (persistent == 0) {
      throw new IOException("dfs.datanode.data.dir has [RAM_DISK] folders only, and replicas that leave RAM have no "
          + "place: add a folder on SSD or disk");
    }
    if (inRam == 0) {
      TierDataset.LOG.warn("{}: dfs.datanode.data.dir has no [RAM_DISK] folder, so this DataNode keeps nothing in RAM",
          Options.STORAGE_MODE.key());
    }
    return new TierDataset(datanode, storage, conf, settings);
  }

  private static void checkRam(Path folder, TierSettings settings) throws IOException {
    Path there = folder.toAbsolutePath();
    while (!Files.exists(there)) {
      there = there.getParent();
    }
    FileStore store = Files.getFileStore(there);
    if (!store.type().equals("tmpfs") && !store.type().equals("ramfs")) {
      throw new IOException("[RAM_DISK]" + folder + " of dfs.datanode.data.dir is on " + store.type()
          + ", not in RAM: name a folder on a tmpfs, such as one below /dev/shm, or tag it [SSD] or [DISK]");
    }
    if (settings.memoryCapacity() > store.getTotalSpace() && store.getTotalSpace() > 0) {
      throw new IOException(Options.MEMORY_CAPACITY.key() + "=" + settings.memoryCapacity() + " is more than the "
          + store.getTotalSpace() + " bytes of the file system of [RAM_DISK]" + folder
          + ": set it lower, or mount the tmpfs with a larger size");
    }
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.List;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.DatanodeUtil;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/**
 * The shadows of a block pool when a DataNode starts and ends. Upstream takes each for a replica when it starts, and of
 * a pair deletes either: a shadow whose replica is in RAM still is put aside meanwhile, and is its shadow again after;
 * or it is removed, if the replica has changed since. Upstream also trusts a list of replicas that it wrote when it
 * ended, for five minutes: shadows are missing in it, and what a rollback takes out of the trash.
 */
final class ShadowFolders {
  private static final String SHADOWS = "lazypersist";
  private static final String OPEN = "rbw";
  private static final String ASIDE = "howdah-shadows";
  private static final String LIST = "replicas";

  private final TierDataset dataset;
  private final String pool;
  private final List<TierVolume> volumes;

  ShadowFolders(TierDataset dataset, String pool) {
    this.dataset = dataset;
    this.pool = pool;
    this.volumes = dataset.volumes(null);
  }

  private File current(TierVolume volume) {
    return new File(new File(volume.getCurrentDir(), pool), "current");
  }

  private static File[] files(File folder) {
    File[] files = folder.listFiles();
    return files == null ? new File[0] : files;
  }

  private static void move(File file, File folder) throws IOException {
    Files.createDirectories(folder.toPath());
    Files.move(file.toPath(), folder.toPath().resolve(file.getName()), StandardCopyOption.REPLACE_EXISTING);
  }

  private interface Step {
    void on(TierVolume volume) throws IOException;
  }

  /** A folder that fails does not keep the DataNode from its others. */
  private void each(Step step) {
    for (TierVolume volume : volumes) {
      try {
        step.on(volume);
      } catch (IOException e) {
        TierDataset.LOG.warn("copies of replicas in RAM in {} are not told from replicas, and may be made again: {}",
            current(volume), e.toString());
      }
    }
  }

  /** Undoes what a start that did not end has put aside. */
  void restore() {
    each(volume -> {
      for (File file : files(new File(current(volume), ASIDE))) {
        move(file, new File(current(volume), SHADOWS));
      }
    });
  }

  /** Before upstream looks for replicas. */
  void putAside() {
    each(volume -> {
      for (File meta : files(new File(current(volume), SHADOWS))) {
        if (!volume.isRam() && Block.isMetaFilename(meta.getName()) && isInRam(meta)) {
          move(Block.metaToBlockFile(meta), new File(current(volume), ASIDE));
          move(meta, new File(current(volume), ASIDE));
        }
      }
    });
  }

  /** Whether a replica is in RAM, whole, as it was when its shadow was made or newer. */
  private boolean isInRam(File shadowMeta) {
    File shadow = Block.metaToBlockFile(shadowMeta);
    for (TierVolume ram : volumes) {
      File data = !ram.isRam() ? null : new File(DatanodeUtil.idToBlockDir(new File(current(ram), "finalized"),
          Block.filename2id(shadow.getName())), shadow.getName());
      if (data != null && data.exists() && shadow.exists()) {
        boolean isTheSame = new File(data.getParentFile(), shadowMeta.getName()).exists();
        return isTheSame ? data.length() == shadow.length()
            : newestStamp(data) > Block.getGenerationStamp(shadowMeta.getName());
      }
    }
    return false;
  }

  private static long newestStamp(File data) {
    long newest = 0;
    for (File file : files(data.getParentFile())) {
      if (Block.isMetaFilename(file.getName()) && Block.metaToBlockFile(file).equals(data)) {
        newest = Math.max(newest, Block.getGenerationStamp(file.getName()));
      }
    }
    return newest;
  }

  /** After it. */
  void takeBack(Shadows shadows) {
    each(volume -> {
      File aside = new File(current(volume), ASIDE);
      for (File meta : files(aside)) {
        if (Block.isMetaFilename(meta.getName())) {
          takeBack(volume, meta, shadows);
        }
      }
      if (aside.exists() && !aside.delete()) {
        TierDataset.LOG.warn("{} is not empty; the DataNode's next start looks at it again", aside);
      }
    });
  }

  private void takeBack(TierVolume volume, File asideMeta, Shadows shadows) throws IOException {
    File asideData = Block.metaToBlockFile(asideMeta);
    long id = Block.filename2id(asideData.getName());
    long stamp = Block.getGenerationStamp(asideMeta.getName());
    ReplicaInfo replica = dataset.volumeMap.get(pool, id);
    boolean isInRam = replica instanceof FinalizedReplica
        && replica.getVolume().getStorageType() == StorageType.RAM_DISK;
    if (isInRam && replica.getGenerationStamp() > stamp) {
      ReplicaCopy.delete(asideData, asideMeta); // no NameNode takes it any more; the replica gets another one
      return;
    }
    File folder = volume.getLazyPersistDir(pool);
    move(asideData, folder);
    move(asideMeta, folder);
    ReplicaCopy.sync(folder);
    File data = new File(folder, asideData.getName());
    if (isInRam && replica.getGenerationStamp() == stamp && replica.getNumBytes() == data.length()) {
      shadows.found(new ExtendedBlockId(id, pool),
          ReplicaCopy.found(dataset, pool, (FinalizedReplica) replica, volume, data));
    } else {
      TierDataset.LOG.warn("{} is no copy of what is in RAM; the DataNode's next start looks at it again", data);
    }
  }

  /** When the pool has ended: the next start, of whatever DataNode, reads the folders with shadows, whole or not. */
  void forgetLists() {
    for (TierVolume volume : volumes) {
      if (files(new File(current(volume), SHADOWS)).length > 0 || files(new File(current(volume), OPEN)).length > 0) {
        forgetList(volume, "copies of replicas in RAM are missing in it");
      }
    }
  }

  /** At the start of a rollback: what was deleted is in its folders again, and the end before did not know it. */
  void forgetListsBeforeRollback() {
    volumes.forEach(volume -> forgetList(volume, "replicas that the rollback has brought back are missing in it"));
  }

  private void forgetList(TierVolume volume, String because) {
    File list = new File(current(volume), LIST);
    if (list.exists() && !list.delete()) {
      TierDataset.LOG.warn("{} could not be removed: start the DataNode five minutes from now at the earliest, or "
          + "remove it, since {}", list, because);
    }
  }
}

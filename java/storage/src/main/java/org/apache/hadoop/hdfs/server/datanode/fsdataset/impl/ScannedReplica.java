package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/**
 * What upstream's scan of the folders has found of a block, some time before it is compared with the replica. A file
 * that is being deleted by then is no replica that was found; after an append in between it would come without its meta
 * file, too. Of two sets of files with different generation stamps upstream keeps the newer one, and gives the replica
 * a stamp that has none. And a replica that came to its folder while that was listed may be found without its meta
 * file, which upstream's scan ends by. Used under the dataset's lock.
 */
final class ScannedReplica {
  private final ReplicaInfo replica;
  private final File file;
  private final File meta;
  private final File foundMeta;

  /**
   * What was found.
   *
   * @param replica the replica by now; null: none
   * @param file the block's file; null: none
   * @param meta its meta file; null: none
   */
  ScannedReplica(ReplicaInfo replica, File file, File meta) {
    this.replica = replica;
    this.file = file;
    this.meta = meta;
    boolean isThere = meta == null && !isAnother() && replica.getMetaFile().exists();
    foundMeta = isThere ? replica.getMetaFile() : meta;
  }

  /** Whether it is not the file that the replica has now. */
  boolean isAnother() {
    return replica == null || file != null && !file.equals(replica.getBlockFile());
  }

  /** The meta file that was found, or has come since; null if there is none. */
  File meta() {
    return foundMeta;
  }

  /** Removes files of an older generation stamp than that of the replica, whose files are there. */
  boolean removeIfOlder() {
    boolean isOlder = replica instanceof FinalizedReplica && replica.getBlockFile().exists()
        && replica.getMetaFile().exists()
        && (meta == null || Block.getGenerationStamp(meta.getName()) < replica.getGenerationStamp());
    if (isOlder) {
      TierDataset.LOG.warn("{} is older than {}, and is removed", file, replica.getBlockFile());
      ReplicaCopy.delete(file);
      if (meta != null) {
        ReplicaCopy.delete(meta);
      }
    }
    return isOlder;
  }
}

package org.apache.hadoop.hdfs.server.blockmanagement;

import io.howdah.storage.TierSettings;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.fs.StorageType;

/** Which types of replicas a block has too many of, in a storage mode. */
final class TierExcess {
  private TierExcess() {
  }

  /**
   * The types to give up. What is left has as many replicas on persistent storage as the mode promises, or all that
   * there are; one of them is on SSD, if one was.
   *
   * @param have types of all replicas, more than are wanted
   * @param replication how many are wanted
   * @return as many types as there are replicas too many
   */
  static List<StorageType> of(TierSettings settings, Collection<StorageType> have, int replication) {
    List<StorageType> persistent = new ArrayList<>(have);
    persistent.removeIf(type -> type == StorageType.RAM_DISK);
    int inRam = have.size() - persistent.size();
    // At least one, whatever the mode: RAM only may be lost at once.
    int promised = Math.max(1, replication - Math.min(inRam, settings.memoryReplicas(replication)));
    int kept = Math.min(persistent.size(), promised);
    List<StorageType> excess = new ArrayList<>(Collections.nCopies(inRam - (replication - kept), StorageType.RAM_DISK));
    boolean hasSsd = persistent.remove(StorageType.SSD);
    persistent.sort(Comparator.comparing(TierExcess::rank));
    if (hasSsd) {
      persistent.add(StorageType.SSD);
    }
    excess.addAll(persistent.subList(0, persistent.size() - kept));
    return excess;
  }

  /** Types without a tier go first, then further SSDs, then disks. */
  private static int rank(StorageType type) {
    return type == StorageType.DISK ? 2 : type == StorageType.SSD ? 1 : 0;
  }
}

package org.apache.hadoop.hdfs;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.regex.Pattern;

/** Tags of storage types in {@code dfs.datanode.data.dir} that sites have and HDFS does not know. */
public final class StorageTags {
  private static final Pattern SSD_DISK = Pattern.compile("^\\[SSD_DISK]", Pattern.CASE_INSENSITIVE);

  private StorageTags() {
  }

  /** The same folders, with HiBD's [SSD_DISK] as [SSD]. */
  public static Collection<String> known(Collection<String> folders) {
    List<String> known = new ArrayList<>();
    for (String folder : folders) {
      known.add(SSD_DISK.matcher(folder).replaceFirst("[SSD]"));
    }
    return known;
  }
}

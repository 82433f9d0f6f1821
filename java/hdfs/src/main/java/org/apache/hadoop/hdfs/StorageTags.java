package org.apache.hadoop.hdfs;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.StorageType;

/** Tags of storage types in {@code dfs.datanode.data.dir} that sites have and HDFS does not know. */
public final class StorageTags {
  private static final Pattern SSD_DISK = Pattern.compile("^\\[SSD_DISK]", Pattern.CASE_INSENSITIVE);

  private static final Pattern TAG = Pattern.compile("^\\[(\\w+)].+");

  private StorageTags() {
  }

  /**
   * The same folders, with HiBD's [SSD_DISK] as [SSD].
   *
   * @throws IllegalArgumentException if a folder has a tag that HDFS does not know; the message says which there are
   */
  public static Collection<String> known(Collection<String> folders) {
    List<String> known = new ArrayList<>();
    for (String folder : folders) {
      String stock = SSD_DISK.matcher(folder).replaceFirst("[SSD]");
      check(stock);
      known.add(stock);
    }
    return known;
  }

  private static void check(String folder) {
    Matcher tag = TAG.matcher(folder);
    if (!tag.matches()) {
      return;
    }
    for (StorageType type : StorageType.values()) {
      if (type.name().equals(tag.group(1).toUpperCase(Locale.ROOT))) {
        return;
      }
    }
    throw new IllegalArgumentException("dfs.datanode.data.dir has " + folder + ", and there is no type of storage "
        + tag.group(1) + ": tag the folder [RAM_DISK], [SSD], [DISK] or [ARCHIVE]");
  }
}

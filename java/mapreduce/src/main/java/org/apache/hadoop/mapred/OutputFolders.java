package org.apache.hadoop.mapred;

import java.io.File;
import java.io.IOException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.util.DiskChecker.DiskErrorException;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * Where a map's files go among the task's local directories: to RAM disks while they have room, then to SSDs, then to
 * disks; within a kind as in stock. Directories of one kind only are left to stock. Files are found as in stock, which
 * looks in all directories. Not thread-safe.
 */
final class OutputFolders {
  /** A file that is to be written. */
  interface Place {
    Path of(MapOutputFile files) throws IOException;
  }

  private final JobConf job;
  private final MapOutputFile all;
  private final double ramShare;
  private final Map<StorageKind, List<String>> folders = new EnumMap<>(StorageKind.class);

  /**
   * Folders of a task.
   *
   * @param ramShare how much of a RAM disk may be in use with a new file
   * @param probe tells a folder's kind
   */
  OutputFolders(MapOutputFile all, JobConf job, double ramShare, Function<java.nio.file.Path, StorageKind> probe) {
    this.job = job;
    this.all = all;
    this.ramShare = ramShare;
    for (String folder : job.getTrimmedStrings(MRConfig.LOCAL_DIR)) {
      folders.computeIfAbsent(probe.apply(Paths.get(new Path(folder).toUri().getPath())), any -> new ArrayList<>())
          .add(folder);
    }
  }

  /** Where to write a file, on the fastest storage that has room. @param size expected */
  Path forWrite(long size, Place place) throws IOException {
    if (folders.size() > 1) {
      for (Map.Entry<StorageKind, List<String>> kind : folders.entrySet()) {
        List<String> usable = new ArrayList<>(kind.getValue());
        usable.removeIf(folder -> kind.getKey() == StorageKind.RAM && !hasRoom(folder, size));
        if (usable.isEmpty()) {
          continue;
        }
        try {
          return place.of(in(usable));
        } catch (DiskErrorException e) {
          PagedMapOutput.LOG.debug("no room for {} bytes in {}", size, usable, e);
        }
      }
    }
    return place.of(all);
  }

  private boolean hasRoom(String folder, long size) {
    File file = new File(new Path(folder).toUri().getPath());
    return file.getTotalSpace() - file.getUsableSpace() + size <= ramShare * file.getTotalSpace();
  }

  private MapOutputFile in(List<String> usable) {
    JobConf conf = new JobConf(job);
    conf.setStrings(MRConfig.LOCAL_DIR, usable.toArray(new String[0]));
    return ReflectionUtils.newInstance(all.getClass(), conf);
  }
}

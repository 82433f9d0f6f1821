package org.apache.hadoop.mapred;

import io.howdah.upgrade.Options;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.io.File;
import java.io.IOException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.util.DiskChecker.DiskErrorException;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * The files of a task, as stock names them, among its local directories: on RAM disks while they have room, then on
 * SSDs, then on disks; within a kind as in stock. Directories of one kind only are left to stock. Files are found as in
 * stock, which looks in all directories. Thread-safe as stock's are.
 */
public final class OutputFolders extends MapOutputFile {
  /** A file that is to be written. */
  private interface Place {
    Path of(MapOutputFile files) throws IOException;
  }

  private final JobConf job;
  private final MapOutputFile all;
  private final double ramShare;
  private final Map<StorageKind, List<String>> folders = new EnumMap<>(StorageKind.class);
  private final Map<List<String>, MapOutputFile> some = new ConcurrentHashMap<>();

  /**
   * Files of a task.
   *
   * @param ramShare how much of a RAM disk may be in use with a new file
   * @param probe tells a folder's kind
   */
  OutputFolders(MapOutputFile all, JobConf job, double ramShare, Function<java.nio.file.Path, StorageKind> probe) {
    this.job = job;
    this.all = all;
    this.ramShare = ramShare;
    for (String folder : job.getTrimmedStrings(MRConfig.LOCAL_DIR)) {
      folders.computeIfAbsent(probe.apply(path(folder)), any -> new ArrayList<>()).add(folder);
    }
  }

  /**
   * The files of a task where its job's options want them.
   *
   * @param all stock's
   * @throws IOException for an option that is not valid
   */
  public static MapOutputFile of(MapOutputFile all, JobConf job) throws IOException {
    HadoopSettings settings = new HadoopSettings(job);
    double share = Options.MAP_OUTPUT_RAM_SHARE.read(settings);
    return Options.MAP_OUTPUT_FASTEST.read(settings) ? new OutputFolders(all, job, share, StorageKind::of) : all;
  }

  private static java.nio.file.Path path(String folder) {
    return Paths.get(new Path(folder).toUri().getPath());
  }

  /** Where to write a file, on the fastest storage that has room. @param size expected */
  private Path forWrite(long size, Place place) throws IOException {
    if (folders.size() > 1) {
      for (Map.Entry<StorageKind, List<String>> kind : folders.entrySet()) {
        List<String> usable = new ArrayList<>(kind.getValue());
        usable.removeIf(folder -> kind.getKey() == StorageKind.RAM && !hasRoom(folder, size));
        if (usable.isEmpty()) {
          continue;
        }
        try {
          return place.of(some.computeIfAbsent(usable, this::in));
        } catch (DiskErrorException e) {
          PagedMapOutput.LOG.debug("no room for {} bytes in {}", size, usable, e);
        }
      }
    }
    return place.of(all);
  }

  private boolean hasRoom(String folder, long size) {
    File file = StorageKind.existing(path(folder)).toFile();
    return file.getTotalSpace() - file.getUsableSpace() + size <= ramShare * file.getTotalSpace();
  }

  private MapOutputFile in(List<String> usable) {
    JobConf conf = new JobConf(job);
    conf.setStrings(MRConfig.LOCAL_DIR, usable.toArray(new String[0]));
    return ReflectionUtils.newInstance(all.getClass(), conf);
  }

  @Override
  public void setConf(Configuration conf) {
    super.setConf(conf);
    all.setConf(conf);
  }

  // Files to write.

  @Override
  public Path getOutputFileForWrite(long size) throws IOException {
    return forWrite(size, files -> files.getOutputFileForWrite(size));
  }

  @Override
  public Path getOutputIndexFileForWrite(long size) throws IOException {
    return forWrite(size, files -> files.getOutputIndexFileForWrite(size));
  }

  @Override
  public Path getSpillFileForWrite(int spill, long size) throws IOException {
    return forWrite(size, files -> files.getSpillFileForWrite(spill, size));
  }

  @Override
  public Path getSpillIndexFileForWrite(int spill, long size) throws IOException {
    return forWrite(size, files -> files.getSpillIndexFileForWrite(spill, size));
  }

  @Override
  public Path getInputFileForWrite(TaskID map, long size) throws IOException {
    return forWrite(size, files -> files.getInputFileForWrite(map, size));
  }

  // All others are stock's.

  @Override
  public Path getOutputFile() throws IOException {
    return all.getOutputFile();
  }

  @Override
  public Path getOutputFileForWriteInVolume(Path existing) {
    return all.getOutputFileForWriteInVolume(existing);
  }

  @Override
  public Path getOutputIndexFile() throws IOException {
    return all.getOutputIndexFile();
  }

  @Override
  public Path getOutputIndexFileForWriteInVolume(Path existing) {
    return all.getOutputIndexFileForWriteInVolume(existing);
  }

  @Override
  public Path getSpillFile(int spill) throws IOException {
    return all.getSpillFile(spill);
  }

  @Override
  public Path getSpillIndexFile(int spill) throws IOException {
    return all.getSpillIndexFile(spill);
  }

  @Override
  public Path getInputFile(int map) throws IOException {
    return all.getInputFile(map);
  }

  @Override
  public void removeAll() throws IOException {
    all.removeAll();
  }
}

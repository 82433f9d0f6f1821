package org.apache.hadoop.mapred;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.util.DiskChecker.DiskErrorException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Map output goes to the fastest of a task's local directories that has room, and is found there. */
class OutputFoldersTest {
  @TempDir
  Path folder;

  private final JobConf job = new JobConf(false);
  private final MapOutputFile files = new MROutputFiles();

  @BeforeEach
  void configure() throws IOException {
    Files.createDirectories(folder.resolve("ram"));
    job.set(MRConfig.LOCAL_DIR, folder + "/disk, " + folder + "/ssd1," + folder + "/ssd2," + folder + "/ram");
    files.setConf(job);
  }

  private static StorageKind byName(Path each) {
    String name = each.getFileName().toString();
    return name.startsWith("ram") ? StorageKind.RAM : name.startsWith("ssd") ? StorageKind.SSD : StorageKind.DISK;
  }

  private String write(OutputFolders folders, long size) throws IOException {
    return nameOf(folders.getOutputFileForWrite(size));
  }

  private String nameOf(org.apache.hadoop.fs.Path file) {
    return folder.relativize(Paths.get(file.toUri().getPath())).getName(0).toString();
  }

  @Test
  void ramComesFirstThenSsdsInTurn() throws IOException {
    assertThat(write(new OutputFolders(files, job, 1, OutputFoldersTest::byName), 1000)).isEqualTo("ram");
    OutputFolders withoutRam = new OutputFolders(files, job, 1e-12, OutputFoldersTest::byName);
    Set<String> used = new HashSet<>();
    for (int i = 0; i < 4; i++) {
      used.add(write(withoutRam, 1000));
    }
    assertThat(used).containsExactlyInAnyOrder("ssd1", "ssd2");
  }

  @Test
  void directoriesOfOneKindAreUsedInTurnAsInStock() throws IOException {
    OutputFolders folders = new OutputFolders(files, job, 0.7, any -> StorageKind.RAM);
    Set<String> used = new HashSet<>();
    for (int i = 0; i < 4; i++) {
      used.add(write(folders, 1000));
    }
    assertThat(used).hasSize(4);
  }

  @Test
  void anSsdThatCantBeWrittenToIsPassedOver() throws IOException {
    Files.write(folder.resolve("ssd1"), new byte[1]);
    Files.write(folder.resolve("ssd2"), new byte[1]);
    assertThat(write(new OutputFolders(files, job, 1e-12, OutputFoldersTest::byName), 1000)).isEqualTo("disk");
  }

  @Test
  void whatHasNoRoomAnywhereFailsAsInStock() {
    OutputFolders folders = new OutputFolders(files, job, 1, OutputFoldersTest::byName);
    assertThatThrownBy(() -> write(folders, Long.MAX_VALUE / 2)).isInstanceOf(DiskErrorException.class);
  }

  @Test
  void filesAreFoundWhereverTheyAre() throws IOException {
    OutputFolders folders = new OutputFolders(files, job, 1, OutputFoldersTest::byName);
    Path path = Paths.get(folders.getOutputFileForWrite(10).toUri().getPath());
    Files.createDirectories(path.getParent());
    Files.write(path, new byte[10]);
    assertThat(files.getOutputFile().toUri().getPath()).isEqualTo(path.toString());
    assertThat(folders.getOutputFile().toString()).isEqualTo(files.getOutputFile().toString());
  }

  @Test
  void allFilesOfATaskGoToTheFastest() throws IOException {
    OutputFolders folders = new OutputFolders(files, job, 1, OutputFoldersTest::byName);
    TaskID map = new TaskID(new JobID("1", 1), TaskType.MAP, 5);
    for (org.apache.hadoop.fs.Path file : new org.apache.hadoop.fs.Path[] {folders.getOutputFileForWrite(1),
        folders.getOutputIndexFileForWrite(1), folders.getSpillFileForWrite(3, 1),
        folders.getSpillIndexFileForWrite(3, 1), folders.getInputFileForWrite(map, 1)}) {
      assertThat(nameOf(file)).as("%s", file).isEqualTo("ram");
    }
  }

  @Test
  void theOptionSwitchesItOff() throws IOException {
    assertThat(OutputFolders.of(files, job)).isInstanceOf(OutputFolders.class);
    job.setBoolean("mapred.rdma.local.ssd.used", false);
    assertThat(OutputFolders.of(files, job)).isSameAs(files);
    job.set("mapred.rdma.spill.memory.percentage", "2");
    assertThatThrownBy(() -> OutputFolders.of(files, job)).hasMessageContaining("mapred.rdma.spill.memory.percentage");
  }

  @Test
  void kindsAreProbed() {
    assertThat(StorageKind.of(Paths.get("/dev/shm"))).isEqualTo(StorageKind.RAM);
    assertThat(StorageKind.of(Paths.get("/proc"))).isEqualTo(StorageKind.DISK);
    assertThat(StorageKind.of(Paths.get("/dev/shm/howdah-absent/of/a/job"))).as("before it is made")
        .isEqualTo(StorageKind.RAM);
    assertThat(StorageKind.of(folder.resolve("absent"))).isEqualTo(StorageKind.of(folder));
  }
}

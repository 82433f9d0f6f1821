package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.command.StorageRuns;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.junit.jupiter.api.Test;

/** A DataNode that loses all of its folders comes back as another one; howdah storage gc removes what it had. */
class SharedGcTest extends SharedHdfs {
  private static final int MB = 1 << 20;
  private static final long DAY = 86_400_000;

  private String gc(boolean isDeleting, long age) throws IOException {
    return StorageRuns.gc(hdfs.fs, shared, age, isDeleting);
  }

  /** The files of blocks on the shared path. */
  private List<java.nio.file.Path> blockFiles() throws IOException {
    List<java.nio.file.Path> found = new ArrayList<>();
    Files.walkFileTree(shared.resolve(hdfs.pool()), new SimpleFileVisitor<java.nio.file.Path>() {
      @Override
      public FileVisitResult visitFile(java.nio.file.Path file, BasicFileAttributes attributes) {
        if (file.getFileName().toString().startsWith("blk_")) {
          found.add(file);
        }
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult visitFileFailed(java.nio.file.Path file, IOException e) {
        return FileVisitResult.CONTINUE; // it was removed meanwhile
      }
    });
    return found;
  }

  /** A DataNode ends, loses all folders, and starts; returns what its uuid was. */
  private String lose(TierDataset dataset) throws Exception {
    DatanodeID id = dataset.datanode.getDatanodeId();
    List<File> folders = new ArrayList<>();
    dataset.volumes(null).forEach(volume -> folders.add(new File(volume.getBasePath())));
    DataNodeProperties stopped = hdfs.cluster.stopDataNode(id.getXferAddr());
    folders.forEach(FileUtil::fullyDeleteContents);
    hdfs.cluster.restartDataNode(stopped, true);
    hdfs.cluster.waitActive();
    assertThat(hdfs.cluster.getDataNodes()).noneMatch(node -> node.getDatanodeUuid().equals(id.getDatanodeUuid()));
    return id.getDatanodeUuid();
  }

  @Test
  void whatItHadIsServedGetsAnotherOwnerAndIsCollected() throws Exception {
    start();
    Path path = hdfs.write("/file", MB, 1);
    awaitReplicas(path, 1, 2);
    TierDataset owner = hdfs.dataset(owner(path));
    long id = hdfs.blocks(path).get(0).getBlock().getBlockId();
    Path deleted = hdfs.write("/deleted", 1000, 1);
    while (hdfs.dataset(owner(deleted)) != owner) {
      deleted = hdfs.write("/deleted", 1000, 1);
    }
    long deletedId = hdfs.blocks(deleted).get(0).getBlock().getBlockId();
    TierCluster.awaitThat(() -> blockFiles().size() == 4, this::blockFiles); // without what was overwritten
    assertThat(gc(true, 0)).as("all are live").contains("0 blocks, 0 bytes").doesNotContain("blk_");
    String uuid = lose(owner);
    hdfs.assertHolds(path, MB);
    hdfs.fs.delete(deleted, false);
    assertThat(gc(true, DAY)).as("all is young").doesNotContain("blk_");
    Files.createDirectory(shared.resolve("BP-of-another"));
    assertThat(gc(false, 0)).contains("BP-of-another is of another NameNode, and left alone")
        .contains("DataNode " + uuid + " is gone").containsPattern("blk_" + deletedId + " .*unknown")
        .containsPattern("blk_" + id + " .*(needed|elsewhere)");
    hdfs.assertHolds(path, MB);
    TierCluster.awaitThat(() -> {
      rounds();
      return replicas(path).liveReplicas() == 1;
    }, () -> replicas(path).liveReplicas());
    assertThat(gc(false, 0)).containsPattern("blk_" + id + " .*elsewhere").contains("2 blocks")
        .contains("--delete removes them");
    File folder = shared.resolve(hdfs.pool()).resolve(uuid).toFile();
    assertThat(folder).exists();
    assertThat(gc(true, 0)).contains("were removed");
    assertThat(folder).doesNotExist();
    awaitReplicas(path, 1, 2);
    hdfs.assertHolds(path, MB);
    assertThat(gc(false, 0)).doesNotContain("blk_");
    assertThat(shared.resolve("BP-of-another")).exists();
    itRefusesWhereItCannotTellWhatIsNeeded();
  }

  @Test
  void whatADataNodeDidNotListBeforeItCrashedIsCollected() throws Exception {
    start();
    Path path = hdfs.write("/file", MB, 1);
    awaitReplicas(path, 1, 2);
    java.nio.file.Path data =
        blockFiles().stream().filter(file -> !file.toString().endsWith(".meta")).findFirst().get();
    java.nio.file.Path stray = Files.copy(data, data.resolveSibling("blk_77"));
    java.nio.file.Path meta = Files.write(data.resolveSibling("blk_77_1001.meta"), new byte[7]);
    assertThat(gc(true, DAY)).containsPattern("blk_77 .*young").contains("0 blocks, 0 bytes, that nobody needs");
    assertThat(gc(false, 0)).contains("1 block not in its list").containsPattern("blk_77 .*unknown");
    assertThat(stray).exists();
    assertThat(gc(true, 0)).contains("1 block,").contains("was removed");
    assertThat(stray).doesNotExist();
    assertThat(meta).doesNotExist();
    assertThat(gc(true, 0)).doesNotContain("blk_");
    hdfs.assertHolds(path, MB);
    assertThat(data).exists();
  }

  private void itRefusesWhereItCannotTellWhatIsNeeded() throws Exception {
    assertThatThrownBy(() -> StorageRuns.gc(hdfs.fs, shared.resolve("none"), 0, true))
        .hasMessageContaining("is not a folder");
    java.nio.file.Path empty = Files.createDirectory(shared.resolve("empty"));
    assertThat(StorageRuns.gc(hdfs.fs, empty, 0, true)).contains("has nothing of");
    hdfs.fs.setSafeMode(SafeModeAction.SAFEMODE_ENTER);
    assertThatThrownBy(() -> gc(true, 0)).hasMessageContaining("is in safe mode");
    hdfs.fs.setSafeMode(SafeModeAction.SAFEMODE_LEAVE);
  }
}

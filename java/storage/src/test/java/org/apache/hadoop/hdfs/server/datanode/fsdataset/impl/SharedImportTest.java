package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.command.StorageRuns;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.junit.jupiter.api.Test;

/** What a DataNode has on the shared path only is copied to its folders before it leaves the mode. */
class SharedImportTest extends SharedHdfs {
  private static final int MB = 1 << 20;

  @Test
  void whatIsOnTheSharedPathOnlyComesBack() throws Exception {
    begin("dfs.rdma.lustre.local.percentage=0.000001", "dfs.rdma.lustre.local.low.percentage=0.000001");
    hdfs.setCapacity(RAM_DISK, 0);
    Path path = hdfs.write("/file", MB, 1);
    TierDataset owner = leftToItsCopy(path);
    Path here = hdfs.write("/here", 1000, 1);
    while (hdfs.dataset(owner(here)) != owner) {
      here = hdfs.write("/here", 1000, 1);
    }
    Configuration conf = new Configuration(owner.datanode.getConf());
    assertThatThrownBy(() -> StorageRuns.importing(conf)).hasMessageContaining("is used by a DataNode: stop it first");
    DataNodeProperties stopped = end(hdfs.datasets().indexOf(owner));
    java.nio.file.Path pool = shared.resolve(hdfs.pool());
    String name = "blk_" + id(path);
    java.nio.file.Path copy = blockFiles(pool).stream().filter(file -> file.endsWith(name)).findAny()
        .get();
    java.nio.file.Path aside = Files.move(copy, pool.resolve("aside"));
    assertThat(StorageRuns.importing(conf)).contains("not copied: " + name).contains("is not whole")
        .contains("0 blocks copied").contains("1 could not be copied");
    Files.move(aside, copy);
    assertThat(StorageRuns.importing(conf)).contains("1 block copied").contains("0 could not be copied");
    assertThat(StorageRuns.importing(conf)).contains("0 blocks copied").contains("0 could not be copied");
    FileUtil.fullyDelete(pool.resolve(owner.datanode.getDatanodeUuid()).toFile());
    comeBack(stopped);
    TierCluster.awaitThat(() -> {
      hdfs.cluster.triggerBlockReports();
      return types(path).contains(DISK);
    }, () -> types(path));
    hdfs.assertHolds(path, MB);
    hdfs.assertHolds(here, 1000);
  }

  private long id(Path path) throws Exception {
    return hdfs.blocks(path).get(0).getBlock().getBlockId();
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.storage.Reason;
import io.howdah.storage.command.StorageRuns;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.RollingUpgradeAction;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** A rolling upgrade of the whole cluster that is rolled back, and a mode that is taken away: nothing is lost. */
@EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
    disabledReason = "takes a minute: make unit-slow")
class TierUpgradeTest extends SharedHdfs {
  private static final int MB = 1 << 20;
  private static final String[] AT_ONCE = {"dfs.rdma.lustre.local.percentage=0.000001",
      "dfs.rdma.lustre.local.low.percentage=0.000001"};

  private interface Round {
    void run() throws Exception;
  }

  /** Files that were there are there again, though they were deleted and moved meanwhile, and those made since gone. */
  private void isRolledBack(Round round, Path... files) throws Exception {
    hdfs.fs.setSafeMode(SafeModeAction.SAFEMODE_ENTER);
    hdfs.fs.rollingUpgrade(RollingUpgradeAction.PREPARE);
    hdfs.fs.setSafeMode(SafeModeAction.SAFEMODE_LEAVE);
    int nodes = hdfs.datasets().size();
    for (int i = 0; i < nodes; i++) {
      hdfs.cluster.restartDataNode(0); // the next one is the first then
      hdfs.cluster.waitActive();
    }
    TierCluster.awaitThat(() -> {
      hdfs.report();
      return hdfs.datasets().stream().allMatch(dataset -> dataset.trashEnabled(hdfs.pool()));
    }, () -> hdfs.datasets().size());
    for (TierDataset dataset : hdfs.datasets()) {
      for (FinalizedReplica replica : dataset.finalizedIn(hdfs.pool(), dataset.volumes(RAM_DISK).get(0))) {
        dataset.moveDown(hdfs.pool(), replica, Reason.COLD, null);
      }
    }
    hdfs.write("/since", MB, 1);
    for (Path path : Arrays.copyOf(files, files.length - 1)) {
      hdfs.fs.delete(path, false);
    }
    for (int i = 0; i < 5; i++) {
      round.run();
      hdfs.reportAll();
    }
    List<DataNodeProperties> stopped = new ArrayList<>();
    for (int i = 0; i < nodes; i++) {
      stopped.add(hdfs.cluster.stopDataNode(0));
      stopped.get(i).setDnArgs("-rollback");
    }
    hdfs.cluster.restartNameNode("-rollingUpgrade", "rollback");
    for (DataNodeProperties node : stopped) {
      hdfs.cluster.restartDataNode(node);
    }
    hdfs.cluster.waitActive();
    hdfs.reconnect();
    for (Path path : files) {
      TierCluster.awaitThat(() -> {
        round.run();
        hdfs.reportAll();
        return hdfs.blocks(path).stream().allMatch(block -> block.getLocations().length > 0);
      }, () -> hdfs.blocks(path));
      hdfs.assertHolds(path, 2 * MB);
    }
    assertThat(hdfs.fs.exists(new Path("/since"))).isFalse();
  }

  private void inMode(String mode) throws Exception {
    try (TierCluster cluster = new TierCluster(TierCluster.mode(mode), 3, TierCluster.THREE)) {
      hdfs = cluster;
      Path[] files = {hdfs.write("/one", 2 * MB, 1), hdfs.write("/deleted", 2 * MB, 3), hdfs.write("/kept", 2 * MB, 3)};
      persist();
      isRolledBack(TierUpgradeTest.this::persist, files);
    } finally {
      hdfs = null;
    }
  }

  private void persist() {
    hdfs.datasets().forEach(dataset -> dataset.shadows().round());
  }

  @Test
  void inHhh() throws Exception {
    inMode("hhh");
  }

  @Test
  void inHhhM() throws Exception {
    inMode("hhh-m");
  }

  @Test
  void inHhhL() throws Exception {
    start(AT_ONCE);
    Path ram = hdfs.write("/ram", 2 * MB, 1);
    hdfs.setCapacity(RAM_DISK, 0);
    Path left = hdfs.write("/left", 2 * MB, 1);
    Path kept = hdfs.write("/kept", 2 * MB, 1);
    for (Path path : new Path[] {ram, left, kept}) {
      awaitReplicas(path, 1, 2);
    }
    isRolledBack(this::rounds, ram, left, kept);
    awaitReplicas(ram, 1, 2);
    awaitReplicas(left, 1, 2);
    awaitReplicas(kept, 1, 2);
  }

  /** All DataNodes and the NameNode go on without the mode; without power what was in RAM is gone. */
  private void leaveTheMode(boolean isWithoutPower) throws Exception {
    List<DataNodeProperties> stopped = new ArrayList<>();
    for (int i = hdfs.datasets().size(); i > 0; i--) {
      File ram = new File(hdfs.dataset(0).volumes(RAM_DISK).get(0).getBasePath());
      Configuration conf = new Configuration(hdfs.dataset(0).datanode.getConf());
      boolean isShared = hdfs.dataset(0) instanceof SharedDataset;
      DataNodeProperties node = hdfs.cluster.stopDataNode(0);
      if (isShared) {
        assertThat(StorageRuns.importing(conf)).contains("0 could not be copied");
      }
      if (isWithoutPower) {
        FileUtil.fullyDeleteContents(ram);
      }
      TierCluster.withoutMode(node);
      stopped.add(node);
    }
    hdfs.cluster.getConfiguration(0).set("dfs.rdma.hhh.mode", "");
    hdfs.cluster.restartNameNode(false);
    for (DataNodeProperties node : stopped) {
      hdfs.cluster.restartDataNode(node);
    }
    hdfs.cluster.waitActive();
    hdfs.reconnect();
    for (int i = 0; i < stopped.size(); i++) {
      assertThat(hdfs.store(i)).isExactlyInstanceOf(FsDatasetImpl.class);
    }
  }

  private void assertAllIsThere(Path... files) throws Exception {
    for (Path path : files) {
      TierCluster.awaitThat(() -> {
        hdfs.reportAll();
        return hdfs.blocks(path).stream().allMatch(block -> block.getLocations().length > 0);
      }, () -> hdfs.blocks(path));
      hdfs.assertHolds(path, 2 * MB);
    }
  }

  @Test
  void withoutHhhMAfterAPowerFailureShadowsAreTheReplicas() throws Exception {
    for (boolean isWithoutPower : new boolean[] {false, true}) {
      try (TierCluster cluster = new TierCluster(TierCluster.mode("hhh-m"), 3, TierCluster.THREE)) {
        hdfs = cluster;
        Path[] files = {hdfs.write("/one", 2 * MB, 1), hdfs.write("/three", 2 * MB, 3)};
        persist();
        leaveTheMode(isWithoutPower);
        assertAllIsThere(files);
      } finally {
        hdfs = null;
      }
    }
  }

  @Test
  void withoutHhhLWhatWasOnTheSharedPathOnlyIsImported() throws Exception {
    start(AT_ONCE);
    Path ram = hdfs.write("/ram", 2 * MB, 1);
    hdfs.setCapacity(RAM_DISK, 0);
    Path left = hdfs.write("/left", 2 * MB, 1);
    awaitReplicas(ram, 1, 2);
    awaitReplicas(left, 1, 2);
    leaveTheMode(false);
    FileUtil.fullyDeleteContents(shared.toFile());
    assertAllIsThere(ram, left);
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.apache.hadoop.fs.StorageType.SSD;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.storage.Reason;
import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockPlacementPolicyDefault;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.extension.ExtendWith;

/** What administrators do to a cluster in the mode HHH, and what is still there then. */
@ExtendWith(TierCluster.Shared.class)
class TierLifeTest {
  private static final int MB = 1 << 20;
  private static final Pattern SAFE = Pattern.compile("reported blocks (\\d+) .*total blocks (\\d+)");

  private TierCluster hdfs;

  @Test
  void restartsCountEachBlockOnceAndNothingIsLostWithoutTheMode() throws Exception {
    Configuration stock = new Configuration(false);
    stock.set("dfs.rdma.hhh.mode", "");
    Configuration mode = new Configuration(false);
    mode.set("dfs.rdma.hhh.mode", "hhh");
    mode.setInt("dfs.rdma.mover.interval", 3_600_000);
    Configuration conf = TierCluster.plain(new Configuration());
    conf.addResource(mode); // what is set by set() hides what a DataNode's own configuration has
    Configuration[] overlays = {stock, new Configuration(false), new Configuration(false)};
    try (TierCluster cluster = new TierCluster(conf, TierCluster.THREE, overlays)) {
      hdfs = cluster;
      assertThat(hdfs.store(0).getClass()).isEqualTo(FsDatasetImpl.class);
      List<Path> files = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        files.add(hdfs.write("/file" + i, MB, 3));
      }
      for (Path path : files) {
        hdfs.await(path, RAM_DISK, SSD, DISK);
        hdfs.assertHolds(path, MB);
      }
      restartTheNameNode(files);
      leaveTheMode();
      assertThat(hdfs.cluster.getNamesystem().getBlockManager().getBlockPlacementPolicy().getClass())
          .isEqualTo(BlockPlacementPolicyDefault.class);
      for (Path path : files) {
        TierCluster.awaitThat(() -> hdfs.types(path).get(0).size() == 3, () -> hdfs.types(path));
        hdfs.assertHolds(path, MB);
        assertThat(hdfs.types(path).get(0)).contains(SSD, DISK);
      }
      try (FSDataOutputStream out = hdfs.fs.append(files.get(0))) {
        out.write(1);
      }
      assertThat(hdfs.read(files.get(0))).hasSize(MB + 1);
    }
  }

  /** In safe mode each block is safe once, also when replicas are moved meanwhile. */
  private void restartTheNameNode(List<Path> files) throws Exception {
    hdfs.cluster.getConfiguration(0).setInt("dfs.namenode.safemode.extension", 3_600_000);
    hdfs.cluster.restartNameNode(false);
    hdfs.reconnect();
    String all = files.size() + " of " + files.size();
    TierCluster.awaitThat(() -> safe().equals(all), this::safe);
    int moved = 0;
    for (int node = 0; node < 3; node++) {
      if (hdfs.store(node) instanceof TierDataset) {
        TierDataset dataset = hdfs.dataset(node);
        for (FinalizedReplica replica : dataset.finalizedIn(hdfs.pool(), dataset.volumes(RAM_DISK).get(0))) {
          moved += dataset.moveDown(hdfs.pool(), replica, Reason.COLD, null) ? 1 : 0;
        }
      }
    }
    hdfs.report();
    hdfs.cluster.triggerBlockReports();
    assertThat(safe()).as("%d replicas were moved", moved).isEqualTo(all);
    hdfs.fs.setSafeMode(SafeModeAction.SAFEMODE_LEAVE);
    hdfs.cluster.waitActive();
  }

  private String safe() {
    Matcher safe = SAFE.matcher(hdfs.cluster.getNamesystem().getSafemode());
    return safe.find() ? safe.group(1) + " of " + safe.group(2) : "none";
  }

  private void leaveTheMode() throws Exception {
    for (int i = 0; i < 3; i++) {
      DataNodeProperties node = hdfs.cluster.stopDataNode(0); // the next one is the first then
      TierCluster.withoutMode(node);
      hdfs.cluster.restartDataNode(node);
    }
    hdfs.cluster.getConfiguration(0).set("dfs.rdma.hhh.mode", "");
    hdfs.cluster.getConfiguration(0).setInt("dfs.namenode.safemode.extension", 0);
    hdfs.cluster.restartNameNode(true);
    hdfs.reconnect();
    for (int node = 0; node < 3; node++) {
      assertThat(hdfs.store(node).getClass()).isEqualTo(FsDatasetImpl.class);
    }
  }

  @Test
  void theReplicasOfADecommissionedDataNodeGetSubstitutes(TierCluster shared) throws Exception {
    hdfs = shared;
    List<Path> files = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      files.add(hdfs.write("/file" + i, MB, 2));
    }
    awaitPromise(files, null);
    decommission(TierCluster.excludedIn(hdfs.cluster.getConfiguration(0)), hdfs.holder(files.get(0), RAM_DISK), files);
  }

  @Test
  @EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
      disabledReason = "takes a minute: make unit-slow")
  void decommissionBalancerAndMoverKeepWhatIsPromised() throws Exception {
    Configuration conf = TierCluster.hhh();
    File excluded = TierCluster.excludedIn(conf);
    conf.setInt("dfs.replication", 2);
    conf.setLong("dfs.balancer.getBlocks.min-block-size", 1);
    try (TierCluster cluster = new TierCluster(conf, 4, TierCluster.THREE)) {
      hdfs = cluster;
      TierDataset empty = hdfs.dataset(0);
      for (StorageType type : new StorageType[] {SSD, DISK}) {
        empty.volumes(type).get(0).setCapacityForTesting(0);
      }
      hdfs.cluster.triggerHeartbeats();
      List<Path> files = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        files.add(hdfs.write("/file" + i, MB, 2));
      }
      hdfs.setCapacity(SSD, 64 * MB);
      hdfs.setCapacity(DISK, 64 * MB);
      awaitPromise(files, null);
      assertThat(persistent(empty)).isZero();
      int code = hdfs.run("balancer.Balancer", "-threshold", "5"); // on average SSDs are filled by 6.25 %
      assertThat(persistent(empty)).as("replicas that the Balancer moved (it ended with %d)", code).isPositive();
      awaitPromise(files, null);
      decommission(excluded, hdfs.datasets().get(1), files);
      useTheMover();
    }
  }

  private int persistent(TierDataset dataset) {
    int count = 0;
    for (StorageType type : new StorageType[] {SSD, DISK}) {
      count += dataset.finalizedIn(hdfs.pool(), dataset.volumes(type).get(0)).size();
    }
    return count;
  }

  /** Upstream's Mover looks at files that were given a policy only, and at none of their replicas in RAM. */
  private void useTheMover() throws Exception {
    String[] policies = {null, "HOT", "ONE_SSD"};
    StorageType[] others = {SSD, DISK, SSD};
    List<Path> files = new ArrayList<>();
    for (String policy : policies) {
      Path path = hdfs.write("/mover-" + policy, MB, 2);
      hdfs.await(path, RAM_DISK, SSD);
      if (policy != null) {
        hdfs.fs.setStoragePolicy(path, policy);
      }
      files.add(path);
    }
    assertThat(hdfs.run("mover.Mover", "-p", "/")).isZero();
    for (int i = 0; i < policies.length; i++) {
      hdfs.await(files.get(i), RAM_DISK, others[i]);
    }
    awaitPromise(files, null);
  }

  private void decommission(File excluded, TierDataset dataset, List<Path> files) throws Exception {
    DatanodeInfo node = hdfs.decommission(excluded, dataset);
    awaitPromise(files, node);
    Files.write(excluded.toPath(), new byte[0]);
    hdfs.cluster.getNamesystem().getBlockManager().getDatanodeManager().refreshNodes(hdfs.cluster.getConfiguration(0));
    TierCluster.awaitThat(() -> !node.isDecommissioned(), () -> node);
  }

  /** Each file is whole, and has two replicas on other DataNodes than one, at least one on persistent storage. */
  private void awaitPromise(List<Path> files, DatanodeInfo but) throws Exception {
    for (Path path : files) {
      TierCluster.awaitThat(() -> {
        hdfs.report();
        LocatedBlock block = hdfs.blocks(path).get(0);
        List<StorageType> types = new ArrayList<>(Arrays.asList(block.getStorageTypes()));
        for (int i = types.size() - 1; i >= 0; i--) {
          if (block.getLocations()[i].equals(but)) {
            types.remove(i);
          }
        }
        return types.size() == 2 && types.stream().anyMatch(type -> type != RAM_DISK);
      }, () -> hdfs.types(path));
      hdfs.assertHolds(path, MB);
    }
  }
}

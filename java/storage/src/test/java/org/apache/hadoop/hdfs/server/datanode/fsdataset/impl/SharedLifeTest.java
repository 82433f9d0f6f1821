package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.ARCHIVE;
import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.storage.Reason;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** What administrators do to a cluster in the mode HHH-L, and what is still there then. */
class SharedLifeTest extends SharedHdfs {
  private static final int MB = 1 << 20;

  @Test
  @EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
      disabledReason = "takes a minute: make unit-slow")
  void theBalancerMovesReplicasWithTheirCopiesAndTheMoverMovesNoCopy() throws Exception {
    start("dfs.balancer.getBlocks.min-block-size=1");
    List<Path> files = useTheBalancer();
    useTheMover(files);
  }

  /** One DataNode has all of it at first. */
  private List<Path> useTheBalancer() throws Exception {
    TierDataset full = hdfs.dataset(0);
    for (TierDataset dataset : hdfs.datasets()) {
      dataset.volumes(DISK).get(0).setCapacityForTesting(dataset == full ? 64 * MB : 0);
    }
    hdfs.setCapacity(RAM_DISK, 0); // and the NameNode looks
    List<Path> files = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      files.add(hdfs.write("/file" + i, MB, 1));
    }
    hdfs.setCapacity(DISK, 64 * MB);
    assertAllAreWhole(files);
    assertThat(full.finalizedIn(hdfs.pool(), full.volumes(DISK).get(0))).hasSize(files.size());
    Map<Path, Object> before = copies(files, full);
    int code = hdfs.run("balancer.Balancer", "-threshold", "5"); // on average disks are filled by 6.25 %
    assertAllAreWhole(files);
    int left = full.finalizedIn(hdfs.pool(), full.volumes(DISK).get(0)).size();
    assertThat(left).as("replicas that it has still (the Balancer ended with %d)", code).isBetween(1, files.size() - 1);
    Map<Path, Object> after = copies(files, full);
    assertThat(after).as("copies of replicas that stayed").hasSize(left);
    assertThat(before).as("which are the files that they were").containsAllEntriesOf(after);
    return files;
  }

  /** Each file has one replica, which two others serve as well, and one copy on the shared path. */
  private void assertAllAreWhole(List<Path> files) throws Exception {
    for (Path path : files) {
      awaitReplicas(path, 1, 2);
      hdfs.assertHolds(path, MB);
    }
    TierCluster.awaitThat(() -> {
      rounds();
      return sharedFiles().size() == 2 * files.size();
    }, this::sharedFiles);
  }

  /** What a DataNode's copies are on the shared path's file system, by file. */
  private Map<Path, Object> copies(List<Path> files, TierDataset owner) throws IOException {
    Map<Path, Object> inodes = new HashMap<>();
    for (Path path : files) {
      long id = hdfs.blocks(path).get(0).getBlock().getBlockId();
      if (owner.shared().has(hdfs.pool(), id)) {
        File copy = new File(owner.shared().place(hdfs.pool(), id), "blk_" + id);
        inodes.put(path, Files.getAttribute(copy.toPath(), "unix:ino"));
      }
    }
    return inodes;
  }

  @Test
  @EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
      disabledReason = "takes a minute: make unit-slow")
  void theReplicasOfADecommissionedDataNodeGetSubstitutesWithCopiesOfTheirOwn() throws Exception {
    start();
    List<Path> files = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      files.add(hdfs.write("/file" + i, MB, 1));
      awaitReplicas(files.get(i), 1, 2);
    }
    int leaving = owner(files.get(0));
    hdfs.decommission(TierCluster.excludedIn(hdfs.cluster.getConfiguration(0)), hdfs.dataset(leaving));
    hdfs.cluster.stopDataNode(leaving);
    for (Path path : files) {
      hdfs.assertHolds(path, MB);
      TierCluster.awaitThat(() -> {
        rounds();
        return replicas(path).liveReplicas() == 1 && copies(Arrays.asList(path), hdfs.dataset(owner(path))).size() == 1;
      }, () -> replicas(path).liveReplicas());
    }
  }

  /** It sees replicas of type ARCHIVE where the policy says DISK, and the other way round. */
  private void useTheMover(List<Path> files) throws Exception {
    Path left = files.get(0);
    SharedDataset owner = (SharedDataset) hdfs.dataset(owner(left));
    assertThat(owner.giveUp(hdfs.pool(), (FinalizedReplica) hdfs.replica(owner, left), Reason.COLD)).isTrue();
    awaitReplicas(left, 1, 2);
    assertThat(hdfs.types(left).get(0)).containsOnly(ARCHIVE);
    hdfs.setCapacity(RAM_DISK, 64 * MB);
    Path inRam = hdfs.write("/ram", MB, 1);
    awaitReplicas(inRam, 1, 2);
    assertThat(hdfs.types(inRam).get(0)).contains(RAM_DISK);
    files.add(inRam);
    hdfs.fs.setStoragePolicy(left, "HOT");
    hdfs.fs.setStoragePolicy(inRam, "HOT"); // it can ask keepers only, since it moves nothing that is in RAM
    hdfs.fs.setStoragePolicy(files.get(1), "COLD");
    Map<Path, Object> before = copies(files, owner);
    assertThat(hdfs.run("mover.Mover", "-p", "/")).isZero();
    assertAllAreWhole(files);
    assertThat(copies(files, owner)).isEqualTo(before);
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.NumberReplicas;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A whole HDFS of four DataNodes in the mode HHH-L: one local replica, and its copy on a path that all have. */
abstract class SharedHdfs {
  static final int NODES = 4;

  Path shared;
  TierCluster hdfs;

  void start(String... settings) throws IOException {
    Configuration conf = TierCluster.mode("Lustre");
    conf.set("dfs.replication", "1");
    conf.set("dfs.rdma.lustre.path", shared.toString());
    conf.set("dfs.rdma.lustre.path.local", "true");
    conf.set("dfs.rdma.lustre.interval", "3600000"); // rounds when a test says so
    conf.set("dfs.rdma.lustre.member.timeout", "3600000");
    for (String setting : settings) {
      conf.set(setting.split("=")[0], setting.split("=")[1]);
    }
    hdfs = new TierCluster(conf, NODES, RAM_DISK, DISK);
  }

  @BeforeEach
  void makeThePath() throws IOException {
    shared = Files.createTempDirectory(Paths.get("/dev/shm"), "howdah-shared-test-");
  }

  @AfterEach
  void stop() {
    if (hdfs != null) {
      hdfs.close();
    }
    FileUtil.fullyDelete(shared.toFile());
  }

  /** All DataNodes look at the shared path; twice, since the first look may be before another one's first sign. */
  void rounds() throws IOException {
    for (int i = 0; i < 2; i++) {
      for (TierDataset dataset : hdfs.datasets()) {
        dataset.shared().round();
        dataset.keepers().look();
        dataset.keepers().round();
      }
    }
    hdfs.report();
  }

  NumberReplicas replicas(org.apache.hadoop.fs.Path path) throws IOException {
    BlockManager blocks = hdfs.cluster.getNamesystem().getBlockManager();
    return blocks.countNodes(blocks.getStoredBlock(hdfs.blocks(path).get(0).getBlock().getLocalBlock()));
  }

  void awaitReplicas(org.apache.hadoop.fs.Path path, int live, int readOnly) throws Exception {
    Callable<String> state = () -> replicas(path).liveReplicas() + " and " + replicas(path).readOnlyReplicas();
    TierCluster.awaitThat(() -> {
      rounds();
      return state.call().equals(live + " and " + readOnly);
    }, state);
  }

  List<String> sharedFiles() throws IOException {
    try (Stream<Path> files = Files.walk(shared)) {
      return files.filter(Files::isRegularFile).map(file -> file.getFileName().toString())
          .filter(name -> name.startsWith("blk_")).sorted().collect(Collectors.toList());
    }
  }

  int owner(org.apache.hadoop.fs.Path path) throws IOException {
    for (int i = 0; i < hdfs.datasets().size(); i++) {
      ReplicaInfo replica = hdfs.replica(hdfs.dataset(i), path);
      if (replica != null && !(replica.getVolume() instanceof SharedVolume)) {
        return i;
      }
    }
    throw new AssertionError("no DataNode has " + path);
  }

  /** The DataNode that has given up its local files of a block for its copy; null if none has. */
  TierDataset leftToItsCopy(org.apache.hadoop.fs.Path path) throws IOException {
    for (TierDataset dataset : hdfs.datasets()) {
      ReplicaInfo replica = hdfs.replica(dataset, path);
      if (replica != null && replica.getVolume() instanceof SharedVolume
          && ((SharedVolume) replica.getVolume()).toDatanodeStorage().getState() == DatanodeStorage.State.NORMAL) {
        return dataset;
      }
    }
    return null;
  }

  List<StorageType> types(org.apache.hadoop.fs.Path path) throws IOException {
    List<StorageType> types = new ArrayList<>();
    for (LocatedBlock block : hdfs.blocks(path)) {
      types.addAll(java.util.Arrays.asList(block.getStorageTypes()));
    }
    return types;
  }

  File folderOf(ReplicaInfo replica) throws IOException {
    try (Stream<Path> files = Files.walk(shared)) {
      return files.filter(file -> file.getFileName().toString().equals(replica.getBlockName())).findAny()
          .orElseThrow(AssertionError::new).getParent().toFile();
    }
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.apache.hadoop.fs.StorageType.DISK;
import static org.apache.hadoop.fs.StorageType.RAM_DISK;

import io.howdah.storage.shared.SharedSettings;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.NumberReplicas;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A whole HDFS of four DataNodes in the mode HHH-L: one local replica, and its copy on a path that all have. */
@ExtendWith(SharedHdfs.Root.class)
abstract class SharedHdfs {
  static final int NODES = 4;

  Path shared;
  TierCluster hdfs;

  /** DataNodes of the common cluster that a test has ended. */
  private final List<DataNodeProperties> ended = new ArrayList<>();
  private Common common;

  /** A cluster, and the path that its DataNodes have. */
  private static final class Common implements ExtensionContext.Store.CloseableResource {
    private final Path shared = Files.createTempDirectory(Paths.get("/dev/shm"), "howdah-shared-test-");
    private final TierCluster hdfs;

    private Common(String... settings) throws IOException {
      hdfs = new TierCluster(conf(shared, settings), NODES, RAM_DISK, DISK);
    }

    @Override
    public void close() {
      hdfs.close();
      FileUtil.fullyDelete(shared.toFile());
    }
  }

  /** Gives each test what the run of all tests keeps. */
  static final class Root implements BeforeEachCallback {
    private static final AtomicReference<ExtensionContext.Store> STORE = new AtomicReference<>();

    @Override
    public void beforeEach(ExtensionContext context) {
      STORE.set(context.getRoot().getStore(ExtensionContext.Namespace.create(SharedHdfs.class)));
    }
  }

  static Configuration conf(Path shared, String... settings) {
    Configuration conf = TierCluster.mode("Lustre");
    conf.set("dfs.replication", "1");
    conf.set("dfs.rdma.lustre.path", shared.toString());
    conf.set("dfs.rdma.lustre.path.local", "true");
    conf.set("dfs.rdma.lustre.interval", "3600000"); // rounds when a test says so
    conf.set("dfs.rdma.lustre.member.timeout", "3600000");
    for (String setting : settings) {
      conf.set(setting.split("=")[0], setting.split("=")[1]);
    }
    return conf;
  }

  /** Begins with the cluster that all tests have in common, empty; settings are those that writers go by. */
  void begin(String... settings) throws Exception {
    common = Root.STORE.get().getOrComputeIfAbsent(Common.class, key -> {
      try {
        return new Common();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }, Common.class);
    shared = common.shared;
    hdfs = common.hdfs;
    use(settings);
  }

  /** Starts a cluster for one test, which may leave it as it is. */
  void start(String... settings) throws IOException {
    Common own = new Common(settings);
    shared = own.shared;
    hdfs = own.hdfs;
  }

  /** Starts a cluster with two NameNodes for one test. */
  void startHighlyAvailable(String... settings) throws IOException {
    shared = Files.createTempDirectory(Paths.get("/dev/shm"), "howdah-shared-test-");
    hdfs = TierCluster.highlyAvailable(conf(shared, settings), NODES, RAM_DISK, DISK);
  }

  /** Has DataNodes that are there now go by other settings. */
  void use(String... settings) throws IOException {
    SharedSettings all = SharedSettings.of(conf(shared, settings));
    hdfs.datasets().forEach(dataset -> dataset.shared().useForTesting(all));
  }

  /** Ends a DataNode, which comes back when the test ends, or when it says so. */
  DataNodeProperties end(int dataNode) {
    DataNodeProperties stopped = hdfs.cluster.stopDataNode(dataNode);
    ended.add(stopped);
    return stopped;
  }

  void comeBack(DataNodeProperties stopped) throws IOException {
    ended.remove(stopped);
    hdfs.cluster.restartDataNode(stopped);
    hdfs.cluster.waitActive();
  }

  /**
   * Likewise, of one that has lost folders: the NameNode makes no replica of a block before it has heard of its copy,
   * of which the same report tells it a moment after it tells of the loss.
   */
  void comeBackWithLess(DataNodeProperties stopped) throws IOException {
    hdfs.fs.setSafeMode(SafeModeAction.SAFEMODE_ENTER);
    comeBack(stopped);
    hdfs.cluster.triggerBlockReports();
    hdfs.fs.setSafeMode(SafeModeAction.SAFEMODE_LEAVE);
  }

  @AfterEach
  void stop() throws Exception {
    if (common != null) {
      empty();
    } else if (hdfs != null) {
      hdfs.close();
      FileUtil.fullyDelete(shared.toFile());
    }
  }

  private void empty() throws Exception {
    for (DataNodeProperties stopped : new ArrayList<>(ended)) {
      comeBack(stopped);
    }
    use();
    for (FileStatus file : hdfs.fs.listStatus(new org.apache.hadoop.fs.Path("/"))) {
      hdfs.fs.delete(file.getPath(), true);
    }
    TierCluster.awaitThat(() -> {
      rounds();
      hdfs.reportAll();
      return sharedFiles().isEmpty()
          && hdfs.datasets().stream().allMatch(dataset -> dataset.volumeMap.size(hdfs.pool()) == 0);
    }, this::sharedFiles);
    hdfs.emptied();
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
    BlockManager blocks = hdfs.namesystem().getBlockManager();
    return blocks.countNodes(blocks.getStoredBlock(hdfs.blocks(path).get(0).getBlock().getLocalBlock()));
  }

  /**
   * Waits until the NameNode counts so many replicas of each block, and as many DataNodes have the block as it is now:
   * the NameNode goes on counting those of before an append.
   */
  void awaitReplicas(org.apache.hadoop.fs.Path path, int live, int readOnly) throws Exception {
    Set<String> wanted = Collections.singleton(state(live, readOnly, live + readOnly));
    TierCluster.awaitThat(() -> {
      rounds();
      return states(path).equals(wanted);
    }, () -> states(path));
  }

  private static String state(int live, int readOnly, long asNew) {
    return live + " live, " + readOnly + " read-only, " + asNew + " as new";
  }

  /** What there is of the blocks of a file, once if it is the same of all. */
  private Set<String> states(org.apache.hadoop.fs.Path path) throws IOException {
    BlockManager blocks = hdfs.namesystem().getBlockManager();
    Set<String> states = new TreeSet<>();
    for (LocatedBlock located : hdfs.blocks(path)) {
      Block block = located.getBlock().getLocalBlock();
      NumberReplicas number = blocks.countNodes(blocks.getStoredBlock(block));
      long asNew = hdfs.datasets().stream().map(dataset -> dataset.volumeMap.get(hdfs.pool(), block.getBlockId()))
          .filter(replica -> replica != null && replica.getGenerationStamp() == block.getGenerationStamp()
              && replica.getNumBytes() == block.getNumBytes()).count();
      states.add(state(number.liveReplicas(), number.readOnlyReplicas(), asNew));
    }
    return states;
  }

  List<String> sharedFiles() throws IOException {
    return blockFiles(shared).stream().map(file -> file.getFileName().toString()).sorted()
        .collect(Collectors.toList());
  }

  /** The files of blocks below a folder. DataNodes may remove some meanwhile, at which a stream of files would fail. */
  static List<Path> blockFiles(Path folder) throws IOException {
    List<Path> found = new ArrayList<>();
    Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
        if (file.getFileName().toString().startsWith("blk_")) {
          found.add(file);
        }
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
        if (e instanceof NoSuchFileException) {
          return FileVisitResult.CONTINUE;
        }
        throw e;
      }
    });
    return found;
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

  /**
   * Waits until a DataNode has given up its local files of a block for its copy, and the NameNode knows it; returns
   * the DataNode. A round may find the copy not yet whole, or the replica in use.
   */
  TierDataset leftToItsCopy(org.apache.hadoop.fs.Path path) throws Exception {
    TierCluster.awaitThat(() -> {
      rounds();
      return ownerWithoutFiles(path) != null;
    }, () -> states(path));
    awaitReplicas(path, 1, 2);
    return ownerWithoutFiles(path);
  }

  /** The DataNode that serves a block from its copy as if it had the files; null if none does by now. */
  TierDataset ownerWithoutFiles(org.apache.hadoop.fs.Path path) throws IOException {
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
    return blockFiles(shared).stream().filter(file -> file.endsWith(replica.getBlockName())).findAny()
        .orElseThrow(AssertionError::new).getParent().toFile();
  }
}

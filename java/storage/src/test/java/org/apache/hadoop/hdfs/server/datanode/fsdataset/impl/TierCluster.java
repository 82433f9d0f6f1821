package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManagerTestUtil;
import org.apache.hadoop.hdfs.server.blockmanagement.DatanodeManager;
import org.apache.hadoop.hdfs.server.blockmanagement.Placement;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsDatasetSpi;
import org.apache.hadoop.hdfs.server.namenode.FSNamesystem;
import org.apache.hadoop.hdfs.server.namenode.ha.HATestUtil;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** A whole HDFS in this process, with all its folders in RAM. */
@SuppressWarnings("try") // locks are held, not used
final class TierCluster implements ExtensionContext.Store.CloseableResource, AutoCloseable {
  static final int BLOCK = 1 << 20;
  static final StorageType[] THREE = {StorageType.RAM_DISK, StorageType.SSD, StorageType.DISK};
  /** Far above what anything takes on a busy machine: its end means that it never comes. */
  private static final long WAIT_S = 240;
  private static final long ASK_S = 5;
  private static final AtomicInteger LATER = new AtomicInteger();

  final MiniDFSCluster cluster;
  final DistributedFileSystem fs;
  private final File folder;

  TierCluster(Configuration conf, int dataNodes, StorageType... types) throws IOException {
    this(conf, types, Stream.generate(() -> new Configuration(false)).limit(dataNodes).toArray(Configuration[]::new));
  }

  /** With a DataNode for each configuration, which lies over the cluster's. */
  TierCluster(Configuration conf, StorageType[] types, Configuration[] overlays) throws IOException {
    this(conf, types, overlays, null);
  }

  /** With two NameNodes, the first of which is active. */
  static TierCluster highlyAvailable(Configuration conf, int dataNodes, StorageType... types) throws IOException {
    conf.setInt("dfs.ha.tail-edits.period", 1);
    return new TierCluster(conf, types, Stream.generate(() -> new Configuration(false)).limit(dataNodes)
        .toArray(Configuration[]::new), MiniDFSNNTopology.simpleHATopology());
  }

  private TierCluster(Configuration conf, StorageType[] types, Configuration[] overlays, MiniDFSNNTopology nameNodes)
      throws IOException {
    folder = Files.createTempDirectory(Paths.get("/dev/shm"), "howdah-storage-test-").toFile();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder.toString());
    try {
      cluster = new MiniDFSCluster.Builder(conf).numDataNodes(overlays.length).storageTypes(types)
          .storagesPerDatanode(types.length).dataNodeConfOverlays(overlays).nnTopology(nameNodes).build();
      cluster.waitActive();
      if (nameNodes != null) {
        cluster.transitionToActive(0);
      }
      fs = nameNodes == null ? cluster.getFileSystem()
          : HATestUtil.configureFailoverFs(cluster, conf);
    } catch (IOException | RuntimeException e) {
      FileUtil.fullyDelete(folder);
      throw e;
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e); // upstream makes it
    }
  }

  /** What the NameNode that is active has. */
  FSNamesystem namesystem() {
    for (int i = 0; i < cluster.getNumNameNodes(); i++) {
      if (cluster.getNameNode(i).isActiveState()) {
        return cluster.getNamesystem(i);
      }
    }
    throw new AssertionError("no NameNode is active");
  }

  /** One cluster of three DataNodes in the mode HHH for all classes of tests; each test finds it empty. */
  static final class Shared implements ParameterResolver {
    private static final ExtensionContext.Namespace SPACE = ExtensionContext.Namespace.create(TierCluster.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
      return parameter.getParameter().getType() == TierCluster.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
      return context.getRoot().getStore(SPACE).getOrComputeIfAbsent(TierCluster.class, key -> {
        try {
          Configuration hooked = new Configuration(false);
          hooked.setClass("dfs.datanode.fsdataset.factory", ReportHook.class, FsDatasetSpi.Factory.class);
          return new TierCluster(hhh(), THREE, new Configuration[] {hooked, hooked, hooked});
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }, TierCluster.class).emptied();
    }
  }

  /** Removes all files and their blocks, and gives all folders the size that they have. */
  TierCluster emptied() {
    try {
      for (FileStatus file : fs.listStatus(new Path("/"))) {
        fs.delete(file.getPath(), true);
      }
      for (TierDataset dataset : datasets()) {
        awaitThat(() -> {
          // In this order: a replica leaves the map before its files are handed to the thread that deletes them.
          if (dataset.volumeMap.size(pool()) == 0 && !dataset.shadows().isDeleting()
              && DataNodeTestUtils.getPendingAsyncDeletions(dataset.datanode) == 0) {
            return true;
          }
          reportAll();
          return false;
        }, () -> dataset.volumeMap.replicas(pool()));
        dataset.copies().prune();
        for (TierVolume volume : dataset.volumes(null)) {
          volume.setCapacityForTesting(-1);
          // Until it looks at the folder, which it does not do here, upstream counts an appended block twice, and one
          // that was deleted while it was written as less than nothing, which reads as 0: a block more would, too.
          volume.incDfsUsed(pool(), 1L << 40);
          volume.onMetaFileDeletion(pool(), volume.getDfsUsed());
        }
      }
      lookAgain();
    } catch (Exception e) {
      throw new IllegalStateException("the last test's files cannot be removed", e);
    }
    return this;
  }

  /** The mode HHH with small blocks; the mover looks when a test says so. */
  static Configuration hhh() {
    return mode("hhh");
  }

  /** A mode with small blocks; nothing is moved or persisted but when a test says so. */
  static Configuration mode(String name) {
    Configuration conf = new Configuration();
    conf.set("dfs.rdma.hhh.mode", name);
    conf.setLong("dfs.rdma.mover.interval", 3_600_000);
    return plain(conf);
  }

  static Configuration plain(Configuration conf) {
    conf.set("hadoop.rdma.enabled", "false");
    conf.setLong("dfs.blocksize", BLOCK);
    conf.setInt("dfs.replication", 3);
    conf.setInt("dfs.heartbeat.interval", 1);
    conf.setInt("dfs.namenode.replication.interval", 1);
    conf.setInt("dfs.namenode.replication.pending.timeout-sec", 30);
    // A DataNode that has more to do than the others, by the last heartbeats, is a good one nevertheless.
    conf.setBoolean("dfs.namenode.replication.considerLoad", false);
    // Else upstream runs du each ten minutes, and takes its word though blocks came and went meanwhile.
    conf.setLong("fs.du.interval", 0);
    conf.setInt("dfs.client.block.write.locateFollowingBlock.initial.delay.ms", 50);
    conf.setInt("dfs.client.retry.window.base", 10);
    conf.setBoolean("dfs.client.block.write.replace-datanode-on-failure.best-effort", true);
    return conf;
  }

  @Override
  public void close() {
    cluster.shutdown();
    FileUtil.fullyDelete(folder);
  }

  // DataNodes.

  FsDatasetSpi<?> store(int dataNode) {
    return cluster.getDataNodes().get(dataNode).getFSDataset();
  }

  TierDataset dataset(int dataNode) {
    return (TierDataset) store(dataNode);
  }

  List<TierDataset> datasets() {
    List<TierDataset> all = new ArrayList<>();
    for (DataNode node : cluster.getDataNodes()) {
      all.add((TierDataset) node.getFSDataset());
    }
    return all;
  }

  /** Has a DataNode that was ended go on without a mode when it starts again. */
  static void withoutMode(DataNodeProperties node) throws ReflectiveOperationException {
    Field conf = DataNodeProperties.class.getDeclaredField("conf");
    conf.setAccessible(true);
    ((Configuration) conf.get(node)).set("dfs.rdma.hhh.mode", "");
  }

  String pool() {
    return namesystem().getBlockPoolId();
  }

  /** The folders in RAM of all DataNodes. */
  List<TierVolume> ram() {
    List<TierVolume> all = new ArrayList<>();
    datasets().forEach(dataset -> all.addAll(dataset.volumes(StorageType.RAM_DISK)));
    return all;
  }

  /** The size with which each folder of a type counts; blocks may fill 0.7 of one in RAM. */
  void setCapacity(StorageType type, long bytes) throws IOException {
    datasets().forEach(dataset -> dataset.volumes(type).forEach(volume -> volume.setCapacityForTesting(bytes)));
    lookAgain();
  }

  /** The NameNode knows what room there is. */
  private void lookAgain() throws IOException {
    cluster.triggerHeartbeats();
    Placement.lookAgain(namesystem().getBlockManager());
  }

  /** The replica of a file's only block on a DataNode; null if it has none. */
  ReplicaInfo replica(TierDataset dataset, Path path) throws IOException {
    return dataset.volumeMap.get(pool(), blocks(path).get(0).getBlock().getBlockId());
  }

  /** The DataNode that has the replica of a file's only block on a type of storage. */
  boolean has(TierDataset dataset, Path path) {
    try {
      return replica(dataset, path) != null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  TierDataset holder(Path path, StorageType type) throws IOException {
    for (TierDataset dataset : datasets()) {
      ReplicaInfo replica = replica(dataset, path);
      if (replica != null && replica.getVolume().getStorageType() == type) {
        return dataset;
      }
    }
    throw new AssertionError("no DataNode has " + path + " on " + type);
  }

  /** The blocks, by name, that are in RAM only on all DataNodes that have them. */
  Set<String> unpersisted() {
    Set<String> names = new TreeSet<>();
    Set<String> elsewhere = new TreeSet<>();
    for (TierDataset dataset : datasets()) {
      dataset.shadows().unpersisted(pool()).forEach(replica -> names.add(replica.getBlockName()));
      try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
        for (ReplicaInfo replica : dataset.volumeMap.replicas(pool())) {
          if (dataset.shadows().isPersistent(pool(), replica)) {
            elsewhere.add(replica.getBlockName());
          }
        }
      }
    }
    names.removeAll(elsewhere);
    return names;
  }

  /**
   * The NameNode looks now at what is to be done, tells DataNodes, and knows after this what they had to tell before.
   */
  void report() throws IOException {
    if (!namesystem().isInSafeMode()) {
      BlockManagerTestUtil.computeAllPendingWork(namesystem().getBlockManager());
    }
    each(node -> {
      DataNodeTestUtils.triggerDeletionReport(node);
      DataNodeTestUtils.triggerHeartbeat(node); // the same thread sends it, after the report was answered
    });
    namesystem().getBlockManager().flushBlockOps(); // the NameNode answers before it looks at a report
  }

  /** The first call after the NameNode's restart may end with the connection of the one before. */
  void reconnect() throws Exception {
    awaitThat(() -> {
      try {
        return fs.exists(new Path("/"));
      } catch (IOException e) {
        return false;
      }
    }, () -> "no connection");
  }

  /** Likewise of all that DataNodes have, blocks that are being written for files that are gone included. */
  void reportAll() throws IOException {
    report();
    each(DataNodeTestUtils::triggerBlockReport);
  }

  private interface Telling {
    void by(DataNode node) throws IOException;
  }

  /** All DataNodes at once: upstream looks each tenth of a second whether one has told. */
  private void each(Telling telling) throws IOException {
    try {
      new ArrayList<>(cluster.getDataNodes()).parallelStream().forEach(node -> {
        try {
          telling.by(node);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      });
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** The folders that a DataNode has. */
  static String folders(DataNode node) {
    return node.getConf().get("dfs.datanode.data.dir");
  }

  /** Has a DataNode go on with other folders, as dfsadmin -reconfig does, and the NameNode hear of it. */
  void useFolders(DataNode node, String folders) throws Exception {
    node.reconfigurePropertyImpl("dfs.datanode.data.dir", folders); // without holding its configuration's lock
    reportAll();
  }

  static String withoutRam(String folders) {
    return without("RAM_DISK", folders);
  }

  static String without(String type, String folders) {
    return Stream.of(folders.split(",")).filter(folder -> !folder.contains("[" + type + "]"))
        .collect(Collectors.joining(","));
  }

  /** Runs the Balancer or the Mover; returns its exit code. */
  int run(String name, String... arguments) throws Exception {
    Constructor<?> tool = Class.forName("org.apache.hadoop.hdfs.server." + name + "$Cli").getDeclaredConstructor();
    tool.setAccessible(true);
    return ToolRunner.run(new Configuration(cluster.getConfiguration(0)), (Tool) tool.newInstance(), arguments);
  }

  void rounds() throws IOException {
    for (TierDataset dataset : datasets()) {
      dataset.mover().round();
    }
    report();
  }

  /** The file that names the hosts to be decommissioned, which has none. */
  static File excludedIn(Configuration conf) throws IOException {
    File excluded = File.createTempFile("howdah-storage-test-", ".hosts");
    excluded.deleteOnExit();
    conf.set("dfs.hosts.exclude", excluded.toString());
    return excluded;
  }

  /** Decommissions a DataNode, waits for the end of that, and returns how the NameNode knows it. */
  DatanodeInfo decommission(File excluded, TierDataset dataset) throws Exception {
    DatanodeManager nodes = cluster.getNamesystem().getBlockManager().getDatanodeManager();
    DatanodeInfo node = nodes.getDatanode(dataset.datanode.getDatanodeId());
    Files.write(excluded.toPath(), node.getXferAddr().getBytes(StandardCharsets.UTF_8));
    nodes.refreshNodes(cluster.getConfiguration(0));
    awaitThat(() -> {
      report();
      BlockManagerTestUtil.recheckDecommissionState(nodes);
      return node.isDecommissioned();
    }, () -> node);
    return node;
  }

  // Files.

  /** A time when all that was verified before it is to be verified again, and there is time for all of it. */
  static long later() {
    return Time.monotonicNow() + LATER.incrementAndGet() * TimeUnit.DAYS.toMillis(30);
  }

  /** Changes a bit of a file. */
  static void damage(File file) throws IOException {
    try (RandomAccessFile data = new RandomAccessFile(file, "rw")) {
      data.seek(500);
      int old = data.read();
      data.seek(500);
      data.write(old ^ 1);
    }
  }

  static byte[] bytes(int size, long seed) {
    byte[] bytes = new byte[size];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  Path write(String name, int size, int replication) throws IOException {
    Path path = new Path(name);
    FSDataOutputStream out = fs.create(path, true, 4096, (short) replication, BLOCK);
    try {
      out.write(bytes(size, name.hashCode()));
    } finally {
      out.close(); // not by try(): it may throw what write() threw, which cannot suppress itself
    }
    return path;
  }

  byte[] read(Path path) throws IOException {
    byte[] bytes = new byte[(int) fs.getFileStatus(path).getLen()];
    try (FSDataInputStream in = fs.open(path)) {
      in.readFully(bytes);
      assertThat(in.read()).isEqualTo(-1);
    }
    return bytes;
  }

  void assertHolds(Path path, int size) throws IOException {
    assertThat(Arrays.equals(read(path), bytes(size, path.toString().hashCode()))).as(path.toString()).isTrue();
  }

  List<LocatedBlock> blocks(Path path) throws IOException {
    return fs.getClient().getLocatedBlocks(path.toString(), 0, Long.MAX_VALUE).getLocatedBlocks();
  }

  /** The types of storage of each block's replicas, as the NameNode has them, sorted. */
  List<List<StorageType>> types(Path path) throws IOException {
    List<List<StorageType>> all = new ArrayList<>();
    for (LocatedBlock block : blocks(path)) {
      List<StorageType> types = new ArrayList<>(Arrays.asList(block.getStorageTypes()));
      types.sort(null);
      all.add(types);
    }
    return all;
  }

  /** Waits until each block of a file has replicas of these types. */
  void await(Path path, StorageType... types) throws Exception {
    awaitThat(() -> {
      if (types(path).stream().allMatch(Arrays.asList(types)::equals)) {
        return true;
      }
      report();
      return false;
    }, () -> types(path));
  }

  /** Waits until its first block has so many replicas. */
  void await(Path path, int replicas) throws Exception {
    awaitThat(() -> {
      reportAll();
      return types(path).get(0).size() == replicas;
    }, () -> types(path));
  }

  /**
   * Cuts a file, and waits until that is done. The NameNode does not try again within an hour if a DataNode that takes
   * part has been told to delete its replica, as one too many; it does when a client asks.
   */
  void truncate(Path path, long length) throws Exception {
    if (!fs.truncate(path, length)) {
      AtomicLong asked = new AtomicLong(System.nanoTime());
      awaitThat(() -> {
        report();
        if (System.nanoTime() - asked.get() > ASK_S * 1_000_000_000) {
          fs.recoverLease(path);
          asked.set(System.nanoTime());
        }
        return fs.isFileClosed(path);
      }, () -> path);
    }
  }

  static void awaitThat(Callable<Boolean> condition, Callable<?> state) throws Exception {
    long end = System.nanoTime() + WAIT_S * 1_000_000_000;
    while (!condition.call()) {
      assertThat(System.nanoTime()).as("waited %d s; it is %s", WAIT_S, state.call()).isLessThan(end);
      Thread.sleep(20);
    }
  }
}

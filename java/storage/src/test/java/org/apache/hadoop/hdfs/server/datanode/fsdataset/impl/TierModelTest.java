package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.storage.Reason;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManager;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManagerTestUtil;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Schedules by seed, against a model: files are written, flushed, appended to, truncated and kept in snapshots,
 * DataNodes end and come back, what is in RAM is lost, and all the while replicas are moved without rest. In the mode
 * HHH-M a power failure may come before all is persisted: then exactly what is listed as unpersisted is lost.
 */
class TierModelTest {
  private static final int SCHEDULES =
      Integer.getInteger("howdah.test.schedules", Boolean.getBoolean("howdah.test.slow") ? 20 : 1);
  private static final long SEED = Long.getLong("howdah.test.seed", 7);
  private static final int STEPS = 8;
  private static final int BLOCK = 64 << 10;
  private static final int NODES = 3;

  private final TreeMap<String, byte[]> files = new TreeMap<>();
  /** Files in snapshots, which do not change. */
  private final TreeMap<String, byte[]> kept = new TreeMap<>();
  private final List<String> snapshots = new ArrayList<>();
  /** Held for writing while DataNodes start or end. */
  private final ReadWriteLock nodes = new ReentrantReadWriteLock();
  private final Restless restless = new Restless();
  private String mode;
  private TierCluster hdfs;
  private Random random;
  private Path folder;

  /** Moves replicas down and between SSD and disk, and copies some to RAM, until it is told to end. */
  private final class Restless extends Thread {
    private final Random choice = new Random(SEED);
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final AtomicLong moves = new AtomicLong();
    private final AtomicLong rounds = new AtomicLong();
    private volatile boolean isDone;

    @Override
    public void run() {
      try {
        while (!isDone) {
          nodes.readLock().lock();
          try {
            round();
          } finally {
            nodes.readLock().unlock();
          }
          rounds.incrementAndGet();
          Thread.sleep(1); // lets those in that wait for the lock
        }
      } catch (Throwable e) {
        failure.set(e);
      }
    }

    private void round() throws IOException {
      for (TierDataset dataset : hdfs.datasets()) {
        for (TierVolume from : dataset.volumes(null)) {
          for (FinalizedReplica replica : dataset.finalizedIn(hdfs.pool(), from)) {
            disturb(dataset, replica, from);
          }
        }
        dataset.copies().prune();
        if (choice.nextInt(4) == 0) {
          dataset.shadows().round();
        }
      }
    }

    private void disturb(TierDataset dataset, FinalizedReplica replica, TierVolume from) throws IOException {
      TierVolume ram = dataset.volumes(StorageType.RAM_DISK).get(0);
      boolean isMoved;
      if (from == ram) {
        isMoved = choice.nextInt(8) == 0 && dataset.moveDown(hdfs.pool(), replica, Reason.COLD, null);
      } else if (choice.nextInt(4) == 0) {
        isMoved = dataset.copyToRam(hdfs.pool(), replica, ram, null);
      } else {
        StorageType other = from.getStorageType() == StorageType.SSD ? StorageType.DISK : StorageType.SSD;
        isMoved = dataset.move(hdfs.pool(), replica, dataset.volumes(other).get(0), Reason.COMMAND, null);
      }
      moves.addAndGet(isMoved ? 1 : 0);
    }

    private void awaitRound() throws Exception {
      long now = rounds.get();
      TierCluster.awaitThat(() -> rounds.get() > now + 1 || failure.get() != null, rounds::get);
      assertThat(failure.get()).isNull();
    }
  }

  @Test
  void noByteIsLost() throws Exception {
    run("hhh");
  }

  @Test
  @EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
      disabledReason = "takes a minute: make unit-slow")
  void noByteIsLostBesideWhatIsListed() throws Exception {
    run("hhh-m");
  }

  private void run(String name) throws Exception {
    mode = name;
    Configuration conf = TierCluster.mode(mode);
    conf.set("dfs.rdma.memory.hsync", mode.equals("hhh-m") ? "persist" : "flush");
    conf.setInt("dfs.replication", 2);
    conf.setLong("dfs.blocksize", BLOCK);
    conf.setLong("dfs.namenode.fs-limits.min-block-size", 0);
    conf.setInt("dfs.datanode.directoryscan.interval", 1);
    try (TierCluster cluster = new TierCluster(conf, NODES, TierCluster.THREE)) {
      hdfs = cluster;
      restless.start();
      try {
        for (long seed = SEED; seed < SEED + SCHEDULES; seed++) {
          schedule(seed);
        }
      } finally {
        restless.isDone = true;
        restless.join();
      }
      assertThat(restless.moves.get()).isPositive();
    }
  }

  private void schedule(long seed) throws Exception {
    random = new Random(seed);
    folder = new Path("/schedule" + seed);
    hdfs.fs.mkdirs(folder);
    hdfs.fs.allowSnapshot(folder);
    String step = "";
    try {
      for (int i = 0; i < STEPS; i++) {
        step = step();
      }
      step = "end";
      restless.awaitRound();
      checkAll();
    } catch (Exception | AssertionError e) {
      throw new AssertionError("schedule " + seed + ", " + step + " (-Dhowdah.test.seed=" + seed + ")", e);
    }
    for (String snapshot : snapshots) {
      hdfs.fs.deleteSnapshot(folder, snapshot);
    }
    hdfs.fs.delete(folder, true);
    files.clear();
    kept.clear();
    snapshots.clear();
  }

  /** Nothing is moved meanwhile. */
  private void checkAll() throws Exception {
    nodes.writeLock().lock();
    try {
      for (String name : files.keySet()) {
        check(name, files.get(name));
        agree(new Path(name));
      }
      for (String name : kept.keySet()) {
        check(name, kept.get(name));
      }
    } finally {
      nodes.writeLock().unlock();
    }
  }

  private String step() throws Exception {
    int what = random.nextInt(32);
    if (files.isEmpty() || what < 6) {
      return create();
    } else if (what == 6) {
      return wipe(random.nextInt(3) == 0 ? NODES : 1);
    } else if (what < 9) {
      return kill();
    } else if (what < 11) {
      return snapshot();
    }
    String name = (String) files.keySet().toArray()[random.nextInt(files.size())];
    if (what < 18) {
      append(name);
    } else if (what < 23) {
      truncate(name);
    } else if (what < 25) {
      hdfs.fs.delete(new Path(name), false);
      files.remove(name);
    } else if (what < 28) {
      hdfs.fs.setReplication(new Path(name), (short) (1 + random.nextInt(NODES)));
    } else {
      check(name, files.get(name));
    }
    return "with " + name + " step " + what;
  }

  // Files.

  private byte[] some() {
    byte[] bytes = new byte[random.nextInt(100_000)];
    random.nextBytes(bytes);
    return bytes;
  }

  private FSDataOutputStream open(Path path) throws IOException {
    return hdfs.fs.create(path, true, 4096, (short) (2 + random.nextInt(2)), BLOCK);
  }

  private Path fresh() {
    return new Path(folder, "file" + random.nextInt(1 << 30));
  }

  private String create() throws IOException {
    byte[] bytes = some();
    Path path = fresh();
    try (FSDataOutputStream out = open(path)) {
      out.write(bytes);
    }
    files.put(path.toString(), bytes);
    return "create";
  }

  private void append(String name) throws IOException {
    byte[] bytes = some();
    byte[] old = files.get(name);
    byte[] all = Arrays.copyOf(old, old.length + bytes.length);
    System.arraycopy(bytes, 0, all, old.length, bytes.length);
    int half = bytes.length / 2;
    try (FSDataOutputStream out = hdfs.fs.append(new Path(name))) {
      out.write(bytes, 0, half);
      if (mode.equals("hhh-m") && random.nextBoolean()) {
        out.hsync();
      } else {
        out.hflush();
      }
      checkBegin(name, Arrays.copyOf(all, old.length + half));
      out.write(bytes, half, bytes.length - half);
    }
    files.put(name, all);
  }

  private void checkBegin(String name, byte[] wanted) throws IOException {
    byte[] seen = new byte[wanted.length];
    try (FSDataInputStream in = hdfs.fs.open(new Path(name))) {
      in.readFully(seen);
    }
    assertThat(Arrays.equals(seen, wanted)).as("begin of " + name).isTrue();
  }

  private void truncate(String name) throws Exception {
    byte[] old = files.get(name);
    int length = random.nextInt(old.length + 1);
    hdfs.truncate(new Path(name), length);
    files.put(name, Arrays.copyOf(old, length));
  }

  private String snapshot() throws IOException {
    String name = "s" + snapshots.size();
    Path root = hdfs.fs.createSnapshot(folder, name);
    snapshots.add(name);
    files.forEach((file, bytes) -> kept.put(root.toUri().getPath() + "/" + new Path(file).getName(), bytes));
    return "snapshot";
  }

  private void check(String name, byte[] wanted) throws IOException {
    assertThat(Arrays.equals(hdfs.read(new Path(name)), wanted)).as(name).isTrue();
  }

  // DataNodes.

  private final class Stopped {
    private final File ram;
    private final DataNodeProperties node;

    /** Ends a DataNode. */
    Stopped(int index) {
      nodes.writeLock().lock();
      try {
        ram = new File(hdfs.dataset(index).volumes(StorageType.RAM_DISK).get(0).getBasePath());
        node = hdfs.cluster.stopDataNode(index);
      } finally {
        nodes.writeLock().unlock();
      }
    }
  }

  private void start(List<Stopped> all) throws IOException {
    nodes.writeLock().lock();
    try {
      for (Stopped stopped : all) {
        hdfs.cluster.restartDataNode(stopped.node);
      }
      hdfs.cluster.waitActive();
    } finally {
      nodes.writeLock().unlock();
    }
  }

  /** A DataNode ends while a file is written, and comes back. */
  private String kill() throws IOException {
    byte[] bytes = some();
    int half = bytes.length / 2;
    Path path = fresh();
    Stopped stopped;
    try (FSDataOutputStream out = open(path)) {
      out.write(bytes, 0, half);
      if (mode.equals("hhh-m")) {
        out.hsync();
      } else {
        out.hflush();
      }
      stopped = new Stopped(random.nextInt(NODES));
      checkBegin(path.toString(), Arrays.copyOf(bytes, half));
      out.write(bytes, half, bytes.length - half);
    }
    start(Arrays.asList(stopped));
    files.put(path.toString(), bytes);
    return "kill";
  }

  /** DataNodes end and lose what they had in RAM. */
  private String wipe(int count) throws Exception {
    awaitReplicas();
    boolean isPersisted = !mode.equals("hhh-m") || count < NODES || !snapshots.isEmpty() || random.nextBoolean();
    List<Stopped> all = new ArrayList<>();
    Set<String> lost = new TreeSet<>();
    nodes.writeLock().lock(); // nothing is moved meanwhile
    try {
      if (isPersisted) {
        hdfs.datasets().forEach(dataset -> dataset.shadows().round());
      }
      lost.addAll(hdfs.unpersisted());
      // Of a file that is gone a replica may be left that was never finalized, and nobody misses it.
      BlockManager blocks = hdfs.cluster.getNamesystem().getBlockManager();
      lost.removeIf(name -> blocks.getStoredBlock(new Block(Block.filename2id(name))) == null);
      assertThat(isPersisted && !lost.isEmpty()).as("not persisted: %s", replicas(lost)).isFalse();
      for (int i = 0; i < count; i++) {
        all.add(new Stopped(random.nextInt(NODES - i)));
        FileUtil.fullyDeleteContents(all.get(i).ram);
      }
    } finally {
      nodes.writeLock().unlock();
    }
    start(all);
    forgetLost(lost);
    awaitReplicas();
    return "wipe of " + count + (lost.isEmpty() ? "" : ", which lost " + lost);
  }

  /** What DataNodes have of blocks. */
  private List<ReplicaInfo> replicas(Set<String> names) {
    List<ReplicaInfo> all = new ArrayList<>();
    for (TierDataset dataset : hdfs.datasets()) {
      names.forEach(name -> all.add(dataset.volumeMap.get(hdfs.pool(), Block.filename2id(name))));
    }
    return all;
  }

  /** Files that a power failure has taken blocks of cannot be read; they are deleted. */
  private void forgetLost(Set<String> lost) throws Exception {
    for (String name : new ArrayList<>(files.keySet())) {
      List<String> blocks = new ArrayList<>();
      hdfs.blocks(new Path(name)).forEach(block -> blocks.add(block.getBlock().getBlockName()));
      blocks.retainAll(lost);
      if (!blocks.isEmpty()) {
        assertThatThrownBy(() -> hdfs.read(new Path(name))).as("%s without %s", name, blocks)
            .isInstanceOf(IOException.class);
        hdfs.fs.delete(new Path(name), false);
        files.remove(name);
      }
    }
  }

  /** Waits until each block has the replicas that it should have. */
  private void awaitReplicas() throws Exception {
    BlockManager blocks = hdfs.cluster.getNamesystem().getBlockManager();
    TierCluster.awaitThat(() -> {
      hdfs.report();
      BlockManagerTestUtil.checkHeartbeat(blocks); // removes replicas on storage that is gone
      BlockManagerTestUtil.updateState(blocks);
      return blocks.getUnderReplicatedBlocksCount() == 0 && blocks.getPendingReplicationBlocksCount() == 0;
    }, () -> blocks.getUnderReplicatedBlocksCount() + " blocks have too few replicas");
  }

  /**
   * NameNode and DataNodes agree where each replica is, each has files once, and as many are on persistent storage as
   * were promised. There may be more: upstream's NameNode asks once to delete one, and the DataNode may end then.
   */
  private void agree(Path path) throws Exception {
    BlockManager blocks = hdfs.cluster.getNamesystem().getBlockManager();
    for (LocatedBlock block : hdfs.blocks(path)) {
      // Of a file that is in a snapshot, too, the larger number counts.
      int replication = blocks.getStoredBlock(block.getBlock().getLocalBlock()).getReplication();
      int promised = mode.equals("hhh-m") ? 0 : Math.max(1, replication - 1);
      Set<String> there = new TreeSet<>();
      TierCluster.awaitThat(() -> {
        hdfs.report();
        there.clear();
        int persistent = 0;
        for (TierDataset dataset : hdfs.datasets()) {
          ReplicaInfo replica = dataset.volumeMap.get(hdfs.pool(), block.getBlock().getBlockId());
          if (replica != null && replica.getBlockFile().length() == block.getBlockSize()
              && replica.getMetaFile().exists()) {
            there.add(replica.getStorageUuid());
            persistent += replica.getVolume().getStorageType() == StorageType.RAM_DISK ? 0 : 1;
          }
        }
        Set<String> known = new TreeSet<>();
        hdfs.blocks(path).stream().filter(now -> now.getBlock().getBlockId() == block.getBlock().getBlockId())
            .forEach(now -> known.addAll(Arrays.asList(now.getStorageIDs())));
        return known.equals(there) && there.size() >= replication && persistent >= promised;
      }, () -> block + ", wanted " + replication + ": " + there);
    }
  }
}

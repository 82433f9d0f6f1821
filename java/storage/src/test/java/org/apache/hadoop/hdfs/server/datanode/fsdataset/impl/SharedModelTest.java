package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Schedules by seed, against a model, in the mode HHH-L: files are written, flushed, appended to, truncated, renamed,
 * joined, kept in snapshots and given more or fewer replicas. Closed ones are there whatever DataNodes die, are taken
 * for dead, come back, lose their files or give them up for their copies, and the shared path has what is in the files
 * and nothing else in the end.
 */
class SharedModelTest {
  private static final int SCHEDULES =
      Integer.getInteger("howdah.test.schedules", Boolean.getBoolean("howdah.test.slow") ? 20 : 1);
  private static final long SEED = Long.getLong("howdah.test.seed", 11);
  private static final int STEPS = SCHEDULES > 1 ? 12 : 8;
  private static final int BLOCK = 64 << 10;
  private static final int NODES = 4;
  private static final String FOLDER = "/files/";

  private final TreeMap<String, byte[]> files = new TreeMap<>();
  /** Files in snapshots, which do not change. */
  private final TreeMap<String, byte[]> kept = new TreeMap<>();
  private final List<String> snapshots = new ArrayList<>();
  /** Joined files, which upstream's client cannot append to: it takes their length for that of a last block. */
  private final Set<String> joined = new HashSet<>();
  /** Files that were renamed since the last snapshot. Upstream truncates what an older one has of them, too. */
  private final Set<String> renamed = new HashSet<>();
  private final List<DataNodeProperties> away = new ArrayList<>();
  private TierCluster hdfs;
  private Random random;

  @Test
  void noByteOfAClosedFileIsLost() throws Exception {
    run("block", "flush");
  }

  @Test
  @EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
      disabledReason = "takes minutes: make unit-slow")
  void norIfPacketsAndSyncsGoToTheSharedPath() throws Exception {
    run("packet", "persist");
  }

  private void run(String sync, String hsync) throws Exception {
    Path shared = Files.createTempDirectory(Paths.get("/dev/shm"), "howdah-shared-test-");
    Configuration conf = TierCluster.mode("Lustre");
    conf.set("dfs.replication", "1");
    conf.set("dfs.rdma.lustre.path", shared.toString());
    conf.set("dfs.rdma.lustre.path.local", "true");
    conf.set("dfs.rdma.lustre.interval", "30");
    conf.set("dfs.rdma.lustre.member.timeout", "1000");
    conf.set("dfs.rdma.lustre.timeout", "240000");
    conf.set("dfs.rdma.lustre.sync", sync);
    conf.set("dfs.rdma.memory.hsync", hsync);
    // RAM for few blocks; what is on SSD or disk is given up for its copy at once.
    conf.set("dfs.rdma.memory.capacity", "400k");
    conf.set("dfs.rdma.lustre.local.percentage", "0.000001");
    conf.set("dfs.rdma.lustre.local.low.percentage", "0.000001");
    conf.setLong("dfs.blocksize", BLOCK);
    conf.setLong("dfs.namenode.fs-limits.min-block-size", 0);
    conf.setInt("dfs.datanode.directoryscan.interval", 1);
    try (TierCluster cluster = new TierCluster(conf, NODES, TierCluster.THREE)) {
      hdfs = cluster;
      hdfs.fs.mkdirs(path(FOLDER));
      hdfs.fs.allowSnapshot(path(FOLDER));
      for (long seed = SEED; seed < SEED + SCHEDULES; seed++) {
        schedule(seed, shared);
      }
    } finally {
      FileUtil.fullyDelete(shared.toFile());
    }
  }

  private void schedule(long seed, Path shared) throws Exception {
    random = new Random(seed);
    String step = "";
    try {
      for (int i = 0; i < STEPS; i++) {
        step = step(i);
        checkAll();
      }
      step = "end";
      comeBack();
      for (String snapshot : snapshots) {
        hdfs.fs.deleteSnapshot(path(FOLDER), snapshot);
      }
      snapshots.clear();
      kept.clear();
      joined.clear();
      for (String name : new ArrayList<>(files.keySet())) {
        delete(name);
      }
      TierCluster.awaitThat(() -> {
        hdfs.report();
        hdfs.cluster.triggerBlockReports();
        return SharedHdfs.blockFiles(shared).isEmpty();
      }, () -> SharedHdfs.blockFiles(shared));
    } catch (Exception | AssertionError e) {
      throw new AssertionError("schedule " + seed + ", " + step + " (-Dhowdah.test.seed=" + seed + ")", e);
    }
  }

  private String step(int number) throws Exception {
    int what = random.nextInt(26);
    if (files.isEmpty() || what < 6) {
      return create(number);
    } else if (what == 20 || what == 21) {
      return snapshot();
    }
    String name = (String) files.keySet().toArray()[random.nextInt(files.size())];
    if (what < 10) {
      comeBack(); // a file whose owner is away cannot be appended to
      append(name);
    } else if (what < 12) {
      comeBack();
      truncate(name);
    } else if (what < 14) {
      delete(name);
    } else if (what < 17) {
      goAway(random.nextBoolean());
    } else if (what < 20) {
      lose();
    } else if (what < 24) {
      hdfs.fs.setReplication(path(name), (short) (1 + random.nextInt(2)));
    } else if (what == 24) {
      rename(name, number);
    } else {
      join(name, number);
    }
    return name + " and " + what;
  }

  private byte[] some() {
    byte[] bytes = new byte[1 + random.nextInt(150_000)];
    random.nextBytes(bytes);
    return bytes;
  }

  private static org.apache.hadoop.fs.Path path(String name) {
    return new org.apache.hadoop.fs.Path(name);
  }

  private String create(int number) throws IOException {
    String name = FOLDER + "file" + number;
    write(name, some());
    return "create";
  }

  private void write(String name, byte[] bytes) throws IOException {
    try (FSDataOutputStream out = hdfs.fs.create(path(name), true, 4096, (short) 1, BLOCK)) {
      out.write(bytes);
    }
    files.put(name, bytes);
  }

  private String snapshot() throws IOException {
    String name = "s" + snapshots.size();
    String root = hdfs.fs.createSnapshot(path(FOLDER), name).toUri().getPath();
    snapshots.add(name);
    renamed.clear();
    files.forEach((file, bytes) -> kept.put(root + "/" + path(file).getName(), bytes));
    return "snapshot";
  }

  private void rename(String name, int number) throws IOException {
    String other = FOLDER + "renamed" + number;
    assertThat(hdfs.fs.rename(path(name), path(other))).isTrue();
    files.put(other, files.remove(name));
    if (joined.remove(name)) {
      joined.add(other);
    }
    if (renamed.remove(name) || !snapshots.isEmpty()) {
      renamed.add(other);
    }
  }

  /** Upstream joins no file that is in a snapshot, and at their replication only. */
  private void join(String name, int number) throws IOException {
    if (!snapshots.isEmpty()) {
      return;
    }
    String other = FOLDER + "joined" + number;
    write(other, some());
    hdfs.fs.setReplication(path(other), hdfs.fs.getFileStatus(path(name)).getReplication());
    hdfs.fs.concat(path(name), new org.apache.hadoop.fs.Path[] {path(other)});
    files.put(name, and(files.get(name), files.remove(other)));
    joined.add(name);
  }

  private static byte[] and(byte[] one, byte[] other) {
    byte[] all = Arrays.copyOf(one, one.length + other.length);
    System.arraycopy(other, 0, all, one.length, other.length);
    return all;
  }

  private void append(String name) throws IOException {
    if (joined.contains(name)) {
      return;
    }
    byte[] more = some();
    byte[] all = and(files.get(name), more);
    int half = more.length / 2;
    try (FSDataOutputStream out = hdfs.fs.append(path(name))) {
      out.write(more, 0, half);
      if (random.nextBoolean()) {
        out.hsync();
      } else {
        out.hflush();
      }
      byte[] seen = new byte[all.length - more.length + half];
      try (FSDataInputStream in = hdfs.fs.open(path(name))) {
        in.readFully(seen);
      }
      assertThat(Arrays.equals(seen, Arrays.copyOf(all, seen.length))).as("begin of " + name).isTrue();
      out.write(more, half, more.length - half);
    }
    files.put(name, all);
  }

  private void truncate(String name) throws Exception {
    if (renamed.contains(name)) {
      return;
    }
    byte[] old = files.get(name);
    int length = random.nextInt(old.length + 1);
    hdfs.truncate(path(name), length);
    files.put(name, Arrays.copyOf(old, length));
    // What a truncation leaves is copied in the next round, and is on its node alone until then.
    for (TierDataset dataset : hdfs.datasets()) {
      TierCluster.awaitThat(() -> dataset.shared().unprotected(hdfs.pool()).isEmpty(),
          () -> dataset.shared().unprotected(hdfs.pool()));
    }
  }

  private void delete(String name) throws IOException {
    hdfs.fs.delete(path(name), false);
    files.remove(name);
    joined.remove(name);
    renamed.remove(name);
  }

  /** A DataNode ends; the NameNode may take it for dead. Another one is still there and serves what it had. */
  private void goAway(boolean isDead) throws Exception {
    comeBack();
    awaitKept();
    DatanodeID id = hdfs.cluster.getDataNodes().get(random.nextInt(NODES)).getDatanodeId();
    away.add(hdfs.cluster.stopDataNode(id.getXferAddr()));
    if (isDead) {
      hdfs.cluster.setDataNodeDead(id);
    }
  }

  private void comeBack() throws Exception {
    for (DataNodeProperties node : away) {
      hdfs.cluster.restartDataNode(node);
    }
    away.clear();
    hdfs.cluster.waitActive();
    // Appending to a block needs its owner's report.
    hdfs.cluster.triggerBlockReports();
    for (String name : all().keySet()) {
      TierCluster.awaitThat(() -> {
        hdfs.report();
        return hdfs.blocks(path(name)).stream().allMatch(block -> hasOwner(block.getBlock().getBlockId()));
      }, () -> name);
    }
  }

  private boolean hasOwner(long id) {
    return hdfs.datasets().stream().anyMatch(dataset -> {
      return dataset.volumeMap.get(hdfs.pool(), id) != null && dataset.shared().has(hdfs.pool(), id);
    });
  }

  /** Each block is served by another DataNode than its owner. */
  private void awaitKept() throws Exception {
    for (String name : all().keySet()) {
      TierCluster.awaitThat(() -> {
        hdfs.report();
        return hdfs.blocks(path(name)).stream().allMatch(block -> block.getLocations().length >= 2);
      }, () -> name);
    }
  }

  /** A DataNode loses what it had in some of its folders. Without any it would be another DataNode. */
  private void lose() throws Exception {
    comeBack();
    TierDataset dataset = hdfs.dataset(random.nextInt(NODES));
    List<File> folders = new ArrayList<>();
    folders.add(new File(dataset.volumes(StorageType.RAM_DISK).get(0).getBasePath()));
    if (random.nextBoolean()) {
      folders.add(new File(dataset.volumes(StorageType.SSD).get(0).getBasePath()));
    }
    DataNodeProperties stopped = hdfs.cluster.stopDataNode(dataset.datanode.getDatanodeId().getXferAddr());
    folders.forEach(FileUtil::fullyDeleteContents);
    hdfs.cluster.restartDataNode(stopped);
    hdfs.cluster.waitActive();
    DataNodeTestUtils.triggerBlockReport(hdfs.cluster.getDataNodes().get(NODES - 1));
  }

  private TreeMap<String, byte[]> all() {
    TreeMap<String, byte[]> all = new TreeMap<>(files);
    all.putAll(kept);
    return all;
  }

  private void checkAll() throws Exception {
    TreeMap<String, byte[]> all = all();
    for (String name : all.keySet()) {
      TierCluster.awaitThat(() -> {
        try {
          return Arrays.equals(hdfs.read(path(name)), all.get(name));
        } catch (IOException e) {
          return false; // a DataNode that has come back has not yet told what it has
        }
      }, () -> hdfs.blocks(path(name)));
    }
  }
}

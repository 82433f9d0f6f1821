package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.server.datanode.DataNodeTestUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Schedules by seed, against a model, in the mode HHH-L: closed files are there whatever DataNodes die, are taken for
 * dead, come back, lose their files or give them up for their copies, and the shared path has what is in the files and
 * nothing else in the end.
 */
class SharedModelTest {
  private static final int SCHEDULES =
      Integer.getInteger("howdah.test.schedules", Boolean.getBoolean("howdah.test.slow") ? 20 : 1);
  private static final long SEED = Long.getLong("howdah.test.seed", 11);
  private static final int STEPS = SCHEDULES > 1 ? 12 : 8;
  private static final int BLOCK = 64 << 10;
  private static final int NODES = 4;

  private final TreeMap<String, byte[]> files = new TreeMap<>();
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
    int what = random.nextInt(20);
    if (files.isEmpty() || what < 6) {
      return create(number);
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
    } else {
      lose();
    }
    return name + " and " + what;
  }

  private byte[] some() {
    byte[] bytes = new byte[1 + random.nextInt(150_000)];
    random.nextBytes(bytes);
    return bytes;
  }

  private String create(int number) throws IOException {
    String name = "/file" + number;
    byte[] bytes = some();
    try (FSDataOutputStream out = hdfs.fs.create(new org.apache.hadoop.fs.Path(name), true, 4096, (short) 1, BLOCK)) {
      out.write(bytes);
    }
    files.put(name, bytes);
    return "create";
  }

  private void append(String name) throws IOException {
    byte[] more = some();
    byte[] old = files.get(name);
    byte[] all = Arrays.copyOf(old, old.length + more.length);
    System.arraycopy(more, 0, all, old.length, more.length);
    try (FSDataOutputStream out = hdfs.fs.append(new org.apache.hadoop.fs.Path(name))) {
      out.write(more, 0, more.length / 2);
      out.hsync();
      out.write(more, more.length / 2, more.length - more.length / 2);
    }
    files.put(name, all);
  }

  private void truncate(String name) throws Exception {
    byte[] old = files.get(name);
    int length = random.nextInt(old.length + 1);
    hdfs.truncate(new org.apache.hadoop.fs.Path(name), length);
    files.put(name, Arrays.copyOf(old, length));
    // What a truncation leaves is copied in the next round, and is on its node alone until then.
    for (TierDataset dataset : hdfs.datasets()) {
      TierCluster.awaitThat(() -> dataset.shared().unprotected(hdfs.pool()).isEmpty(),
          () -> dataset.shared().unprotected(hdfs.pool()));
    }
  }

  private void delete(String name) throws IOException {
    hdfs.fs.delete(new org.apache.hadoop.fs.Path(name), false);
    files.remove(name);
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
    for (String name : files.keySet()) {
      TierCluster.awaitThat(() -> {
        hdfs.report();
        return hdfs.blocks(new org.apache.hadoop.fs.Path(name)).stream().allMatch(block -> hasOwner(block.getBlock()
            .getBlockId()));
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
    for (String name : files.keySet()) {
      TierCluster.awaitThat(() -> {
        hdfs.report();
        return hdfs.blocks(new org.apache.hadoop.fs.Path(name)).stream().allMatch(block ->
            block.getLocations().length >= 2);
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

  private void checkAll() throws Exception {
    for (String name : files.keySet()) {
      TierCluster.awaitThat(() -> {
        try {
          return Arrays.equals(hdfs.read(new org.apache.hadoop.fs.Path(name)), files.get(name));
        } catch (IOException e) {
          return false; // a DataNode that has come back has not yet told what it has
        }
      }, () -> hdfs.blocks(new org.apache.hadoop.fs.Path(name)));
    }
  }
}

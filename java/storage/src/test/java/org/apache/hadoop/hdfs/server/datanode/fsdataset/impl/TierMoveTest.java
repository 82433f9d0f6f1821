package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.storage.Reason;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.junit.jupiter.api.Test;

/** Files that are written, flushed, appended to, truncated, joined and read while replicas are moved without rest. */
class TierMoveTest {
  private static final int STEPS =
      Integer.getInteger("howdah.test.steps", Boolean.getBoolean("howdah.test.slow") ? 60 : 20);
  private static final long SEED = Long.getLong("howdah.test.seed", 7);

  private final Random random = new Random(SEED);
  private final TreeMap<String, byte[]> model = new TreeMap<>();
  private TierCluster hdfs;

  /** Moves any replica anywhere, and copies any to RAM, until it is told to end. */
  private final class Restless extends Thread {
    private final Random choice = new Random(SEED + 1);
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final AtomicLong moves = new AtomicLong();
    private volatile boolean isDone;

    @Override
    public void run() {
      try {
        while (!isDone) {
          for (TierDataset dataset : hdfs.datasets()) {
            for (TierVolume from : dataset.volumes(null)) {
              for (FinalizedReplica replica : dataset.finalizedIn(hdfs.pool(), from)) {
                disturb(dataset, replica);
              }
            }
            dataset.copies().prune();
          }
        }
      } catch (Throwable e) {
        failure.set(e);
      }
    }

    private void disturb(TierDataset dataset, FinalizedReplica replica) throws IOException {
      List<TierVolume> all = dataset.volumes(null);
      boolean isMoved = choice.nextInt(4) == 0
          ? dataset.copyToRam(hdfs.pool(), replica, dataset.volumes(StorageType.RAM_DISK).get(0), null)
          : dataset.move(hdfs.pool(), replica, all.get(choice.nextInt(all.size())), Reason.COMMAND, null);
      moves.addAndGet(isMoved ? 1 : 0);
    }
  }

  @Test
  void noByteIsLost() throws Exception {
    Configuration conf = TierCluster.hhh();
    conf.setInt("dfs.replication", 2);
    conf.setLong("dfs.blocksize", 64 << 10);
    conf.setLong("dfs.namenode.fs-limits.min-block-size", 0);
    conf.setInt("dfs.datanode.directoryscan.interval", 1);
    try (TierCluster cluster = new TierCluster(conf, 2, TierCluster.THREE)) {
      hdfs = cluster;
      Restless restless = new Restless();
      restless.start();
      try {
        for (int step = 0; step < STEPS; step++) {
          step();
        }
        TierCluster.awaitThat(() -> restless.moves.get() > STEPS / 10 || restless.failure.get() != null,
            restless.moves::get);
      } finally {
        restless.isDone = true;
        restless.join();
      }
      assertThat(restless.failure.get()).isNull();
      for (String name : model.keySet()) {
        check(name);
        agree(new Path(name));
      }
    }
  }

  private void step() throws Exception {
    int what = random.nextInt(12);
    if (model.size() < 4 || what == 0) {
      create();
      return;
    }
    String name = (String) model.keySet().toArray()[random.nextInt(model.size())];
    if (what < 4) {
      append(name);
    } else if (what == 4) {
      truncate(name);
    } else if (what == 5 && model.size() > 8) {
      hdfs.fs.delete(new Path(name), false);
      model.remove(name);
    } else if (what == 6) {
      hdfs.fs.setReplication(new Path(name), (short) (1 + random.nextInt(2)));
    } else if (what == 7) {
      rename(name);
    } else if (what == 8) {
      concat(name);
    } else {
      check(name);
    }
  }

  private byte[] some() {
    byte[] bytes = new byte[random.nextInt(100_000)];
    random.nextBytes(bytes);
    return bytes;
  }

  private void create() throws IOException {
    String name = "/file" + random.nextInt(1 << 30);
    byte[] bytes = some();
    try (FSDataOutputStream out = hdfs.fs.create(new Path(name), true, 4096, (short) 2, 64 << 10)) {
      out.write(bytes);
    }
    model.put(name, bytes);
  }

  private void append(String name) throws Exception {
    byte[] bytes = some();
    byte[] old = model.get(name);
    byte[] all = Arrays.copyOf(old, old.length + bytes.length);
    System.arraycopy(bytes, 0, all, old.length, bytes.length);
    try (FSDataOutputStream out = hdfs.fs.append(new Path(name))) {
      int half = bytes.length / 2;
      out.write(bytes, 0, half);
      out.hflush();
      byte[] seen = new byte[old.length + half];
      try (org.apache.hadoop.fs.FSDataInputStream in = hdfs.fs.open(new Path(name))) {
        in.readFully(seen);
      }
      assertThat(Arrays.equals(seen, Arrays.copyOf(all, seen.length))).as(name).isTrue();
      out.write(bytes, half, bytes.length - half);
    }
    model.put(name, all);
  }

  private void truncate(String name) throws Exception {
    byte[] old = model.get(name);
    int length = random.nextInt(old.length + 1);
    hdfs.truncate(new Path(name), length);
    model.put(name, Arrays.copyOf(old, length));
  }

  private void rename(String name) throws IOException {
    String other = "/renamed" + random.nextInt(1 << 30);
    assertThat(hdfs.fs.rename(new Path(name), new Path(other))).isTrue();
    model.put(other, model.remove(name));
  }

  /** Puts the blocks of another file behind those of this one. Upstream wants blocks, and as many replicas of them. */
  private void concat(String name) throws IOException {
    String other = model.keySet().stream().filter(each -> !each.equals(name) && model.get(each).length > 0).findFirst()
        .orElse(name);
    byte[] begin = model.get(name);
    if (begin.length == 0 || other.equals(name)) {
      return;
    }
    hdfs.fs.setReplication(new Path(name), (short) 2);
    hdfs.fs.setReplication(new Path(other), (short) 2);
    hdfs.fs.concat(new Path(name), new Path[] {new Path(other)});
    byte[] end = model.remove(other);
    byte[] all = Arrays.copyOf(begin, begin.length + end.length);
    System.arraycopy(end, 0, all, begin.length, end.length);
    model.put(name, all);
  }

  private void check(String name) throws IOException {
    assertThat(Arrays.equals(hdfs.read(new Path(name)), model.get(name))).as(name).isTrue();
  }

  /** NameNode and DataNodes agree where each replica is, and each has files once. */
  private void agree(Path path) throws Exception {
    for (LocatedBlock block : hdfs.blocks(path)) {
      Set<String> there = new java.util.TreeSet<>();
      TierCluster.awaitThat(() -> {
        hdfs.report();
        there.clear();
        for (TierDataset dataset : hdfs.datasets()) {
          ReplicaInfo replica = dataset.volumeMap.get(hdfs.pool(), block.getBlock().getBlockId());
          // One that a pipeline has left behind is deleted a little later.
          if (replica != null && replica.getBlockFile().length() == block.getBlockSize()
              && replica.getMetaFile().exists()) {
            there.add(replica.getStorageUuid());
          }
        }
        Set<String> known = new java.util.TreeSet<>();
        hdfs.blocks(path).stream().filter(now -> now.getBlock().getBlockId() == block.getBlock().getBlockId())
            .forEach(now -> known.addAll(Arrays.asList(now.getStorageIDs())));
        return known.equals(there);
      }, () -> block + ": " + there);
    }
  }
}

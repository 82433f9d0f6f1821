package org.apache.hadoop.hdfs.net;

import static org.apache.hadoop.hdfs.net.RdmaTestCluster.bytes;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.forced;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.read;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.upgrade.Options;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.blockmanagement.BlockManagerTestUtil;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.test.GenericTestUtils;
import org.apache.hadoop.util.Time;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * DataNodes, each a process, are killed and suspended, find their disk full and lose their links at random moments of
 * writes and reads. The seed that it prints makes the same choices again (-Dhowdah.test.seed, with more
 * -Dhowdah.test.rounds to look longer).
 */
@Timeout(1800)
class RdmaFaultTest {
  private static final int MB = 1 << 20;
  private static final int NODES = 4;
  private static final short REPLICAS = 3;
  /** Milliseconds of silence that nothing here lasts for. */
  private static final int PATIENT = 60_000;

  /** What happens to a DataNode. */
  private enum Fault {
    KILLED,
    /** For less than any timeout. */
    PAUSED,
    /**
     * For longer than the writers' timeouts. Writers go on with the DataNodes that are left, where no other is to be
     * had ("best-effort"): while DataStreamer waits for the acknowledgements before the end of a block it sends no
     * heartbeats, so the first DataNode takes it for gone before that learns that the second one is silent. The first
     * one is replaced, by a copy that the silent one is asked for; and the node that should have got the copy is
     * excluded, too. With four DataNodes there is no other then, and stock HDFS's writers give up.
     */
    SUSPENDED,
    /** Its disk is full. */
    FULL,
    /** Nothing but what its engine was configured to lose. */
    NONE
  }

  private final Random random = new Random();
  private final List<RdmaNodeProcess> nodes = new ArrayList<>();
  private final List<SmallDisk> disks = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final AtomicInteger readers = new AtomicInteger();
  private final AtomicInteger refused = new AtomicInteger();
  private final AtomicInteger failed = new AtomicInteger();
  private final AtomicInteger completed = new AtomicInteger();
  /** Milliseconds that a peer may say nothing. */
  private int silence = 5000;
  /** Whether a writer may be told that it can't go on; else that is a failure of the test. */
  private volatile boolean mayFail;
  private RdmaTestCluster hdfs;

  @BeforeEach
  void start() throws Exception {
    long seed = Long.getLong("howdah.test.seed", System.nanoTime());
    System.out.println("-Dhowdah.test.seed=" + seed);
    random.setSeed(seed);
    hdfs = RdmaTestCluster.of(0, site());
    FileUtil.fullyDelete(new File(System.getProperty("test.build.data"), "nodes"));
  }

  private static Path folder(int node) {
    return new Path(System.getProperty("test.build.data"), "nodes/node-" + node);
  }

  private void startNodes(String... settings) throws Exception {
    Configuration conf = site();
    conf.set("fs.defaultFS", hdfs.cluster.getURI().toString());
    for (int i = 0; i < settings.length; i += 2) {
      conf.set(settings[i], settings[i + 1]);
    }
    for (int i = 0; i < NODES; i++) {
      nodes.add(new RdmaNodeProcess(Paths.get(folder(i).toString()), conf));
    }
    awaitNodes();
  }

  private void stopNodes() throws InterruptedException {
    for (RdmaNodeProcess node : nodes) {
      node.destroy();
    }
    nodes.clear();
  }

  @AfterEach
  void stop() throws Exception {
    threads.shutdownNow();
    stopNodes();
    for (SmallDisk disk : disks) {
      disk.close();
    }
    hdfs.close();
  }

  /** Every timeout that decides how long a DataNode may be silent is seconds, so that it is met. */
  private Configuration site() {
    Configuration conf = forced();
    conf.setInt("dfs.client.socket-timeout", silence);
    // A pipeline waits so long for its first DataNode when that takes nothing: as it is, 8 minutes.
    conf.setInt("dfs.datanode.socket.write.timeout", silence);
    conf.setInt("dfs.heartbeat.interval", 1);
    conf.setInt("dfs.namenode.heartbeat.recheck-interval", 1000);
    conf.setInt("dfs.namenode.replication.pending.timeout-sec", 5);
    conf.setInt("dfs.client.retry.window.base", 200);
    return conf;
  }

  private Configuration client(boolean parallel) {
    Configuration conf = site();
    conf.setBoolean("dfs.replication.parallel.enabled", parallel);
    return conf;
  }

  private Configuration patient(boolean parallel) {
    Configuration conf = client(parallel);
    conf.setBoolean("dfs.client.block.write.replace-datanode-on-failure.best-effort", true);
    return conf;
  }

  /**
   * Nobody waits for a silence to end here: links to a killed DataNode break at once. So no writer has a reason to give
   * up, however slow the machine is.
   */
  @Test
  void noAcknowledgedByteIsLost() throws Exception {
    silence = PATIENT;
    startNodes();
    rounds(2, Fault.KILLED, Fault.PAUSED);
    assertThat(hdfs.fallbacks()).isZero();
  }

  @Test
  @EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
      disabledReason = "takes a minute: make unit-slow")
  void noAcknowledgedByteOfStagesIsLost() throws Exception {
    mayFail = true;
    startNodes(Options.HDFS_STAGES.key(), "true");
    rounds(3, Fault.KILLED, Fault.PAUSED, Fault.SUSPENDED);
    assertThat(hdfs.fallbacks()).isZero();
  }

  @Test
  void aFullDiskLosesNothing() throws Exception {
    for (int i = 0; i < NODES; i++) {
      disks.add(SmallDisk.at(Paths.get(folder(i).toString(), "data"), 128));
    }
    startNodes();
    rounds(2, Fault.FULL);
    assertThat(nodes.stream().mapToLong(node -> node.logged("No space left on device|Out of space")).sum())
        .as("writes that found no room").isPositive();
    assertThat(hdfs.fallbacks()).isZero();
  }

  /** Who loses too many DataNodes of a block may give up; what was acknowledged before is there all the same. */
  @Test
  void lostLinksLoseNothing() throws Exception {
    silence = PATIENT;
    mayFail = true;
    startNodes("hadoop.rdma.fault.drop.rate", "0.0005", "hadoop.rdma.fault.seed", "" + random.nextInt(1_000_000));
    rounds(4, Fault.NONE);
    assertThat(nodes.stream().mapToLong(node -> node.logged("injected: link dropped")).sum())
        .as("links that were dropped").isPositive();
  }

  /**
   * A client that waits for one DataNode to take something goes on telling the others that it is there. It waits longer
   * than these may be left without a word. A machine that stands still for as long loses them, too, so what is lost is
   * lost only if it is so with more patience: a client that says nothing loses them with any. Then writers and readers
   * meet a silent one at any time; here a machine so slow makes writers give up, but loses nothing.
   */
  @Test
  void aSilentReplicaIsTheOnlyOneLost() throws Exception {
    int[] patience = {silence, 4 * silence, 12 * silence};
    String lost = null;
    for (int i = 0; i == 0 || i < patience.length && lost != null; i++) {
      stopNodes();
      silence = patience[i];
      startNodes();
      lost = lostBesideASilentReplica(new Path("/silent-" + i));
    }
    assertThat(lost).as("what other DataNodes lost").isNull();
    assertThat(RdmaMetrics.get().clientParallelBlocks().value()).isPositive();
    mayFail = true;
    rounds(1, Fault.SUSPENDED);
    assertThat(hdfs.fallbacks()).isZero();
  }

  /** Writes a file while a DataNode says nothing; returns what another one, or the writer, said to that; or null. */
  private String lostBesideASilentReplica(Path path) throws Exception {
    byte[] expected = bytes(32 * MB);
    try (DistributedFileSystem fs = hdfs.client(client(true))) {
      RdmaNodeProcess victim = null;
      long before = 0;
      FSDataOutputStream out = fs.create(path, true, 4096, REPLICAS, 64L * MB);
      try {
        out.write(expected, 0, MB);
        out.hflush();
        victim = nodes.stream().filter(RdmaNodeProcess::isWriting).findFirst().get();
        before = impatient(victim);
        victim.suspend();
        out.write(expected, MB, expected.length - MB);
        out.close();
      } catch (IOException e) {
        return e.toString();
      } finally {
        if (victim != null) {
          victim.resume();
        }
        IOUtils.closeStream(out);
      }
      long others = impatient(victim) - before;
      assertThat(read(fs, path, expected.length)).isEqualTo(expected);
      return others == 0 ? null : others + " lost patience";
    }
  }

  /** How often DataNodes but one have waited in vain, as their logs have it. */
  private long impatient(RdmaNodeProcess but) {
    return nodes.stream().filter(node -> node != but).mapToLong(node -> node.logged("millis timeout")).sum();
  }

  /** So many rounds, with these faults in turn. */
  private void rounds(int count, Fault... kinds) throws Exception {
    try (DistributedFileSystem pipeline = hdfs.client(client(false));
        DistributedFileSystem parallel = hdfs.client(client(true));
        DistributedFileSystem patient = hdfs.client(patient(false));
        DistributedFileSystem patientParallel = hdfs.client(patient(true))) {
      Written old = new Written(pipeline, 5 * MB + 77, random.nextLong());
      old.write();
      settle(pipeline, old);
      List<Fault> faults = Arrays.asList(kinds);
      for (int round = 0; round < Integer.getInteger("howdah.test.rounds", count); round++) {
        if (round % faults.size() == 0) {
          Collections.shuffle(faults, random);
        }
        Fault fault = faults.get(round % faults.size());
        if (fault == Fault.SUSPENDED) {
          round(fault, old, patient, patientParallel);
        } else {
          round(fault, old, pipeline, parallel);
        }
      }
      assertThat(RdmaMetrics.get().clientParallelBlocks().value()).isPositive();
    }
    System.out.println(completed + " writers completed, " + failed + " gave up");
    assertThat(completed).hasPositiveValue();
    assertThat(readers).as("%s readers got an error", refused).hasPositiveValue();
    assertThat(hdfs.connections()).isPositive();
  }

  /** Each writes a file, others read, and a DataNode has its fault meanwhile. */
  private void round(Fault fault, Written old, DistributedFileSystem... clients) throws Exception {
    AtomicBoolean written = new AtomicBoolean();
    List<Written> files = new ArrayList<>();
    List<Future<?>> writers = new ArrayList<>();
    List<Future<?>> others = new ArrayList<>();
    for (DistributedFileSystem fs : clients) {
      Written file = new Written(fs, 3 * MB + random.nextInt(3 * MB), random.nextLong());
      files.add(file);
      writers.add(threads.submit(file::write));
      others.add(threads.submit(() -> readUntil(written, fs, file)));
    }
    others.add(threads.submit(() -> readUntil(written, clients[0], old)));
    int victim = random.nextInt(NODES);
    Thread.sleep(random.nextInt(1500));
    System.out.println(nodes.get(victim) + " is " + fault);
    begin(fault, victim);
    await(writers);
    end(fault, victim);
    written.set(true);
    await(others);
    for (Written file : files) {
      settle(clients[0], file);
    }
    awaitHealth(clients[0], files);
    for (Written file : files) {
      int length = (int) clients[0].getFileStatus(file.path).getLen();
      assertThat(length).isBetween(file.acknowledged, file.expected.length);
      assertThat(read(clients[0], file.path, length)).isEqualTo(Arrays.copyOf(file.expected, length));
      clients[0].delete(file.path, false); // or a small disk is full for good after some rounds
    }
  }

  /** Who gave up leaves a file that the NameNode has to close. */
  private void settle(DistributedFileSystem fs, Written file) throws Exception {
    (file.gaveUp ? failed : completed).incrementAndGet();
    if (file.gaveUp) {
      GenericTestUtils.waitFor(() -> {
        try {
          return fs.recoverLease(file.path);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }, 1000, 180_000);
    }
  }

  private void begin(Fault fault, int node) throws Exception {
    RdmaNodeProcess victim = nodes.get(node);
    switch (fault) {
      case KILLED:
        victim.kill();
        break;
      case PAUSED:
        victim.suspend();
        Thread.sleep(200 + random.nextInt(1000));
        victim.resume();
        break;
      case SUSPENDED:
        victim.suspend();
        break;
      case FULL:
        disks.get(node).fill();
        break;
      default: // its engine sees to it
    }
  }

  private void end(Fault fault, int node) throws Exception {
    if (fault == Fault.KILLED) {
      nodes.get(node).start();
    } else if (fault == Fault.SUSPENDED) {
      nodes.get(node).resume();
    } else if (fault == Fault.FULL) {
      disks.get(node).empty();
    }
  }

  private static void await(List<Future<?>> work) throws Exception {
    for (Future<?> each : work) {
      each.get(300, TimeUnit.SECONDS);
    }
  }

  /** A file, of which so much was acknowledged. */
  private final class Written {
    final Path path;
    final byte[] expected;
    private final FileSystem fs;
    private final Random pieces;
    volatile int acknowledged;
    private boolean gaveUp;

    Written(FileSystem fs, int size, long seed) {
      this.path = new Path("/fault-" + Long.toHexString(seed));
      this.expected = bytes(size);
      this.fs = fs;
      this.pieces = new Random(seed);
    }

    /** In pieces, so that it takes a while; three seconds or so. */
    Void write() throws Exception {
      FSDataOutputStream out = null;
      try {
        out = fs.create(path, true, 4096, REPLICAS, RdmaTestCluster.BLOCK);
        for (int at = 0; at < expected.length;) {
          int n = Math.min(expected.length - at, 1 + pieces.nextInt(100_000));
          out.write(expected, at, n);
          at += n;
          if (pieces.nextInt(4) == 0) {
            out.hflush();
            acknowledged = at;
          }
          Thread.sleep(pieces.nextInt(60));
        }
        out.close(); // not by try(): it throws what write() threw, which can't suppress itself
      } catch (IOException e) {
        IOUtils.closeStream(out);
        if (!mayFail) {
          throw e;
        }
        System.out.println(path + " was given up: " + e);
        gaveUp = true;
        return null;
      }
      acknowledged = expected.length;
      return null;
    }
  }

  /** A reader gets the bytes that were acknowledged before it began, or an error. */
  private Void readUntil(AtomicBoolean written, FileSystem fs, Written file) throws Exception {
    while (!written.get()) {
      int known = file.acknowledged;
      byte[] got = new byte[known];
      if (known > 0) {
        try (FSDataInputStream in = fs.open(file.path)) {
          in.readFully(0, got);
          readers.incrementAndGet();
        } catch (IOException e) {
          refused.incrementAndGet();
          got = null;
        }
        if (got != null) {
          assertThat(got).isEqualTo(Arrays.copyOf(file.expected, known));
        }
      }
      Thread.sleep(50);
    }
    return null;
  }

  /** All DataNodes have something to say to the NameNode from now on. */
  private void awaitNodes() throws Exception {
    long start = Time.monotonicNow();
    GenericTestUtils.waitFor(() -> {
      for (RdmaNodeProcess node : nodes) {
        assertThat(node.isAlive()).as("%s: see its log below %s", node, System.getProperty("test.build.data")).isTrue();
      }
      return hdfs.cluster.getNamesystem().getBlockManager().getDatanodeManager()
          .getDatanodeListForReport(DatanodeReportType.LIVE).stream()
          .filter(node -> node.getLastUpdateMonotonic() > start).count() == NODES;
    }, 100, 180_000);
  }

  /**
   * All DataNodes are there; in the end each block is as often as it is to be, or more, and not corrupt. The NameNode's
   * counts alone do not say so: a replica whose copying timed out is in none of them for some seconds, and one that
   * fell behind stays among the corrupt ones when its block has all of the others.
   */
  private void awaitHealth(DistributedFileSystem fs, List<Written> files) throws Exception {
    awaitNodes();
    GenericTestUtils.waitFor(() -> {
      BlockManagerTestUtil.updateState(hdfs.cluster.getNamesystem().getBlockManager());
      return hdfs.cluster.getNamesystem().getUnderReplicatedBlocks() == 0
          && hdfs.cluster.getNamesystem().getPendingReplicationBlocks() == 0
          && hdfs.cluster.getNamesystem().getMissingBlocksCount() == 0 && blocks(fs, files).stream()
              .allMatch(block -> block.getLocations().length >= REPLICAS);
    }, 200, 180_000);
    assertThat(blocks(fs, files)).noneMatch(LocatedBlock::isCorrupt);
  }

  private static List<LocatedBlock> blocks(DistributedFileSystem fs, List<Written> files) {
    List<LocatedBlock> blocks = new ArrayList<>();
    try {
      for (Written file : files) {
        blocks.addAll(fs.getClient().getLocatedBlocks(file.path.toString(), 0, Long.MAX_VALUE).getLocatedBlocks());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return blocks;
  }
}

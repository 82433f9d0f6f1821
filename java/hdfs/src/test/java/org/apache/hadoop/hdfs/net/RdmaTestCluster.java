package org.apache.hadoop.hdfs.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.upgrade.Options;
import io.howdah.upgrade.PeerCache;
import io.howdah.upgrade.Traffic;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A whole HDFS in this process, and what the counters say since it was made. */
final class RdmaTestCluster implements AutoCloseable {
  static final int BLOCK = 1 << 20;
  static final String ENABLED = "dfs.rdma.enabled";

  final MiniDFSCluster cluster;
  private final long connections = RdmaMetrics.get().clientConnections().value();
  private final long fallbacks = RdmaMetrics.get().clientFallbacks().value();
  private final long streams = RdmaMetrics.get().serverConnections().value();
  private final long sockets = RdmaMetrics.get().serverSockets().value();
  private final long inPlace = RdmaMetrics.get().serverPacketsInPlace().value();
  private final long sent = RdmaMetrics.get().bytesSent().value();
  private final long received = RdmaMetrics.get().bytesReceived().value();

  /** With a DataNode for each configuration. */
  RdmaTestCluster(Configuration conf, Configuration... dataNodes) throws IOException {
    PeerCache.ofThisProcess().clear();
    Configuration base = new Configuration(conf);
    base.unset(ENABLED); // what is set there hides what a DataNode's own configuration has
    cluster = new MiniDFSCluster.Builder(base).numDataNodes(dataNodes.length).dataNodeConfOverlays(dataNodes).build();
    cluster.waitActive();
  }

  static RdmaTestCluster of(int dataNodes, Configuration conf) throws IOException {
    Configuration[] overlays = new Configuration[dataNodes];
    java.util.Arrays.setAll(overlays, i -> conf);
    return new RdmaTestCluster(conf, overlays);
  }

  /** A client of its own. */
  DistributedFileSystem client(Configuration conf) throws IOException {
    return (DistributedFileSystem) FileSystem.newInstance(cluster.getURI(), conf);
  }

  @Override
  public void close() {
    cluster.shutdown();
  }

  // Counters.

  long connections() {
    return RdmaMetrics.get().clientConnections().value() - connections;
  }

  long fallbacks() {
    return RdmaMetrics.get().clientFallbacks().value() - fallbacks;
  }

  long streams() {
    return RdmaMetrics.get().serverConnections().value() - streams;
  }

  long sockets() {
    return RdmaMetrics.get().serverSockets().value() - sockets;
  }

  long packetsInPlace() {
    return RdmaMetrics.get().serverPacketsInPlace().value() - inPlace;
  }

  long sent() {
    return RdmaMetrics.get().bytesSent().value() - sent;
  }

  long received() {
    return RdmaMetrics.get().bytesReceived().value() - received;
  }

  /** Of all DataNodes of the process, by kind and what is counted: "hdfs.write", "calls". */
  static long served(String kind, String what) {
    return Traffic.counts().entrySet().stream()
        .filter(count -> count.getKey().startsWith(kind + ".") && count.getKey().endsWith("." + what))
        .mapToLong(Map.Entry::getValue).sum();
  }

  void assertOverTheEngineOnly() {
    assertThat(connections()).isPositive();
    assertThat(streams()).isPositive();
    assertThat(fallbacks()).isZero();
    assertThat(sockets()).isZero();
  }

  // Files.

  static byte[] bytes(int size) {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    return bytes;
  }

  static Path write(FileSystem fs, int size, int replication) throws IOException {
    Path path = new Path("/file-" + size + "-" + System.nanoTime());
    try (FSDataOutputStream out = fs.create(path, true, 4096, (short) replication, BLOCK)) {
      out.write(bytes(size));
    }
    return path;
  }

  static byte[] read(FileSystem fs, Path path, int size) throws IOException {
    byte[] bytes = new byte[size];
    try (FSDataInputStream in = fs.open(path)) {
      in.readFully(bytes);
      assertThat(in.read()).isEqualTo(-1);
    }
    return bytes;
  }

  static byte[] readDirect(FileSystem fs, Path path, int size) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocateDirect(size + 1);
    try (FSDataInputStream in = fs.open(path)) {
      while (in.read(bytes) > 0) {
        assertThat(bytes.position()).isLessThanOrEqualTo(size);
      }
    }
    bytes.flip();
    byte[] copy = new byte[bytes.remaining()];
    bytes.get(copy);
    return copy;
  }

  // Configurations.

  /** Over shared memory, or not at all. */
  static Configuration forced() {
    Configuration conf = on();
    conf.set("hadoop.rdma.transport", "shm");
    return conf;
  }

  /** Forced, and DataNodes have stages. */
  static Configuration staged() {
    Configuration conf = forced();
    conf.setBoolean(Options.HDFS_STAGES.key(), true);
    return conf;
  }

  /** Over shared memory if the other end can. */
  static Configuration on() {
    Configuration conf = off();
    conf.setBoolean(ENABLED, true);
    return conf;
  }

  /** As stock Hadoop, with small blocks. */
  static Configuration off() {
    Configuration conf = new Configuration();
    conf.setBoolean(ENABLED, false);
    conf.setLong("dfs.blocksize", BLOCK);
    conf.setInt("dfs.client.block.write.locateFollowingBlock.initial.delay.ms", 50);
    conf.setInt("dfs.namenode.replication.interval", 1);
    return conf;
  }
}

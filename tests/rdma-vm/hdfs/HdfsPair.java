package org.apache.hadoop.hdfs.net;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/**
 * One end of a small run of HDFS with block data forced over the engine; in our package because the counters are there.
 * <pre>
 * HdfsPair server TRANSPORT HOST FILE   a NameNode and two DataNodes, the NameNode's port in FILE, until its standard
 *                                       input ends; then prints counters
 * HdfsPair client TRANSPORT HOST FILE   writes, flushes, appends and reads, compares all bytes, prints counters
 * </pre>
 * Exit status 0 only if every byte was right and every connection went over the engine.
 */
public final class HdfsPair {
  private static final int MB = 1 << 20;
  private static final int[] SIZES = {0, 1, 4096, 65_537, MB + 77, 3 * MB};
  private static final short REPLICAS = 2;

  private HdfsPair() {
  }

  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setBoolean("dfs.rdma.enabled", true);
    conf.setBoolean("dfs.rdma.required", true);
    conf.set("hadoop.rdma.transport", args[1]);
    // An emulated processor: what is slow is not dead.
    conf.setInt("dfs.client.socket-timeout", 300_000);
    conf.setInt("ipc.client.connect.timeout", 300_000);
    conf.setInt("ipc.client.rpc-timeout.ms", 300_000);
    conf.setLong("dfs.blocksize", MB);
    DefaultMetricsSystem.setMiniClusterMode(true);
    Path file = Paths.get(args[3]);
    boolean good = args[0].equals("server") ? serve(conf, args[2], file)
        : use(conf, args[2], new String(Files.readAllBytes(file), StandardCharsets.UTF_8));
    System.exit(good ? 0 : 1);
  }

  // The server.

  private static boolean serve(Configuration conf, String host, Path file) throws IOException {
    Path folder = file.resolveSibling("hdfs");
    conf.set("fs.defaultFS", "hdfs://" + host + ":0");
    conf.set("dfs.namenode.http-address", host + ":0");
    conf.set("dfs.namenode.name.dir", folder.resolve("name").toUri().toString());
    conf.setBoolean("dfs.namenode.datanode.registration.ip-hostname-check", false);
    NameNode.format(conf);
    NameNode nameNode = NameNode.createNameNode(new String[0], conf);
    int port = nameNode.getNameNodeAddress().getPort();
    conf.set("fs.defaultFS", "hdfs://" + host + ":" + port);
    for (int i = 0; i < REPLICAS; i++) {
      Configuration own = new Configuration(conf);
      own.set("dfs.datanode.data.dir", folder.resolve("data-" + i).toUri().toString());
      own.set("dfs.datanode.address", host + ":0");
      own.set("dfs.datanode.ipc.address", host + ":0");
      own.set("dfs.datanode.http.address", host + ":0");
      DataNode.instantiateDataNode(new String[0], own).runDatanodeDaemon();
    }
    Path written = file.resolveSibling(file.getFileName() + ".new");
    Files.write(written, String.valueOf(port).getBytes(StandardCharsets.UTF_8));
    Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
    while (System.in.read() >= 0) {
      // nothing is ever sent
    }
    RdmaMetrics metrics = RdmaMetrics.get();
    System.out.println("server: over the engine " + metrics.serverConnections().value() + ", over sockets "
        + metrics.serverSockets().value() + ", packets in place " + metrics.serverPacketsInPlace().value());
    return metrics.serverConnections().value() > 0 && metrics.serverSockets().value() == 0
        && metrics.serverPacketsInPlace().value() > 0;
  }

  // The client.

  private static boolean use(Configuration conf, String host, String port) throws Exception {
    conf.set("fs.defaultFS", "hdfs://" + host + ":" + port);
    Configuration parallel = new Configuration(conf);
    parallel.setBoolean("dfs.replication.parallel.enabled", true);
    try (FileSystem fs = FileSystem.newInstance(conf); FileSystem other = FileSystem.newInstance(parallel)) {
      awaitNodes(fs);
      for (int size : SIZES) {
        check(fs, size);
      }
      check(other, MB + 77);
      grow(fs);
    }
    RdmaMetrics metrics = RdmaMetrics.get();
    System.out.println("client: over the engine " + metrics.clientConnections().value() + ", fallbacks "
        + metrics.clientFallbacks().value() + ", sent " + metrics.bytesSent().value() + ", received "
        + metrics.bytesReceived().value());
    return metrics.clientConnections().value() > 0 && metrics.clientFallbacks().value() == 0;
  }

  private static void awaitNodes(FileSystem fs) throws Exception {
    while (((DistributedFileSystem) fs).getDataNodeStats().length < REPLICAS) {
      Thread.sleep(500);
    }
  }

  private static byte[] bytes(int size) {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    return bytes;
  }

  private static void check(FileSystem fs, int size) throws IOException {
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/file-" + size);
    byte[] sent = bytes(size);
    long start = System.nanoTime();
    try (FSDataOutputStream out = fs.create(path, true, 4096, REPLICAS, MB)) {
      out.write(sent);
    }
    long written = System.nanoTime();
    compare(fs, path, sent, size);
    System.out.printf("client: %d bytes written in %.0f ms, read in %.0f ms%n", size, (written - start) / 1e6,
        (System.nanoTime() - written) / 1e6);
  }

  private static void compare(FileSystem fs, org.apache.hadoop.fs.Path path, byte[] sent, int size) throws IOException {
    byte[] got = new byte[size];
    try (FSDataInputStream in = fs.open(path)) {
      in.readFully(got);
      if (in.read() != -1) {
        throw new IOException(path + " is longer than " + size + " bytes");
      }
    }
    if (!Arrays.equals(Arrays.copyOf(sent, size), got)) {
      throw new IOException(path + " does not hold what was written");
    }
  }

  /** Flushes show at once, and it goes on where it was. */
  private static void grow(FileSystem fs) throws IOException {
    org.apache.hadoop.fs.Path path = new org.apache.hadoop.fs.Path("/growing");
    byte[] sent = bytes(300_000);
    int at = 0;
    try (FSDataOutputStream out = fs.create(path, true, 4096, REPLICAS, MB)) {
      for (int n : new int[] {1, 70_000, 511}) {
        out.write(sent, at, n);
        at += n;
        out.hflush();
        compare(fs, path, sent, at);
      }
    }
    try (FSDataOutputStream out = fs.append(path)) {
      out.write(sent, at, sent.length - at);
    }
    compare(fs, path, sent, sent.length);
    System.out.println("client: flushed and read while it grew, and appended to");
  }
}

package org.apache.hadoop.hdfs.net;

import static org.apache.hadoop.hdfs.net.RdmaTestCluster.bytes;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.forced;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.off;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.on;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.read;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.readDirect;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.served;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.engine.Engine;
import io.howdah.engine.Link;
import io.howdah.upgrade.Mode;
import io.howdah.upgrade.Options;
import io.howdah.upgrade.PeerCache;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.commons.logging.LogFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.test.GenericTestUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Block data over the engine, and beside it. */
@Timeout(900)
class RdmaHdfsTest {
  private static final int MB = 1 << 20;
  private static final String REMEMBER = "dfs.rdma.fallback.remember";
  private static final byte[] MAGIC = {(byte) 0x8e, 'H', 'O', 'W', 'D', '\r', '\n', 0x1a};

  @Test
  void whatIsWrittenIsRead() throws Exception {
    long leaks = Engine.leaks();
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, forced()); FileSystem fs = hdfs.client(forced())) {
      long total = 0;
      long blocks = 0;
      long writes = served("hdfs.write", "calls");
      long written = served("hdfs.write", "bytes");
      long reads = served("hdfs.read", "calls");
      long readBytes = served("hdfs.read", "bytes");
      for (int size : new int[] {0, 1, 511, 512, 513, 4095, 65_016, 65_536, 65_537, MB, MB + 1, 5 * MB + 12_345}) {
        Path path = write(fs, size, 3);
        assertThat(read(fs, path, size)).isEqualTo(bytes(size));
        assertThat(readDirect(fs, path, size)).isEqualTo(bytes(size));
        total += size;
        blocks += (size + RdmaTestCluster.BLOCK - 1) / RdmaTestCluster.BLOCK;
      }
      assertThat(served("hdfs.write", "calls") - writes).isEqualTo(3 * blocks);
      assertThat(served("hdfs.write", "bytes") - written).isEqualTo(3 * total);
      assertThat(served("hdfs.read", "calls") - reads).isGreaterThanOrEqualTo(2 * blocks);
      assertThat(served("hdfs.read", "bytes") - readBytes).isGreaterThan(2 * total);
      hdfs.assertOverTheEngineOnly();
      // Three packets of each full block, at each node.
      assertThat(hdfs.packetsInPlace()).isGreaterThanOrEqualTo(3 * 3 * (total / RdmaTestCluster.BLOCK));
      // Three hops there, two reads back.
      assertThat(hdfs.sent()).isGreaterThan(5 * total);
      assertThat(hdfs.received()).isGreaterThan(5 * total);
    }
    assertThat(Engine.leaks()).isEqualTo(leaks);
  }

  /** As TeraSort's sampler does, on its client's console. */
  @Test
  void aReaderThatIsDroppedIsGivenBackWithoutALine() throws Exception {
    GenericTestUtils.LogCapturer log = GenericTestUtils.LogCapturer.captureLogs(LogFactory.getLog(Engine.class));
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, forced()); FileSystem fs = hdfs.client(forced())) {
      Path path = write(fs, 2 * MB, 1);
      long leaks = Engine.leaks();
      openAndDrop(fs, path);
      GenericTestUtils.waitFor(() -> {
        System.gc();
        return Engine.leaks() > leaks;
      }, 50, 60_000);
    } finally {
      log.stopCapturing();
    }
    assertThat(log.getOutput()).doesNotContain("LEAK");
  }

  private static void openAndDrop(FileSystem fs, Path path) throws IOException {
    assertThat(fs.open(path).read()).isNotNegative();
  }

  @Test
  void anyPartCanBeRead() throws Exception {
    int size = 3 * MB + 77;
    byte[] expected = bytes(size);
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(2, forced()); FileSystem fs = hdfs.client(forced())) {
      Path path = write(fs, size, 2);
      Random random = new Random(1);
      try (FSDataInputStream in = fs.open(path)) {
        for (int i = 0; i < 300; i++) {
          int at = random.nextInt(size);
          byte[] part = new byte[Math.min(size - at, random.nextInt(i % 10 == 0 ? MB : 5000))];
          if (i % 2 == 0) {
            in.readFully(at, part);
          } else {
            in.seek(at);
            in.readFully(part);
          }
          assertThat(part).isEqualTo(Arrays.copyOfRange(expected, at, at + part.length));
        }
      }
      hdfs.assertOverTheEngineOnly();
    }
  }

  @Test
  void aWriterThatFillsPacketsIsGivenLargerOnes() throws Exception {
    Configuration small = forced();
    small.set(Options.HDFS_PACKET_SIZE.key(), "0");
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, forced()); FileSystem fs = hdfs.client(forced());
        FileSystem other = hdfs.client(small)) {
      long before = RdmaMetrics.get().serverPacketsInPlace().value();
      write(fs, MB, 1);
      long between = RdmaMetrics.get().serverPacketsInPlace().value();
      write(other, MB, 1);
      assertThat(between - before).as("one of 64 KB, two of 512 KB, of which one is the block's rest").isEqualTo(3);
      assertThat(RdmaMetrics.get().serverPacketsInPlace().value() - between).isGreaterThan(15);
      hdfs.assertOverTheEngineOnly();
    }
  }

  @Test
  void readersSeeWhatWasFlushedAndAppended() throws Exception {
    byte[] expected = bytes(2 * MB);
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, forced()); FileSystem fs = hdfs.client(forced())) {
      Path path = new Path("/growing");
      fs.create(path).close();
      Random random = new Random(2);
      int at = 0;
      while (at < expected.length) {
        if (at > 0) { // else the NameNode may know of two replicas only, and the client makes the third once more
          DFSTestUtil.waitReplication(fs, path, (short) 3);
        }
        try (FSDataOutputStream out = fs.append(path)) {
          for (int i = 0; i < 3 && at < expected.length; i++) {
            int n = Math.min(expected.length - at, 1 + random.nextInt(200_000));
            out.write(expected, at, n);
            at += n;
            if (i % 2 == 0) {
              out.hflush();
            } else {
              out.hsync();
            }
            assertThat(read(fs, path, at)).isEqualTo(Arrays.copyOf(expected, at));
          }
        }
      }
      hdfs.assertOverTheEngineOnly();
    }
  }

  @Test
  void aWriteSurvivesItsDataNodes() throws Exception {
    byte[] expected = bytes(6 * MB);
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(5, forced()); FileSystem fs = hdfs.client(forced())) {
      Path path = new Path("/survivor");
      List<DataNodeProperties> stopped = new ArrayList<>();
      try (FSDataOutputStream out = fs.create(path, true, 4096, (short) 3, 8 * MB)) {
        for (int at = 0; at < expected.length; at += MB / 2) {
          out.write(expected, at, MB / 2);
          if (at == MB || at == 4 * MB) {
            out.hflush();
            stopped.add(hdfs.cluster.stopDataNode(pipeline(fs, path)));
          }
        }
      }
      assertThat(stopped).hasSize(2).doesNotContainNull();
      assertThat(read(fs, path, expected.length)).isEqualTo(expected);
      // They come back on the same ports.
      for (DataNodeProperties node : stopped) {
        assertThat(hdfs.cluster.restartDataNode(node, true)).isTrue();
      }
      hdfs.cluster.waitActive();
      DFSTestUtil.waitReplication(fs, path, (short) 3);
      assertThat(read(fs, path, expected.length)).isEqualTo(expected);
      assertThat(hdfs.fallbacks()).isZero();
    }
  }

  /** A DataNode that holds the file's last block. */
  private static String pipeline(FileSystem fs, Path path) throws IOException {
    return fs.getFileBlockLocations(path, 0, 1)[0].getNames()[0];
  }

  @Test
  void replicasMoveBetweenDataNodes() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, forced()); FileSystem fs = hdfs.client(forced())) {
      Path path = write(fs, 3 * MB, 1);
      long before = hdfs.sent();
      fs.setReplication(path, (short) 3);
      DFSTestUtil.waitReplication(fs, path, (short) 3);
      assertThat(hdfs.sent() - before).isGreaterThan(6L * MB);
      assertThat(fs.getFileChecksum(path)).isNotNull();
      assertThat(read(fs, path, 3 * MB)).isEqualTo(bytes(3 * MB));
      hdfs.assertOverTheEngineOnly();
    }
  }

  @Test
  void encryptedDataIsWrittenAndRead() throws Exception {
    Configuration conf = forced();
    conf.setBoolean("dfs.encrypt.data.transfer", true);
    conf.setBoolean("dfs.block.access.token.enable", true);
    for (String suite : new String[] {"", "AES/CTR/NoPadding"}) {
      conf.set("dfs.encrypt.data.transfer.cipher.suites", suite);
      try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, conf); FileSystem fs = hdfs.client(conf)) {
        Path path = write(fs, 3 * MB + 5, 3);
        assertThat(read(fs, path, 3 * MB + 5)).isEqualTo(bytes(3 * MB + 5));
        assertThat(fs.getFileChecksum(path)).isNotNull();
        hdfs.assertOverTheEngineOnly();
      }
    }
  }

  @Test
  void manyClientsAtATime() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, forced()); FileSystem fs = hdfs.client(forced())) {
      List<Future<Void>> clients = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        int size = MB + i * 10_001;
        clients.add(threads.submit(() -> {
          Path path = write(fs, size, 3);
          for (int n = 0; n < 3; n++) {
            assertThat(read(fs, path, size)).isEqualTo(bytes(size));
          }
          return null;
        }));
      }
      for (Future<Void> client : clients) {
        client.get(600, TimeUnit.SECONDS);
      }
      hdfs.assertOverTheEngineOnly();
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void aReaderMayGoAwayAtAnyTime() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, forced()); FileSystem fs = hdfs.client(forced())) {
      Path path = write(fs, 4 * MB, 1);
      for (int i = 0; i < 50; i++) {
        try (FSDataInputStream in = fs.open(path)) {
          in.readFully(new byte[1 + i * 1000]);
        }
      }
      assertThat(read(fs, path, 4 * MB)).isEqualTo(bytes(4 * MB));
      hdfs.assertOverTheEngineOnly();
    }
  }

  @Test
  void aClientThatGoesAwayIsNoError() throws Exception {
    Configuration conf = forced();
    conf.setBoolean("hadoop.rdma.rpc.enabled", false); // in one process it would share the link that is lost
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, conf); FileSystem fs = hdfs.client(conf)) {
      Path path = write(fs, MB, 1);
      assertThat(read(fs, path, MB)).isEqualTo(bytes(MB)); // its connection is kept for the next one
      DataNode node = hdfs.cluster.getDataNodes().get(0);
      long before = RdmaMetrics.get().clientConnections().value();
      RdmaHdfs client = RdmaHdfs.of(forced());
      assertThat(client.upgrade().isUsable()).isTrue(); // the same engine, so a connection of ours shares the link
      try (Socket socket = new Socket("127.0.0.1", node.getXferPort());
          Link link = client.engine().connect(socket, "127.0.0.1:" + node.getXferPort(), 10_000).link()) {
        link.disconnect();
      }
      GenericTestUtils.waitFor(() -> node.getXceiverCount() <= 1, 50, 30_000);
      assertThat(node.getDatanodeNetworkCounts()).isEmpty();
      assertThat(read(fs, path, MB)).isEqualTo(bytes(MB));
      assertThat(RdmaMetrics.get().clientConnections().value()).isGreaterThan(before);
      assertThat(hdfs.fallbacks()).isZero();
    }
  }

  /** Its links live on, as the process does, and lead to a service that is no more. */
  @Test
  void aDataNodeThatRestartsIsGreetedAnew() throws Exception {
    Configuration conf = forced();
    conf.setInt("dfs.client.retry.window.base", 10);
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, conf); FileSystem fs = hdfs.client(conf)) {
      Path path = write(fs, 1000, 1);
      assertThat(hdfs.cluster.restartDataNode(0, true)).isTrue();
      hdfs.cluster.waitActive();
      assertThat(read(fs, path, 1000)).isEqualTo(bytes(1000));
      Path other = write(fs, 1000, 1);
      assertThat(read(fs, other, 1000)).isEqualTo(bytes(1000));
      hdfs.assertOverTheEngineOnly();
    }
  }

  // Mixed.

  @Test
  void aStockClientIsServedByDataNodesWithTheEngine() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, forced()); FileSystem fs = hdfs.client(off())) {
      Path path = write(fs, 2 * MB, 3);
      assertThat(read(fs, path, 2 * MB)).isEqualTo(bytes(2 * MB));
      assertThat(hdfs.sockets()).isPositive();
      assertThat(hdfs.streams()).isPositive(); // of the pipeline's other hops
      assertThat(hdfs.fallbacks()).isZero();
    }
  }

  @Test
  void aClientFallsBackForDataNodesWithoutTheEngine() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, off()); FileSystem fs = hdfs.client(on())) {
      Path path = write(fs, 2 * MB, 3);
      assertThat(read(fs, path, 2 * MB)).isEqualTo(bytes(2 * MB));
      assertThat(hdfs.fallbacks()).isPositive();
      assertThat(hdfs.connections()).isZero();
    }
  }

  @Test
  void aRefusalIsRememberedAndPacketsStaySmall() throws Exception {
    for (Configuration client : Arrays.asList(on(), forgetful())) {
      try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, off()); FileSystem fs = hdfs.client(client)) {
        String node = "127.0.0.1:" + hdfs.cluster.getDataNodes().get(0).getXferPort();
        Path path = write(fs, 2 * MB, 1);
        assertThat(read(fs, path, 2 * MB)).isEqualTo(bytes(2 * MB));
        assertThat(hdfs.fallbacks()).isPositive();
        assertThat(hdfs.connections()).isZero();
        assertThat(RdmaSocketFactory.isLinked(node)).isFalse();
        assertThat(PeerCache.ofThisProcess().isRefused(node)).isEqualTo(client.get(REMEMBER) == null);
      }
    }
  }

  private static Configuration forgetful() {
    Configuration conf = on();
    conf.setInt(REMEMBER, 0);
    return conf;
  }

  /** What stock's DataXceiver makes of the question before a greeting. */
  @Test
  void aStockDataNodeTakesTheQuestionForNoError() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, off()); FileSystem fs = hdfs.client(off())) {
      Path path = write(fs, 1000, 1);
      DataNode node = hdfs.cluster.getDataNodes().get(0);
      GenericTestUtils.LogCapturer log = GenericTestUtils.LogCapturer.captureLogs(DataNode.LOG);
      try (FileSystem other = hdfs.client(on())) {
        assertThat(read(other, path, 1000)).isEqualTo(bytes(1000));
        write(other, 1000, 1);
      } finally {
        log.stopCapturing();
      }
      assertThat(log.getOutput()).doesNotContain("DataXceiver error").doesNotContain("Exception");
      assertThat(node.getDatanodeNetworkCounts()).isEmpty();
      assertThat(hdfs.fallbacks()).isPositive();
    }
  }

  @Test
  void aDataNodeWithoutAnEngineGoesOnWithSockets() throws Exception {
    Configuration conf = on();
    conf.set("hadoop.rdma.tuning.profile", "/nowhere/profile"); // the engine can't be made
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, conf); FileSystem fs = hdfs.client(on())) {
      Path path = write(fs, MB, 1);
      assertThat(read(fs, path, MB)).isEqualTo(bytes(MB));
      assertThat(hdfs.streams()).isZero();
      assertThat(hdfs.fallbacks()).isPositive();
      conf.set("dfs.rdma.enabled", "required");
      assertThatThrownBy(() -> RdmaPeerServer.of(new Configuration(conf), null, 1)).isInstanceOf(IOException.class)
          .hasMessageContaining("dfs.rdma.enabled=required");
    }
  }

  @Test
  void dataNodesOfBothKindsMakeOnePipeline() throws Exception {
    try (RdmaTestCluster hdfs = new RdmaTestCluster(off(), on(), off(), on()); FileSystem fs = hdfs.client(on())) {
      for (int i = 0; i < 6; i++) {
        Path path = write(fs, 2 * MB, 3);
        assertThat(read(fs, path, 2 * MB)).isEqualTo(bytes(2 * MB));
      }
      assertThat(hdfs.fallbacks()).isPositive();
      assertThat(hdfs.streams()).isPositive();
    }
  }

  @Test
  void aClientThatMustNotFallBackNamesTheCause() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, off())) {
      Path path;
      try (FileSystem fs = hdfs.client(off())) {
        path = write(fs, 1000, 1);
      }
      Configuration conf = forced();
      conf.setInt("dfs.client.max.block.acquire.failures", 0);
      try (FileSystem fs = hdfs.client(conf)) {
        Socket socket = RdmaSocket.create(conf, true);
        assertThatThrownBy(() -> socket.connect(hdfs.cluster.getDataNodes().get(0).getXferAddress(), 1000))
            .isInstanceOf(IOException.class)
            .hasMessageContaining("has to go over the engine (hadoop.rdma.transport=shm")
            .hasMessageContaining("" + hdfs.cluster.getDataNodes().get(0).getXferPort());
        assertThatThrownBy(() -> read(fs, path, 1000)).isInstanceOf(IOException.class);
        assertThatThrownBy(() -> write(fs, 1000, 1)).isInstanceOf(IOException.class);
      }
      assertThat(hdfs.connections()).isZero();
      assertThat(hdfs.fallbacks()).isZero();
    }
  }

  // Settings.

  @Test
  void theSwitchesOfAllComponentsAndOfHiBDAreIts() throws Exception {
    Configuration conf = new Configuration();
    assertThat(RdmaHdfs.of(conf).upgrade().mode()).isEqualTo(Mode.AUTO);
    conf.setBoolean("hadoop.ib.enabled", true);
    conf.set("dfs.rdma.hhh.mode", "Default");
    conf.set("dfs.rdma.speed", "high"); // nobody knows it: a warning, nothing else
    assertThat(RdmaHdfs.of(conf).upgrade().mode()).isEqualTo(Mode.TRUE);
    conf.set("hadoop.rdma.transport", "tcp");
    assertThat(RdmaHdfs.of(conf).isOff()).isTrue();
    conf.unset("hadoop.rdma.transport");
    conf.set("hadoop.rdma.enabled", "false");
    assertThat(RdmaHdfs.of(conf).isOff()).isTrue();
    conf.set("dfs.rdma.enabled", "required");
    assertThat(RdmaHdfs.of(conf).upgrade().isRequired()).isTrue();
  }

  @Test
  void badValuesAreRefused() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(0, off())) {
      for (String[] setting : Arrays.asList(
          new String[] {"dfs.rdma.enabled", "yes", "auto, true, required or false"},
          new String[] {"dfs.rdma.fallback.remember", "-1", "milliseconds"},
          new String[] {"dfs.rdma.packet.size", "64m", "bytes from 0"},
          new String[] {"dfs.rdma.packet.size", "large", "bytes from 0"})) {
        Configuration conf = on();
        conf.set(setting[0], setting[1]);
        assertThatThrownBy(() -> hdfs.client(conf)).isInstanceOf(IOException.class)
            .hasMessageContaining(setting[0]).hasMessageContaining(setting[2]);
      }
    }
  }

  // Clients that do as they like.

  @Test
  void garbageCostsOneConnection() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, forced()); FileSystem fs = hdfs.client(forced())) {
      int port = hdfs.cluster.getDataNodes().get(0).getXferPort();
      try (Socket idle = new Socket("127.0.0.1", port)) {
        Random random = new Random(3);
        for (int i = 0; i < 50; i++) {
          try (Socket socket = new Socket("127.0.0.1", port)) {
            byte[] garbage = new byte[1 + random.nextInt(100)];
            random.nextBytes(garbage);
            if (i % 2 == 0) { // begins as a greeting
              System.arraycopy(MAGIC, 0, garbage, 0, Math.min(1 + i % MAGIC.length, garbage.length));
            }
            socket.getOutputStream().write(garbage);
          }
        }
        Path path = write(fs, MB, 1);
        assertThat(read(fs, path, MB)).isEqualTo(bytes(MB));
        assertThat(idle.isConnected()).isTrue();
      }
    }
  }
}

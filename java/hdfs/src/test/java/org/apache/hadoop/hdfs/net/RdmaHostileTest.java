package org.apache.hadoop.hdfs.net;

import static org.apache.hadoop.hdfs.net.RdmaTestCluster.bytes;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.forced;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.read;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.staged;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.write;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.engine.Engine;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.test.GenericTestUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * What no client of good will sends to a DataNode's port and over the engine's streams, while others write and read. A
 * session that broke the protocol costs its connection: nothing else ends, and nothing is kept. The seed that it
 * prints makes the same bytes again (-Dhowdah.test.seed, with more -Dhowdah.test.sessions to look longer).
 */
@Timeout(1800)
class RdmaHostileTest {
  private static final int MB = 1 << 20;
  /** How an engine's greeting begins. */
  private static final byte[] MAGIC = {(byte) 0x8e, 'H', 'O', 'W', 'D', '\r', '\n', 0x1a};
  /** How long a hostile client waits for a word before it goes. */
  private static final int PATIENCE = 100;

  private final Random random = new Random();
  private final int sessions = Integer.getInteger("howdah.test.sessions", 100);
  private Configuration conf = forced();
  private ExtendedBlock known;
  private long made;

  /** How a client reaches the DataNode. */
  private interface Carrier {
    Socket connect(InetSocketAddress server) throws IOException;
  }

  @Test
  void hostileStreamsCostTheirConnection() throws Exception {
    attackStreams();
  }

  @Test
  @EnabledIfSystemProperty(named = "howdah.test.slow", matches = "true",
      disabledReason = "takes a minute: make unit-slow")
  void stagesMeetHostileStreams() throws Exception {
    conf = staged();
    attackStreams();
    assertThat(RdmaMetrics.get().stagePackets().value()).isPositive();
    assertThat(RdmaMetrics.get().stageQueued().value()).isZero();
    assertThat(RdmaMetrics.get().stageHandlersBusy().value()).isZero();
  }

  private void attackStreams() throws Exception {
    attack(server -> {
      Socket socket = RdmaSocket.create(conf, false);
      socket.connect(server, 10_000);
      return socket;
    });
  }

  @Test
  void hostileSocketsCostTheirConnection() throws Exception {
    attack(server -> new Socket(server.getAddress(), server.getPort()));
  }

  private void attack(Carrier carrier) throws Exception {
    long seed = Long.getLong("howdah.test.seed", System.nanoTime());
    System.out.println("-Dhowdah.test.seed=" + seed);
    random.setSeed(seed);
    long leaks = Engine.leaks();
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(2, conf); DistributedFileSystem fs = hdfs.client(conf)) {
      known = DFSTestUtil.getFirstBlock(fs, write(fs, MB / 2, 2));
      DataNode node = hdfs.cluster.getDataNodes().get(0);
      InetSocketAddress address = node.getXferAddress();
      InetSocketAddress server = new InetSocketAddress("127.0.0.1", address.getPort());
      AtomicBoolean over = new AtomicBoolean();
      ExecutorService threads = Executors.newSingleThreadExecutor();
      try {
        Future<Integer> good = threads.submit(worker(hdfs, over));
        for (int i = 0; i < sessions; i++) {
          session(carrier, server);
          if (i % 20 == 0) {
            assertWrites(carrier, server);
            assertThat(good.isDone()).as("the good client has failed").isFalse();
          }
        }
        over.set(true);
        assertThat(good.get(300, TimeUnit.SECONDS)).isPositive();
      } finally {
        threads.shutdownNow();
      }
      assertThat(node.isDatanodeUp()).isTrue();
      assertThat(node.getFSDataset().getNumFailedVolumes()).isZero();
      // DataNode's own count has every thread that a transfer has ever started, those that check disks among them.
      GenericTestUtils.waitFor(() -> Thread.getAllStackTraces().keySet().stream().map(Thread::getName)
          .noneMatch(name -> name.startsWith("DataXceiver for") || name.startsWith("PacketResponder")), 100, 120_000);
    }
    System.gc(); // what was dropped is seen when it is garbage
    assertThat(Engine.leaks()).isEqualTo(leaks);
  }

  /** Writes and reads on both DataNodes until all is over. */
  private Callable<Integer> worker(RdmaTestCluster hdfs, AtomicBoolean over) {
    return () -> {
      int files = 0;
      try (FileSystem fs = hdfs.client(conf)) {
        for (; !over.get() || files == 0; files++) {
          int size = files * 77_777 % (2 * MB);
          Path path = write(fs, size, 2);
          assertThat(read(fs, path, size)).isEqualTo(bytes(size));
          fs.delete(path, false);
        }
      }
      return files;
    };
  }

  // Sessions.

  /** A spoiled session may name another block than it was given, but none of those that are to be written well. */
  private ExtendedBlock newBlock(boolean spoiled) {
    long base = spoiled ? 1_000_000_000_000L : 0x5555_5555_0000_0000L;
    return new ExtendedBlock(known.getBlockPoolId(), base + made++, 0, 1000);
  }

  private HostileSession next() throws IOException {
    switch (random.nextInt(10)) {
      case 0:
        return HostileSession.noise(random);
      case 1:
        return HostileSession.read(random, known);
      case 2:
        return HostileSession.read(random, known).damage();
      case 3:
        return HostileSession.checksum(random, known).damage();
      default:
        HostileSession session = HostileSession.write(random, newBlock(true), bytes(1 + random.nextInt(300_000)));
        return spoil(session);
    }
  }

  private HostileSession spoil(HostileSession session) {
    switch (random.nextInt(6)) {
      case 0:
        return session.stop();
      case 1:
        return session.lie();
      case 2:
        return session.disorder();
      case 3:
        return session.damage().cutAnew();
      case 4:
        return session.lie().stop();
      default:
        return session.damage();
    }
  }

  /** Says its words, listens for a moment, and goes, as an end or as a reset. What the DataNode does is its matter. */
  private void session(Carrier carrier, InetSocketAddress server) throws IOException {
    try (Socket socket = carrier.connect(server)) {
      socket.setSoTimeout(PATIENCE);
      OutputStream out = socket.getOutputStream();
      try {
        if (random.nextInt(12) == 0) {
          out.write(MAGIC, 0, 1 + random.nextInt(MAGIC.length));
        }
        for (byte[] piece : next().pieces) {
          out.write(piece);
        }
        if (random.nextBoolean()) {
          listen(socket.getInputStream());
        } else if (random.nextBoolean()) {
          socket.setSoLinger(true, 0);
        }
      } catch (IOException e) {
        assertThat(e).isNotNull(); // it has hung up in the middle, as it may
      }
    }
  }

  private static void listen(InputStream in) throws IOException {
    byte[] bytes = new byte[10_000];
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
    while (in.read(bytes) > 0 && System.nanoTime() < until) {
      // Whatever it is.
    }
  }

  /** A block that comes in any pieces is taken. */
  private void assertWrites(Carrier carrier, InetSocketAddress server) throws IOException {
    byte[] data = bytes(1 + random.nextInt(300_000));
    HostileSession session = HostileSession.write(random, newBlock(false), data);
    int packets = session.pieces.size() - 1;
    session.cutAnew();
    try (Socket socket = carrier.connect(server)) {
      socket.setSoTimeout(60_000);
      for (byte[] piece : session.pieces) {
        socket.getOutputStream().write(piece);
      }
      DataInputStream in = new DataInputStream(socket.getInputStream());
      assertThat(BlockOpResponseProto.parseFrom(PBHelperClient.vintPrefixed(in)).getStatus()).isEqualTo(Status.SUCCESS);
      PipelineAck ack = new PipelineAck();
      for (int seqno = 0; seqno < packets; seqno++) {
        ack.readFields(in);
        assertThat(ack.isSuccess()).as("%s", ack).isTrue();
        assertThat(ack.getSeqno()).isEqualTo(seqno);
      }
    }
  }
}

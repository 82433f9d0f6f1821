package org.apache.hadoop.hdfs.net;

import static org.apache.hadoop.hdfs.net.RdmaTestCluster.bytes;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.forced;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.read;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.staged;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.write;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.engine.Engine;
import io.howdah.upgrade.Options;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Blocks that stages receive ahead of the threads that write them. */
@Timeout(900)
class RdmaStagesTest {
  private static final int MB = 1 << 20;

  private final RdmaMetrics metrics = RdmaMetrics.get();
  private final long packets = metrics.stagePackets().value();
  private final long refusals = metrics.stageRefusals().value();
  private final long leaks = Engine.leaks();

  private void assertNothingIsLeft() {
    assertThat(metrics.stageQueued().value()).isZero();
    assertThat(metrics.stageHandlersBusy().value()).isZero();
    System.gc();
    assertThat(Engine.leaks()).isEqualTo(leaks);
  }

  @Test
  void packetsAreReceivedAhead() throws Exception {
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, staged()); FileSystem fs = hdfs.client(staged())) {
      for (int size : new int[] {1, 70_000, MB, 5 * MB + 77}) {
        Path path = write(fs, size, 3);
        assertThat(read(fs, path, size)).isEqualTo(bytes(size));
        DFSTestUtil.waitReplication(fs, path, (short) 3);
      }
      hdfs.assertOverTheEngineOnly();
    }
    assertThat(metrics.stagePackets().value() - packets).isPositive();
    assertThat(metrics.stageReplicateMicros().lastStat().numSamples()).isPositive();
    assertThat(metrics.stageProcessMicros().lastStat().numSamples()).isPositive();
    assertNothingIsLeft();
  }

  /** Whoever finds no thread free does without. */
  @Test
  void thereAreNoMoreThreadsThanWasSaid() throws Exception {
    Configuration conf = staged();
    conf.setInt(Options.HDFS_STAGE_HANDLERS.key(), 1);
    conf.setInt(Options.HDFS_STAGE_QUEUE.key(), 1);
    ExecutorService threads = Executors.newCachedThreadPool();
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(2, conf); FileSystem fs = hdfs.client(conf)) {
      List<Future<Path>> writers = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        writers.add(threads.submit(() -> write(fs, 3 * MB, 2)));
      }
      for (Future<Path> writer : writers) {
        assertThat(read(fs, writer.get(300, TimeUnit.SECONDS), 3 * MB)).isEqualTo(bytes(3 * MB));
      }
      assertThat(metrics.stagePackets().value() - packets).isPositive();
      assertThat(metrics.stageRefusals().value() - refusals).isPositive();
    } finally {
      threads.shutdownNow();
    }
    assertNothingIsLeft();
  }

  @Test
  void aWriteSurvivesItsDataNodes() throws Exception {
    byte[] expected = bytes(8 * MB);
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(5, staged()); FileSystem fs = hdfs.client(staged())) {
      Path path = new Path("/survivor");
      try (FSDataOutputStream out = fs.create(path, true, 4096, (short) 3, 16 * MB)) {
        for (int at = 0; at < expected.length; at += MB / 4) {
          out.write(expected, at, MB / 4);
          if (at == MB || at == 5 * MB) {
            out.hflush();
            assertThat(read(fs, path, at + MB / 4)).isEqualTo(Arrays.copyOf(expected, at + MB / 4));
            assertThat(hdfs.cluster.stopDataNode(fs.getFileBlockLocations(path, 0, 1)[0].getNames()[at == MB ? 0 : 1]))
                .isNotNull();
          }
        }
      }
      DFSTestUtil.waitReplication(fs, path, (short) 3);
      assertThat(read(fs, path, expected.length)).isEqualTo(expected);
    }
    assertThat(metrics.stagePackets().value() - packets).isPositive();
    assertNothingIsLeft();
  }

  @Test
  void damagedPacketsAreFound() throws Exception {
    Random random = new Random(5);
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, staged()); FileSystem fs = hdfs.client(staged())) {
      String pool = DFSTestUtil.getFirstBlock(fs, write(fs, 1, 1)).getBlockPoolId();
      InetSocketAddress server = new InetSocketAddress("127.0.0.1", hdfs.cluster.getDataNodes().get(0).getXferPort());
      for (int i = 0; i < 4; i++) {
        ExtendedBlock block = new ExtendedBlock(pool, 1_000_000_000_000L + i, 0, 1000);
        HostileSession session = HostileSession.write(random, block, bytes(MB));
        int damaged = session.pieces.size() - 2;
        byte[] piece = session.pieces.get(damaged);
        piece[piece.length - 1] ^= 1;
        try (Socket socket = RdmaSocket.create(forced(), false)) {
          socket.connect(server, 10_000);
          socket.setSoTimeout(60_000);
          for (byte[] bytes : session.pieces) {
            socket.getOutputStream().write(bytes);
          }
          assertThat(acknowledged(new DataInputStream(socket.getInputStream()))).isEqualTo(damaged - 1);
        }
      }
    }
    assertThat(metrics.stagePackets().value() - packets).isPositive();
    assertNothingIsLeft();
  }

  /** @return packets that were acknowledged before one whose checksums are wrong */
  private static int acknowledged(DataInputStream in) throws IOException {
    assertThat(BlockOpResponseProto.parseFrom(PBHelperClient.vintPrefixed(in)).getStatus()).isEqualTo(Status.SUCCESS);
    for (int i = 0;; i++) {
      PipelineAck ack = new PipelineAck();
      ack.readFields(in);
      if (!ack.isSuccess()) {
        assertThat(PipelineAck.getStatusFromHeader(ack.getHeaderFlag(0))).isEqualTo(Status.ERROR_CHECKSUM);
        return i;
      }
    }
  }

  @Test
  void badValuesAreRefused() throws Exception {
    for (String[] setting : Arrays.asList(
        new String[] {Options.HDFS_STAGES.key(), "maybe", "true or false"},
        new String[] {Options.HDFS_STAGE_HANDLERS.key(), "0", "from 1"},
        new String[] {Options.HDFS_STAGE_QUEUE.key(), "many", "from 1"})) {
      Configuration conf = staged();
      conf.set(setting[0], setting[1]);
      assertThatThrownBy(() -> RdmaStages.of(RdmaHdfs.of(conf).upgrade())).isInstanceOf(IOException.class)
          .hasMessageContaining(setting[0]).hasMessageContaining(setting[2]);
    }
  }
}

package org.apache.hadoop.hdfs.net;

import static org.apache.hadoop.hdfs.net.RdmaTestCluster.forced;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.off;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.util.Arrays;
import java.util.EnumSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.CryptoProtocolVersion;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.ClientProtocol;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.datatransfer.Sender;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.io.EnumSetWritable;
import org.apache.hadoop.util.DataChecksum;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What readers see of a block that is written to all replicas at once. */
@Timeout(300)
class ReplicaLengthTest {
  private static final int BYTES = 1024; // whole chunks

  /** A DataNode that is written to, by hand. */
  private static final class Writer implements AutoCloseable {
    private final Socket socket;
    private final DataOutputStream out;
    private final DataInputStream in;

    Writer(LocatedBlock block, CachingStrategy strategy, String client) throws IOException {
      socket = new Socket(block.getLocations()[0].getIpAddr(), block.getLocations()[0].getXferPort());
      out = new DataOutputStream(socket.getOutputStream());
      in = new DataInputStream(socket.getInputStream());
      new Sender(out).writeBlock(block.getBlock(), block.getStorageTypes()[0], block.getBlockToken(), client,
          block.getLocations(), block.getStorageTypes(), null, BlockConstructionStage.PIPELINE_SETUP_CREATE, 1, 0, 0, 0,
          DataChecksum.newDataChecksum(DataChecksum.Type.NULL, 512), strategy, false, false, new boolean[1]);
      BlockOpResponseProto response = BlockOpResponseProto.parseFrom(PBHelperClient.vintPrefixed(in));
      assertThat(response.getStatus()).isEqualTo(Status.SUCCESS);
    }

    /** Sends a packet and waits for its acknowledgement. */
    void send(long offset, long seqno, int length) throws IOException {
      out.write(new PacketHeader(Integer.BYTES + length, offset, seqno, false, length, false).getBytes());
      out.write(new byte[length]);
      out.flush();
      PipelineAck ack = new PipelineAck();
      ack.readFields(in);
      assertThat(ack.getSeqno()).isEqualTo(seqno);
      assertThat(ack.isSuccess()).isTrue();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private static LocatedBlock allocate(DistributedFileSystem fs, String path) throws IOException {
    ClientProtocol nameNode = fs.getClient().getNamenode();
    HdfsFileStatus file = nameNode.create(path, FsPermission.getFileDefault(), fs.getClient().getClientName(),
        new EnumSetWritable<>(EnumSet.of(CreateFlag.CREATE)), true, (short) 1, RdmaTestCluster.BLOCK,
        CryptoProtocolVersion.supported());
    return nameNode.addBlock(path, fs.getClient().getClientName(), null, null, file.getFileId(), null, null);
  }

  @Test
  void aReplicaBesideOthersShowsWhatTheWriterSaysThatAllHave() throws Exception {
    for (Configuration conf : Arrays.asList(off(), forced())) {
      try (RdmaTestCluster hdfs = RdmaTestCluster.of(1, conf); DistributedFileSystem fs = hdfs.client(off())) {
        DataNode node = hdfs.cluster.getDataNodes().get(0);
        LocatedBlock block = allocate(fs, "/beside");
        CachingStrategy marked = ReplicaLength.mark(CachingStrategy.newDefaultStrategy());
        try (Writer writer = new Writer(block, marked, fs.getClient().getClientName())) {
          writer.send(0, 0, BYTES);
          assertThat(node.getFSDataset().getReplicaVisibleLength(block.getBlock())).isZero();
          writer.send(0, -1, 0); // a heartbeat as stock's
          assertThat(node.getFSDataset().getReplicaVisibleLength(block.getBlock())).isZero();
          writer.send(BYTES, 1, BYTES);
          writer.send(BYTES, -1, 0);
          assertThat(node.getFSDataset().getReplicaVisibleLength(block.getBlock())).isEqualTo(BYTES);
        }
        block = allocate(fs, "/pipeline");
        try (Writer writer = new Writer(block, CachingStrategy.newDefaultStrategy(), fs.getClient().getClientName())) {
          writer.send(0, 0, BYTES);
          assertThat(node.getFSDataset().getReplicaVisibleLength(block.getBlock())).isEqualTo(BYTES);
        }
      }
    }
  }

  @Test
  void whatIsFlushedIsVisibleAtEveryReplica() throws Exception {
    Configuration conf = forced();
    conf.setBoolean("dfs.replication.parallel.enabled", true);
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, conf); FileSystem fs = hdfs.client(conf)) {
      Path path = new Path("/flushed");
      try (FSDataOutputStream out = fs.create(path, true, 4096, (short) 3, RdmaTestCluster.BLOCK)) {
        for (int i = 1; i <= 20; i++) {
          out.write(new byte[BYTES]);
          out.hflush();
          ExtendedBlock block = DFSTestUtil.getFirstBlock(fs, path);
          for (DataNode node : hdfs.cluster.getDataNodes()) {
            assertThat(node.getFSDataset().getReplicaVisibleLength(block)).isEqualTo((long) i * BYTES);
          }
        }
      }
      assertThat(fs.getFileStatus(path).getLen()).isEqualTo(20L * BYTES);
    }
  }
}

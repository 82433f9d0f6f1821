package org.apache.hadoop.hdfs;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.net.RdmaCopies;
import org.apache.hadoop.hdfs.net.RdmaMetrics;
import org.apache.hadoop.hdfs.net.ReplicaLength;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.Sender;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.util.DataChecksum;

/**
 * The replicas of a block that is written, each over a connection of its own, in the shape of the pipeline that
 * DataStreamer expects: what is written goes to all of them, and what is read is their acknowledgements put together,
 * in the order of the nodes. To a DataNode it is a pipeline that ends with itself, so stock DataNodes take part. What
 * goes wrong with a replica is told as a pipeline tells it of the node in its place; the recovery is DataStreamer's.
 *
 * <p>A node that takes nothing holds up the writer, and would have the others take it for dead: a DataNode ends a
 * connection over which nothing came for dfs.client.socket-timeout. They get heartbeats meanwhile, from a thread of the
 * fan's own.
 *
 * <p>One thread writes, one reads, any closes.
 */
final class ReplicaFan {
  /** Whether clients write so. */
  static final String ENABLED = "dfs.replication.parallel.enabled";

  private final ReplicaLink[] links;
  /** How long a node may hear nothing, in milliseconds; 0 for ever. */
  private final int patience;
  private final CountDownLatch over = new CountDownLatch(1);
  private final Output out = new Output();
  private final Input in = new Input();
  private final Socket socket = new Handle();
  private final ReplicaAcks acks = new ReplicaAcks();

  private ReplicaFan(DatanodeInfo[] nodes, int patience) {
    this.patience = patience;
    links = new ReplicaLink[nodes.length];
    Arrays.setAll(links, i -> new ReplicaLink(nodes[i], acks));
    acks.begin(links);
  }

  /**
   * Connects to the nodes behind the first one, to which there is a connection.
   *
   * @return null if it is not enabled, or if there is no other node
   * @throws IOException what DataStreamer has to know; that a node can't be reached is told as its response
   */
  static ReplicaFan open(DFSClient client, DatanodeInfo[] nodes, Token<BlockTokenIdentifier> token, Socket first,
      OutputStream out, InputStream in) throws IOException {
    if (nodes.length == 1 || !client.getConfiguration().getBoolean(ENABLED, false)) {
      return null;
    }
    ReplicaFan fan = new ReplicaFan(nodes, client.getConf().getSocketTimeout());
    fan.links[0].take(first, out, in);
    boolean connected = false;
    try {
      for (int i = 1; i < nodes.length; i++) {
        fan.links[i].connect(client, token);
      }
      connected = true;
      RdmaMetrics.countParallelBlock();
    } finally {
      if (!connected) {
        fan.close();
      }
    }
    return fan;
  }

  /** What sends the request to write a block, to one or to all. */
  static Sender sender(ReplicaFan fan, DataOutputStream out) {
    return fan == null ? new Sender(out) : fan.new Requests();
  }

  /** Whose close() closes all connections. */
  Socket socket() {
    return socket;
  }

  DataOutputStream out() {
    return new DataOutputStream(out);
  }

  DataInputStream in() {
    return new DataInputStream(in);
  }

  private void close() {
    acks.close();
    over.countDown();
    for (ReplicaLink link : links) {
      link.close();
    }
  }

  /** The connections as the one that a pipeline has. */
  private final class Handle extends Socket {
    @Override
    public void close() {
      ReplicaFan.this.close();
    }
  }

  // Requests.

  /** Sends each node its own request: it is the first and the last one of its pipeline. */
  private final class Requests extends Sender {
    Requests() {
      super(new DataOutputStream(out));
    }

    @Override
    public void writeBlock(ExtendedBlock block, StorageType storageType, Token<BlockTokenIdentifier> token,
        String clientName, DatanodeInfo[] targets, StorageType[] storageTypes, DatanodeInfo source,
        BlockConstructionStage stage, int pipelineSize, long minBytesRcvd, long maxBytesRcvd, long generationStamp,
        DataChecksum checksum, CachingStrategy caching, boolean allowLazyPersist, boolean pinning, boolean[] pinnings)
        throws IOException {
      for (int i = 0; i < links.length; i++) {
        ByteArrayOutputStream request = new ByteArrayOutputStream();
        boolean pinned = pinnings != null && pinnings[i];
        new Sender(new DataOutputStream(request)).writeBlock(block, storageTypes[i], token, clientName,
            new DatanodeInfo[] {targets[i]}, new StorageType[] {storageTypes[i]}, source, stage, 1, minBytesRcvd,
            maxBytesRcvd, generationStamp, checksum, ReplicaLength.mark(caching), allowLazyPersist, pinned,
            new boolean[] {pinned});
        byte[] bytes = request.toByteArray();
        links[i].send(to -> to.write(bytes), false);
      }
    }
  }

  /** What is written goes to every replica that is still there; that none is left is told by the responses. */
  private final class Output extends OutputStream {
    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] from, int offset, int length) throws IOException {
      PacketHeader packet = new PacketHeader();
      packet.readFields(ByteBuffer.wrap(from, offset, length)); // DataStreamer writes each packet at once
      if (packet.getSeqno() == DFSPacket.HEART_BEAT_SEQNO) {
        for (ReplicaLink link : links) {
          link.tell(0);
        }
        return;
      }
      acks.sending(packet);
      try (RdmaCopies copies = new RdmaCopies(from, offset, length)) {
        for (ReplicaLink link : links) {
          link.send(copies::writeTo, packet.isLastPacketInBlock());
        }
      }
    }

    @Override
    public void close() {
      ReplicaFan.this.close();
    }
  }

  /** As often as it takes that no node hears nothing for much more than half as long as it has patience. */
  private void keepAlive() {
    try {
      while (!over.await(patience / 8, TimeUnit.MILLISECONDS)) {
        for (ReplicaLink link : links) {
          link.heartbeat(patience / 2);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // nobody does
    }
  }

  // Responses.

  /** The responses of all as those of one pipeline: one to the request, then acknowledgements. */
  private final class Input extends InputStream {
    private ByteArrayInputStream rest = new ByteArrayInputStream(new byte[0]);
    private boolean begun;

    @Override
    public int read() throws IOException {
      fill();
      return rest.read();
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      fill();
      return rest.read(to, offset, length);
    }

    private void fill() throws IOException {
      if (rest.available() > 0) {
        return;
      }
      ByteArrayOutputStream next = new ByteArrayOutputStream();
      if (begun) {
        acks.next().write(next);
      } else {
        begun = true;
        response().writeDelimitedTo(next);
      }
      rest = new ByteArrayInputStream(next.toByteArray());
    }

    @Override
    public void close() {
      ReplicaFan.this.close();
    }
  }

  /** What all nodes say to the request: the first one's objection, with the node's name, or none. */
  private BlockOpResponseProto response() throws IOException {
    BlockOpResponseProto last = null;
    for (ReplicaLink link : links) {
      try {
        last = link.readResponse();
      } catch (IOException e) {
        DFSClient.LOG.info("No response of " + link.node + " to a request to write a block", e);
        link.failUnlessInterrupted(e);
        last = BlockOpResponseProto.newBuilder().setStatus(Status.ERROR).setMessage(String.valueOf(e)).build();
      }
      if (last.getStatus() != Status.SUCCESS) {
        return last.toBuilder().setFirstBadLink(link.node.getXferAddr()).build();
      }
    }
    for (ReplicaLink link : links) {
      link.startReading();
    }
    if (patience > 0) {
      Thread beats = new Thread(this::keepAlive, "Heartbeats beside " + Thread.currentThread().getName());
      beats.setDaemon(true);
      beats.start();
    }
    return last.toBuilder().setFirstBadLink("").build();
  }
}

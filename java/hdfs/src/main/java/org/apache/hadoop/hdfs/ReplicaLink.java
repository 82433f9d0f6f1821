package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.channels.ClosedByInterruptException;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.datatransfer.IOStreamPair;
import org.apache.hadoop.hdfs.protocol.datatransfer.InvalidEncryptionKeyException;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.BlockOpResponseProto;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenIdentifier;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.token.Token;

/**
 * The connection to one of several DataNodes that a block is written to at a time. What goes wrong with it is kept, to
 * be told in the place of the node's acknowledgement. Thread-safe, for one thread that sends beside one that sends
 * heartbeats.
 */
final class ReplicaLink {
  /** More than this many that nobody waits for are no answers to packets. */
  private static final int ACKS = 16_384;

  /** Something to be sent. */
  interface Message {
    void write(OutputStream to) throws IOException;
  }

  final DatanodeInfo node;
  /** Told when there is an acknowledgement or a failure. */
  private final Object monitor;
  private final ArrayDeque<PipelineAck> acks = new ArrayDeque<>();
  private Socket socket;
  private OutputStream out;
  private InputStream in;
  private IOException failure;
  /** Held as long as a packet is sent, which another one must not be put into. */
  private final ReentrantLock sending = new ReentrantLock();
  private volatile long lastSent = System.nanoTime();
  /** Heartbeats that were sent; of the thread that sends. */
  private long beats;
  /** Heartbeats that were acknowledged; of the monitor. */
  private long beatsAcked;
  /** The node takes the next bytes for another request. */
  private boolean ended;

  ReplicaLink(DatanodeInfo node, Object monitor) {
    this.node = node;
    this.monitor = monitor;
  }

  /** Takes a connection over. */
  void take(Socket connected, OutputStream to, InputStream from) {
    socket = connected;
    out = to;
    in = from;
  }

  /**
   * Connects, as DataStreamer does to the first node of a pipeline.
   *
   * @throws InvalidEncryptionKeyException which DataStreamer mends
   */
  void connect(DFSClient client, Token<BlockTokenIdentifier> token) throws IOException {
    try {
      socket = DataStreamer.createSocketForPipeline(node, 1, client);
      OutputStream to = NetUtils.getOutputStream(socket, client.getDatanodeWriteTimeout(1));
      InputStream from = NetUtils.getInputStream(socket, client.getDatanodeReadTimeout(1));
      IOStreamPair pair = client.saslClient.socketSend(socket, to, from, client, token, node);
      out = pair.out;
      in = pair.in;
    } catch (InvalidEncryptionKeyException e) {
      throw e;
    } catch (IOException e) {
      failUnlessInterrupted(e);
    }
  }

  /**
   * Sends it, unless the connection has failed. That it fails is told by the responses.
   *
   * @param last whether it is the last of the block
   * @throws IOException if this thread is wanted elsewhere
   */
  void send(Message message, boolean last) throws IOException {
    sending.lock();
    try {
      ended = last;
      if (failure() == null) {
        message.write(out);
        out.flush();
        lastSent = System.nanoTime();
      }
    } catch (IOException e) {
      failUnlessInterrupted(e);
    } finally {
      sending.unlock();
    }
  }

  /** Sends a heartbeat if the node has been sent nothing for so many milliseconds, and nothing is being sent. */
  void heartbeat(int millis) {
    if (System.nanoTime() - lastSent < TimeUnit.MILLISECONDS.toNanos(millis) || !sending.tryLock()) {
      return;
    }
    try {
      beat(0);
    } catch (IOException e) {
      fail(e);
    } finally {
      sending.unlock();
    }
  }

  /**
   * Tells the node by a heartbeat how many bytes of the block every replica has, which makes them visible.
   *
   * @return how many heartbeats it was sent with this one
   * @throws IOException if this thread is wanted elsewhere; that the node can't be told is told by the responses
   */
  long tell(long length) throws IOException {
    sending.lock();
    try {
      beat(length);
      return beats;
    } catch (IOException e) {
      failUnlessInterrupted(e);
      return beats;
    } finally {
      sending.unlock();
    }
  }

  private void beat(long length) throws IOException {
    if (!ended && failure() == null) {
      beats++;
      out.write(new PacketHeader(Integer.BYTES, length, DFSPacket.HEART_BEAT_SEQNO, false, 0, false).getBytes());
      out.flush();
      lastSent = System.nanoTime();
    }
  }

  /** The answer to the request to write. @throws IOException also what failed before */
  BlockOpResponseProto readResponse() throws IOException {
    IOException before = failure();
    if (before != null) {
      throw before;
    }
    return BlockOpResponseProto.parseFrom(PBHelperClient.vintPrefixed(in));
  }

  /** From now on acknowledgements are read as they come. */
  void startReading() {
    Thread reader = new Thread(this::read, "Acknowledgements of " + node);
    reader.setDaemon(true);
    reader.start();
  }

  private void read() {
    try {
      for (;;) {
        PipelineAck ack = new PipelineAck();
        ack.readFields(in);
        synchronized (monitor) {
          if (ack.getSeqno() == DFSPacket.HEART_BEAT_SEQNO && ack.isSuccess()) {
            beatsAcked++;
            monitor.notifyAll();
            continue;
          }
          if (acks.size() == ACKS) {
            throw new IOException(node + " acknowledges more than it was sent");
          }
          acks.add(ack);
          monitor.notifyAll();
        }
      }
    } catch (IOException | RuntimeException e) {
      fail(e instanceof IOException ? (IOException) e : new IOException(e));
    }
  }

  // Under the monitor.

  /** Heartbeats that the node has acknowledged. */
  long beatsAcked() {
    return beatsAcked;
  }

  /** The next acknowledgement, or null. */
  PipelineAck peek() {
    return acks.peek();
  }

  void remove() {
    acks.remove();
  }

  /** What has ended the connection, or null. Acknowledgements that came before are there all the same. */
  IOException failure() {
    synchronized (monitor) {
      return failure;
    }
  }

  private void fail(IOException cause) {
    synchronized (monitor) {
      if (failure == null) {
        failure = cause;
        monitor.notifyAll();
      }
    }
    close();
  }

  /** @throws IOException the given one, if this thread is wanted elsewhere: that says nothing of the node */
  void failUnlessInterrupted(IOException cause) throws IOException {
    boolean interrupted = cause instanceof ClosedByInterruptException
        || cause instanceof InterruptedIOException && !(cause instanceof SocketTimeoutException);
    if (interrupted) {
      throw cause;
    }
    fail(cause);
  }

  /** Ends the connection. */
  void close() {
    if (socket != null) {
      IOUtils.closeSocket(socket);
    }
  }
}

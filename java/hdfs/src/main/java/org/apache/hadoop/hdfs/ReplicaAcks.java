package org.apache.hadoop.hdfs;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck.ECN;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;

/**
 * The acknowledgements of all replicas of a {@link ReplicaFan}, put together as those of one pipeline.
 *
 * <p>A reader may see no byte that a recovery can drop, so none that a replica lacks. No replica knows what the others
 * have. So what all of them have acknowledged is told to each ({@link ReplicaLink#tell}), and the writer gets its
 * acknowledgements when that was acknowledged, too. Packets that are acknowledged meanwhile go into the next round.
 *
 * <p>One thread takes acknowledgements, one notes what is sent. This object is the monitor of the links.
 */
final class ReplicaAcks {
  private ReplicaLink[] links;
  /** Packets that were sent and not acknowledged by all, in order. */
  private final ArrayDeque<PacketHeader> sent = new ArrayDeque<>();
  /** Acknowledged by all replicas, which have not been told yet. */
  private final ArrayDeque<PipelineAck> together = new ArrayDeque<>();
  /** For the writer. */
  private final ArrayDeque<PipelineAck> ready = new ArrayDeque<>();
  /** Bytes of the block that all replicas have. */
  private long length;
  private boolean closed;

  /** Before anything else is called. */
  void begin(ReplicaLink[] all) {
    links = all;
  }

  /** A packet is going to be sent to all. */
  synchronized void sending(PacketHeader packet) {
    sent.add(packet);
  }

  synchronized void close() {
    closed = true;
    notifyAll();
  }

  /** Waits for the next one. */
  PipelineAck next() throws IOException {
    while (true) {
      int told;
      synchronized (this) {
        PipelineAck next = ready.isEmpty() ? gather() : ready.poll();
        if (next != null) {
          return next;
        }
        told = together.size();
      }
      long[] beats = new long[links.length];
      for (int i = 0; i < links.length; i++) {
        beats[i] = links[i].tell(length); // without the monitor: a sender asks for it
      }
      synchronized (this) {
        PipelineAck bad = awaitTold(beats);
        if (bad != null) {
          return bad;
        }
        for (int i = 0; i < told; i++) {
          ready.add(together.poll());
        }
      }
    }
  }

  /**
   * Waits until there is something that all have acknowledged.
   *
   * @return what needs no telling: a restart, a failure, the end of the block; null if the replicas are to be told
   */
  private PipelineAck gather() throws IOException {
    while (true) {
      PipelineAck urgent = urgent();
      if (urgent != null) {
        return urgent;
      }
      while (Arrays.stream(links).allMatch(link -> link.peek() != null)) {
        PipelineAck ack = merge();
        boolean last = sent.isEmpty() || sent.poll().isLastPacketInBlock(); // finalized: visible as a whole
        if (!ack.isSuccess() || last) {
          together.add(ack);
          ready.addAll(together);
          together.clear();
          return ready.poll();
        }
        together.add(ack);
      }
      if (!together.isEmpty()) {
        return null;
      }
      await();
    }
  }

  /** @return a failure, or null when every replica has acknowledged so many heartbeats */
  private PipelineAck awaitTold(long[] beats) throws IOException {
    while (true) {
      boolean all = true;
      for (int i = 0; i < links.length; i++) {
        all &= links[i].beatsAcked() >= beats[i];
      }
      if (all) {
        return null;
      }
      PipelineAck urgent = urgent();
      if (urgent != null) {
        return urgent;
      }
      await();
    }
  }

  /** What one node says of itself, or what became of its connection; null if there is no news. */
  private PipelineAck urgent() throws IOException {
    if (closed) {
      throw new ClosedChannelException();
    }
    for (int i = 0; i < links.length; i++) {
      PipelineAck ack = links[i].peek();
      if (ack != null && ack.getOOBStatus() != null) {
        links[i].remove();
        return only(i, ack.getHeaderFlag(0));
      }
      if (ack == null && links[i].failure() != null) {
        DFSClient.LOG.warn("Lost the connection to " + links[i].node, links[i].failure());
        return only(i, PipelineAck.combineHeader(ECN.DISABLED, Status.ERROR));
      }
    }
    return null;
  }

  private void await() throws IOException {
    try {
      wait();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("Interrupted while waiting for acknowledgements");
    }
  }

  /** Says something of one node, and nothing of the others. */
  private PipelineAck only(int node, int header) {
    int[] headers = new int[links.length];
    Arrays.fill(headers, PipelineAck.combineHeader(ECN.DISABLED, Status.SUCCESS));
    headers[node] = header;
    return new PipelineAck(PipelineAck.UNKOWN_SEQNO, headers);
  }

  /** The next acknowledgement of each. */
  private PipelineAck merge() throws IOException {
    int[] headers = new int[links.length];
    long seqno = links[0].peek().getSeqno();
    for (int i = 0; i < links.length; i++) {
      PipelineAck ack = links[i].peek();
      if (ack.getSeqno() != seqno || ack.getNumOfReplies() != 1) {
        DFSClient.LOG.warn(links[i].node + " acknowledges " + ack + " where " + seqno + " is next");
        return only(i, PipelineAck.combineHeader(ECN.DISABLED, Status.ERROR));
      }
      headers[i] = ack.getHeaderFlag(0);
      links[i].remove();
    }
    PacketHeader packet = sent.peek();
    if (packet != null && packet.getSeqno() == seqno) {
      length = Math.max(length, packet.getOffsetInBlock() + packet.getDataLen());
    }
    return new PipelineAck(seqno, headers);
  }
}

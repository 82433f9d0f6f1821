package org.apache.hadoop.hdfs.net;

import io.howdah.engine.DirectWrite;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketReceiver;
import org.apache.hadoop.hdfs.protocol.datatransfer.PipelineAck;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;
import org.apache.hadoop.util.DataChecksum;

/**
 * What DataXceiver and BlockReceiver ask for, so that packets of a pipeline stay in the engine's memory from their
 * arrival to the disk and to the next DataNode. Whatever does not come or go over a stream itself (sockets, what SASL
 * or encryption wraps) gets what stock HDFS makes.
 */
public final class RdmaPackets {
  private RdmaPackets() {
  }

  // Streams.

  /** Buffers what a DataXceiver reads; a stream has a buffer of its own. */
  public static InputStream buffered(InputStream in, int size) {
    return in instanceof RdmaInput ? in : new BufferedInputStream(in, size);
  }

  /** What a DataXceiver reads. */
  public static DataInputStream input(InputStream in) {
    return in instanceof RdmaInput ? new RdmaDataInput((RdmaInput) in) : new DataInputStream(in);
  }

  /** What goes to the next DataNode of a pipeline. */
  public static DataOutputStream output(OutputStream out, int size) {
    return out instanceof RdmaOutput ? new RdmaDataOutput((RdmaOutput) out, size)
        : new DataOutputStream(new BufferedOutputStream(out, size));
  }

  /** What a DataXceiver says before it sends a block: it goes with the first bytes. */
  public static OutputStream held(OutputStream out) throws IOException {
    if (!(out instanceof RdmaOutput)) {
      return out;
    }
    ((RdmaOutput) out).beginRead();
    return ((RdmaOutput) out).hold();
  }

  /** Receives a block's packets. @param strategy of the request to write it */
  public static PacketReceiver receiver(DataInputStream in, CachingStrategy strategy) {
    boolean beside = ReplicaLength.isMarked(strategy);
    if (in instanceof RdmaDataInput) {
      return new RdmaPacketReceiver(((RdmaDataInput) in).stream(), beside);
    }
    return beside ? new BesideReceiver() : new PacketReceiver(false);
  }

  /** Of a replica that is written beside others, and not over a stream itself. */
  private static final class BesideReceiver extends PacketReceiver {
    BesideReceiver() {
      super(false);
    }
  }

  /** Whether a packet that is acknowledged makes the bytes up to its end visible ({@link ReplicaLength}). */
  public static boolean isShown(PacketReceiver receiver, PipelineAck ack) {
    boolean beside = receiver instanceof BesideReceiver
        || receiver instanceof RdmaPacketReceiver && ((RdmaPacketReceiver) receiver).isBeside();
    return ReplicaLength.isShown(beside, ack);
  }

  /** Verifies a packet's checksums, if that was not done before. */
  public static void verify(PacketReceiver receiver, DataChecksum checksum, ByteBuffer data, ByteBuffer sums,
      String client) throws ChecksumException {
    if (!(receiver instanceof RdmaPacketReceiver)) {
      checksum.verifyChunkedSums(data, sums, client, 0);
    } else if (!((RdmaPacketReceiver) receiver).isVerified(checksum)) {
      checksum.verifyChunkedSums(data, ((RdmaPacketReceiver) receiver).sumsToVerify(sums), client, 0);
    }
  }

  // A packet's data: with an array, or in the engine's memory.

  /** Where it begins: in the array, or in the buffer. */
  public static int start(ByteBuffer data) {
    return data.position() + (data.hasArray() ? data.arrayOffset() : 0);
  }

  /** The array, or a copy with the bytes at the same places as in the buffer. */
  public static byte[] array(ByteBuffer data) {
    if (data.hasArray()) {
      return data.array();
    }
    byte[] bytes = new byte[data.limit()];
    ByteBuffer all = data.duplicate();
    all.position(0);
    all.get(bytes);
    return bytes;
  }

  /** Writes a part of it, from {@link #start} on, to a file. */
  public static void write(OutputStream file, ByteBuffer data, int start, int length) throws IOException {
    if (data.hasArray() || !(file instanceof FileOutputStream)) {
      file.write(array(data), start, length);
      return;
    }
    ByteBuffer part = data.duplicate();
    part.limit(start + length).position(start);
    DirectWrite.write((FileOutputStream) file, part);
  }
}

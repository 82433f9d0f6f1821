package org.apache.hadoop.hdfs.net;

import io.howdah.engine.RegisteredBuffer;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketReceiver;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;

/**
 * Receives the packets of a block. One that came as a message of its own, which is how clients and DataNodes of ours
 * send them, is left where it arrived: its data is read there and the message goes to the next DataNode. Any other one
 * (small, or in several messages) is put together by the superclass.
 */
final class RdmaPacketReceiver extends PacketReceiver {
  /** Length of the payload and of the header. */
  private static final int LENGTHS = PacketHeader.PKT_LENGTHS_LEN;

  private final RdmaInput in;
  private final MutableCounterLong inPlace = RdmaMetrics.get().serverPacketsInPlace();
  /** The packet in the engine's memory, or null. */
  private RegisteredBuffer packet;
  private PacketHeader header;
  private ByteBuffer checksums;
  private ByteBuffer data;

  RdmaPacketReceiver(RdmaInput in) {
    super(false);
    this.in = in;
  }

  @Override
  public void receiveNextPacket(InputStream from) throws IOException {
    drop();
    RegisteredBuffer message = in.take();
    if (message != null) {
      boolean fits = false;
      try {
        fits = adopt(message);
      } finally {
        if (!fits) {
          in.giveBack(message);
        }
      }
    }
    if (packet == null) {
      super.receiveNextPacket(from);
    }
  }

  /** Takes a message that is a packet with data, neither more nor less. What it says is the peer's claim. */
  private boolean adopt(RegisteredBuffer message) throws IOException {
    ByteBuffer bytes = message.buffer().duplicate();
    if (message.length() < RdmaOutput.LARGE) {
      return false;
    }
    int payload = bytes.getInt(0);
    int headerLength = bytes.getShort(Integer.BYTES);
    int sumsAt = LENGTHS + headerLength;
    if (headerLength < 0 || payload < Integer.BYTES || sumsAt + (long) payload - Integer.BYTES != message.length()) {
      return false;
    }
    byte[] fields = new byte[headerLength];
    bytes.position(LENGTHS);
    bytes.get(fields);
    PacketHeader said = new PacketHeader();
    said.setFieldsFromData(payload, fields);
    int dataAt = message.length() - said.getDataLen();
    if (said.getDataLen() <= 0 || dataAt < sumsAt || said.isLastPacketInBlock()) {
      return false;
    }
    byte[] sums = new byte[dataAt - sumsAt];
    bytes.get(sums);
    inPlace.incr();
    packet = message;
    header = said;
    checksums = ByteBuffer.wrap(sums); // BlockReceiver wants an array
    data = message.slice(dataAt, said.getDataLen());
    return true;
  }

  @Override
  public PacketHeader getHeader() {
    return packet != null ? header : super.getHeader();
  }

  @Override
  public ByteBuffer getDataSlice() {
    return packet != null ? data : super.getDataSlice();
  }

  @Override
  public ByteBuffer getChecksumSlice() {
    return packet != null ? checksums : super.getChecksumSlice();
  }

  @Override
  public void mirrorPacketTo(DataOutputStream mirror) throws IOException {
    if (packet == null) {
      super.mirrorPacketTo(mirror);
    } else if (mirror instanceof RdmaDataOutput) {
      ((RdmaDataOutput) mirror).send(packet);
    } else {
      byte[] copy = new byte[packet.length()];
      packet.slice(0, copy.length).get(copy);
      mirror.write(copy);
    }
  }

  private void drop() {
    RegisteredBuffer done = packet;
    packet = null;
    if (done != null) {
      done.release();
    }
  }

  /** By the thread that receives, or by another one after the last packet, which is never here. */
  @Override
  public void close() {
    drop();
    super.close();
  }
}

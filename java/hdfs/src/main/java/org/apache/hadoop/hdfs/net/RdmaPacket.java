package org.apache.hadoop.hdfs.net;

import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;

/** A packet with data that is a message of its own, left where it arrived, and what was done with it so far. */
final class RdmaPacket {
  /** Length of the payload and of the header. */
  private static final int LENGTHS = PacketHeader.PKT_LENGTHS_LEN;

  final RegisteredBuffer message;
  final PacketHeader header;
  final ByteBuffer checksums;
  final ByteBuffer data;
  /** Whether its checksums were found to be right. */
  boolean verified;
  /** Whether the next DataNode was sent it. */
  boolean forwarded;
  /** Why it could not be; null if it was not tried, or was sent. */
  IOException failure;
  /** When it began to wait for the thread that writes it. */
  long queuedAt;

  private RdmaPacket(RegisteredBuffer message, PacketHeader header, ByteBuffer checksums, ByteBuffer data) {
    this.message = message;
    this.header = header;
    this.checksums = checksums;
    this.data = data;
  }

  /**
   * Looks whether a message is a packet with data, neither more nor less. What it says is the peer's claim.
   *
   * @return null if not: then it is the caller's still
   */
  static RdmaPacket of(RegisteredBuffer message) throws IOException {
    ByteBuffer bytes = message.buffer().duplicate();
    if (message.length() < RdmaOutput.LARGE) {
      return null;
    }
    int payload = bytes.getInt(0);
    int headerLength = bytes.getShort(Integer.BYTES);
    int sumsAt = LENGTHS + headerLength;
    if (headerLength < 0 || payload < Integer.BYTES || sumsAt + (long) payload - Integer.BYTES != message.length()) {
      return null;
    }
    byte[] fields = new byte[headerLength];
    bytes.position(LENGTHS);
    bytes.get(fields);
    PacketHeader said = new PacketHeader();
    said.setFieldsFromData(payload, fields);
    int dataAt = message.length() - said.getDataLen();
    if (said.getDataLen() <= 0 || dataAt < sumsAt || said.isLastPacketInBlock()) {
      return null;
    }
    byte[] sums = new byte[dataAt - sumsAt];
    bytes.get(sums);
    // BlockReceiver wants an array for the checksums.
    return new RdmaPacket(message, said, ByteBuffer.wrap(sums), message.slice(dataAt, said.getDataLen()));
  }
}

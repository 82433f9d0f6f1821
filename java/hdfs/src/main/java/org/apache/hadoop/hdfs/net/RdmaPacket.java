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
  /** A copy with an array, which BlockReceiver writes. */
  final ByteBuffer checksums;
  /** Where they arrived, direct as the data: DataChecksum gives libhadoop buffers of no other kind. */
  final ByteBuffer checksumsInPlace;
  final ByteBuffer data;
  /** Whether its checksums were found to be right. */
  boolean verified;
  /** Whether the next DataNode was sent it. */
  boolean forwarded;
  /** Why it could not be; null if it was not tried, or was sent. */
  IOException failure;
  /** When it began to wait for the thread that writes it. */
  long queuedAt;

  private RdmaPacket(RegisteredBuffer message, PacketHeader header, int checksumsAt, int dataAt) {
    this.message = message;
    this.header = header;
    this.checksumsInPlace = message.slice(checksumsAt, dataAt - checksumsAt);
    byte[] copy = new byte[dataAt - checksumsAt];
    checksumsInPlace.duplicate().get(copy);
    this.checksums = ByteBuffer.wrap(copy);
    this.data = message.slice(dataAt, header.getDataLen());
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
    return new RdmaPacket(message, said, sumsAt, dataAt);
  }
}

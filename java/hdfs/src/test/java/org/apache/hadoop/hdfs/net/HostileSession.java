package org.apache.hadoop.hdfs.net;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.datatransfer.BlockConstructionStage;
import org.apache.hadoop.hdfs.protocol.datatransfer.PacketHeader;
import org.apache.hadoop.hdfs.protocol.datatransfer.Sender;
import org.apache.hadoop.hdfs.security.token.block.BlockTokenSecretManager;
import org.apache.hadoop.hdfs.server.datanode.CachingStrategy;
import org.apache.hadoop.util.DataChecksum;

/**
 * What a client says to a DataNode, as the pieces that it would send, and ways to spoil it. Each piece is one write, so
 * over the engine one message.
 */
final class HostileSession {
  /** Lengths that somebody may have forgotten to look at. */
  private static final int[] LENGTHS = {
      0, 1, 3, 4, 5, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE - 3, 16 << 20, (16 << 20) + 1, 1 << 30,
  };
  private static final DataChecksum CHECKSUM = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, 512);

  private final Random random;
  final List<byte[]> pieces = new ArrayList<>();

  private HostileSession(Random random) {
    this.random = random;
  }

  // What is well formed.

  /** Writes a block as the only node of its pipeline, or the last one. */
  static HostileSession write(Random random, ExtendedBlock block, byte[] data) throws IOException {
    HostileSession session = new HostileSession(random);
    session.request(sender -> sender.writeBlock(block, StorageType.DEFAULT, BlockTokenSecretManager.DUMMY_TOKEN,
        "hostile", new DatanodeInfo[0], new StorageType[0], null, BlockConstructionStage.PIPELINE_SETUP_CREATE, 1, 0, 0,
        0, CHECKSUM, CachingStrategy.newDefaultStrategy(), false, false, null));
    int seqno = 0;
    for (int at = 0; at < data.length;) {
      int length = Math.min(data.length - at, random.nextBoolean() ? 65_024 : 512 * (1 + random.nextInt(100)));
      session.pieces.add(packet(at, seqno++, false, data, length));
      at += length;
    }
    session.pieces.add(packet(data.length, seqno, true, data, 0));
    return session;
  }

  /** Reads a part of a block, or asks for what may not exist. */
  static HostileSession read(Random random, ExtendedBlock block) throws IOException {
    HostileSession session = new HostileSession(random);
    long offset = random.nextInt(3) == 0 ? random.nextLong() : random.nextInt(100_000);
    long length = random.nextInt(3) == 0 ? random.nextLong() : random.nextInt(100_000);
    session.request(sender -> sender.readBlock(block, BlockTokenSecretManager.DUMMY_TOKEN, "hostile", offset, length,
        random.nextBoolean(), CachingStrategy.newDefaultStrategy()));
    return session;
  }

  /** Asks for a block's checksum. */
  static HostileSession checksum(Random random, ExtendedBlock block) throws IOException {
    HostileSession session = new HostileSession(random);
    session.request(sender -> sender.blockChecksum(block, BlockTokenSecretManager.DUMMY_TOKEN));
    return session;
  }

  /** Bytes that say nothing. */
  static HostileSession noise(Random random) {
    HostileSession session = new HostileSession(random);
    for (int i = 1 + random.nextInt(4); i > 0; i--) {
      byte[] bytes = new byte[1 + random.nextInt(random.nextBoolean() ? 100 : 100_000)];
      random.nextBytes(bytes);
      session.pieces.add(bytes);
    }
    return session;
  }

  private interface Request {
    void send(Sender to) throws IOException;
  }

  private void request(Request request) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    request.send(new Sender(new DataOutputStream(bytes)));
    pieces.add(bytes.toByteArray());
  }

  private static byte[] packet(int at, long seqno, boolean last, byte[] data, int length) {
    byte[] sums = new byte[(length + 511) / 512 * 4];
    CHECKSUM.calculateChunkedSums(data, at, length, sums, 0);
    PacketHeader header = new PacketHeader(4 + sums.length + length, at, seqno, last, length, false);
    ByteBuffer bytes = ByteBuffer.allocate(header.getSerializedSize() + sums.length + length);
    header.putInBuffer(bytes);
    bytes.put(sums).put(data, at, length);
    return bytes.array();
  }

  // What is not. Each changes the session, and returns it.

  /** The same bytes in other pieces; this is no offence. */
  HostileSession cutAnew() {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] piece : pieces) {
      all.write(piece, 0, piece.length);
    }
    pieces.clear();
    ByteBuffer left = ByteBuffer.wrap(all.toByteArray());
    while (left.hasRemaining()) {
      int most = random.nextInt(3) == 0 ? 20 : 150_000;
      byte[] piece = new byte[Math.min(left.remaining(), 1 + random.nextInt(most))];
      left.get(piece);
      pieces.add(piece);
    }
    return this;
  }

  /** Goes in the middle. */
  HostileSession stop() {
    int keep = random.nextInt(pieces.size());
    byte[] half = pieces.get(keep);
    half = java.util.Arrays.copyOf(half, random.nextInt(half.length));
    pieces.subList(keep, pieces.size()).clear();
    if (half.length > 0) {
      pieces.add(half);
    }
    return this;
  }

  /** Something is wrong with some of the bytes, mostly where lengths are. */
  HostileSession damage() {
    for (int i = 1 + random.nextInt(4); i > 0; i--) {
      int which = random.nextInt(pieces.size());
      byte[] piece = pieces.get(which);
      int most = random.nextInt(3) == 0 ? piece.length : Math.min(piece.length, 40);
      int at = random.nextInt(most);
      switch (random.nextInt(4)) {
        case 0:
          piece[at] ^= 1 << random.nextInt(8);
          break;
        case 1:
          putLength(piece, at);
          break;
        case 2:
          putLength(piece, 0); // a packet's first word, or the version and the operation
          break;
        default:
          pieces.set(which, spliced(piece, at));
      }
    }
    return this;
  }

  private void putLength(byte[] piece, int at) {
    if (at + Integer.BYTES <= piece.length) {
      ByteBuffer.wrap(piece).putInt(at, LENGTHS[random.nextInt(LENGTHS.length)]);
    }
  }

  /** With some bytes more or less. */
  private byte[] spliced(byte[] piece, int at) {
    byte[] more = new byte[random.nextInt(8)];
    random.nextBytes(more);
    int skip = Math.min(piece.length - at, random.nextInt(8));
    ByteBuffer made = ByteBuffer.allocate(piece.length - skip + more.length + 1);
    made.put(piece, 0, at).put(more).put(piece, at + skip, piece.length - at - skip).put((byte) 0);
    return made.array();
  }

  /** Packets come twice, not at all, or in another order. */
  HostileSession disorder() {
    int from = random.nextInt(pieces.size());
    int to = random.nextInt(pieces.size());
    switch (random.nextInt(3)) {
      case 0:
        pieces.add(to, pieces.get(from));
        break;
      case 1:
        pieces.add(to, pieces.remove(from));
        break;
      default:
        if (pieces.size() > 1) {
          pieces.remove(from);
        }
    }
    return this;
  }

  /** A packet's header that promises other lengths than there are. */
  HostileSession lie() {
    int which = random.nextInt(pieces.size());
    byte[] body = new byte[random.nextInt(70_000)];
    int said = random.nextBoolean() ? LENGTHS[random.nextInt(LENGTHS.length)] : random.nextInt(2 * body.length + 1);
    int payload = random.nextBoolean() ? Integer.BYTES + body.length : LENGTHS[random.nextInt(LENGTHS.length)];
    long offset = random.nextInt(3) == 0 ? random.nextLong() : 0;
    PacketHeader header = new PacketHeader(Integer.BYTES, offset, which, random.nextInt(4) == 0, said,
        random.nextBoolean());
    ByteBuffer bytes = ByteBuffer.allocate(header.getSerializedSize() + body.length);
    header.putInBuffer(bytes);
    bytes.putInt(0, payload); // which PacketHeader would not take
    bytes.put(body);
    pieces.add(which, bytes.array());
    return this;
  }
}

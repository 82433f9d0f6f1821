package org.apache.spark.network.rdma;

import io.howdah.engine.EngineStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;
import scala.reflect.ClassTag;

/** A block of ours that a peer is to keep as well. */
final class Upload {
  private static final int PIECE = 256 << 10;

  private final BlockId block;
  private final ManagedBuffer data;
  private final byte[] metadata;

  /** @param serializer the one that stock Spark takes for level and class */
  Upload(BlockId block, ManagedBuffer data, StorageLevel level, ClassTag<?> type, JavaSerializer serializer) {
    this.block = block;
    this.data = data;
    Object how = new Tuple2<>(level, type);
    this.metadata = JavaUtils.bufferToArray(serializer.newInstance().serialize(how, UploadReceiver.ANY));
  }

  /** Sends it and waits until it is stored. */
  void send(ClientSession session, int timeoutMillis) throws IOException {
    try (EngineStream stream = session.link().open(session.service())) {
      stream.readTimeout(timeoutMillis).writeTimeout(timeoutMillis);
      ByteBuffer bytes = data.nioByteBuffer();
      Handshake.send(stream, header(session, bytes.remaining()));
      try {
        write(stream, bytes);
      } catch (IOException e) {
        answer(stream, e); // it may have said why it wants no more
        throw e;
      }
      answer(stream, null);
    }
  }

  /** In pieces, of which the receiver needs memory for a few at a time. */
  private static void write(EngineStream stream, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      ByteBuffer piece = bytes.duplicate();
      piece.limit(piece.position() + Math.min(PIECE, piece.remaining()));
      stream.write(piece);
      bytes.position(piece.position());
    }
  }

  private ByteBuffer header(ClientSession session, int length) {
    byte[] name = block.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8);
    ByteBuffer header = ByteBuffer.allocate(2 + 2 * Long.BYTES + 2 * Integer.BYTES + name.length + metadata.length);
    header.put(Handshake.VERSION).put(Handshake.UPLOAD).putLong(session.id());
    return header.putInt(name.length).put(name).putInt(metadata.length).put(metadata).putLong(length);
  }

  private void answer(EngineStream stream, IOException before) throws IOException {
    ByteBuffer answer;
    try {
      answer = Handshake.receive(stream);
    } catch (IOException e) {
      throw before == null ? e : before;
    }
    if (!answer.hasRemaining() || answer.get() != UploadReceiver.STORED) {
      throw new IOException(stream.peer() + " has not stored " + block + ": " + BlockRequest.text(answer), before);
    }
  }
}

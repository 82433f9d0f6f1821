package org.apache.spark.network.rdma;

import io.howdah.engine.EngineStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.function.LongPredicate;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Takes a block that a peer wants to be kept here: a header, its bytes, and our answer, on a stream. Thread-safe. */
final class UploadReceiver implements BlockServer.Uploads {
  static final byte STORED = 0;
  static final byte FAILED = 1;
  static final ClassTag<Object> ANY = ClassTag$.MODULE$.apply(Object.class);

  private static final int LENGTH_MAX = Integer.MAX_VALUE - 64;

  private final JavaSerializer serializer;
  private final BlockDataManager blocks;

  UploadReceiver(JavaSerializer serializer, BlockDataManager blocks) {
    this.serializer = serializer;
    this.blocks = blocks;
  }

  @Override
  public void receive(EngineStream stream, ByteBuffer header, LongPredicate sessions) throws IOException {
    String failure = "";
    try {
      if (header.remaining() < Long.BYTES || !sessions.test(header.getLong())) {
        throw new IllegalArgumentException("there is no such session");
      }
      BlockId block = ExecutorBlocks.id(BlockRequest.text(header));
      byte[] metadata = BlockRequest.bytes(header);
      long length = header.remaining() < Long.BYTES ? -1 : header.getLong();
      if (length < 0 || length > LENGTH_MAX) {
        throw new IllegalArgumentException("a block of " + length + " bytes");
      }
      store(block, metadata, read(stream, (int) length));
    } catch (RuntimeException | OutOfMemoryError e) {
      BlockLog.LOG.warn("A block of {} could not be stored", stream.peer(), e);
      failure = e.toString();
    }
    byte[] text = failure.getBytes(StandardCharsets.UTF_8);
    ByteBuffer answer = ByteBuffer.allocate(1 + Integer.BYTES + text.length);
    answer.put(failure.isEmpty() ? STORED : FAILED).putInt(text.length).put(text);
    Handshake.send(stream, answer);
    stream.shutdownOutput();
  }

  private static ByteBuffer read(EngineStream stream, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    while (bytes.hasRemaining()) {
      if (stream.read(bytes) < 0) {
        throw new EOFException(stream.peer() + " has sent " + bytes.position() + " of " + length + " bytes");
      }
    }
    bytes.flip();
    return bytes;
  }

  /** As stock Spark does with what came over Netty. */
  private void store(BlockId block, byte[] metadata, ByteBuffer bytes) {
    Tuple2<?, ?> how = (Tuple2<?, ?>) serializer.newInstance().deserialize(ByteBuffer.wrap(metadata), ANY);
    blocks.putBlockData(block, new NioManagedBuffer(bytes), (StorageLevel) how._1(), (ClassTag<?>) how._2());
  }
}

package org.apache.hadoop.ipc;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Message;
import io.howdah.engine.Engine;
import io.howdah.engine.EngineStream;
import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.apache.hadoop.io.Writable;

/**
 * Where a thread serialises a call or a response: into memory that is sent as it is, with the length in front as
 * ResponseBuffer has it. What is expected to be small goes into memory of the thread that the engine copies into a
 * frame, anything else into a registered buffer of the size that messages of the kind had last. Each thread has one.
 */
final class RdmaBuffer extends ResponseBuffer {
  private static final int FRAMING = 4;
  /** Up to here the engine's copy into a frame costs less than taking a buffer. */
  private static final int SMALL = 8 * 1024;
  /** Fields of bytes pass through this in pieces; it is to stay in the processor's nearest cache. */
  private static final int CODED = 4 * 1024;
  private static final ThreadLocal<RdmaBuffer> BUFFERS = ThreadLocal.withInitial(RdmaBuffer::new);

  private final ByteBuffer small = ByteBuffer.allocateDirect(SMALL);
  private Engine engine;
  private RegisteredBuffer large;
  private ByteBuffer to = small;
  /** Empty between messages; null if it has to be made. One for all messages: each would make its own otherwise. */
  private CodedOutputStream coded;

  /** What DataOutputStream writes to. */
  private final class Sink extends OutputStream {
    @Override
    public void write(int b) throws IOException {
      if (!to.hasRemaining()) {
        grow(1);
      }
      to.put((byte) b);
    }

    @Override
    public void write(byte[] from, int offset, int length) throws IOException {
      if (to.remaining() < length) {
        grow(length);
      }
      to.put(from, offset, length);
    }
  }

  private RdmaBuffer() {
    super(0);
    out = new Sink();
  }

  /** This thread's buffer, empty. What it held and was not sent is dropped. */
  static RdmaBuffer start(Engine engine, int expected) throws IOException {
    RdmaBuffer buffer = BUFFERS.get();
    buffer.engine = engine;
    buffer.reset();
    if (expected + FRAMING > SMALL) {
      buffer.large = engine.allocate(expected + FRAMING);
      buffer.to = buffer.large.buffer();
      buffer.to.clear().position(FRAMING);
    }
    return buffer;
  }

  /** Writes a message with its length in front, as its writeDelimitedTo() does. */
  void write(Message message) throws IOException {
    CodedOutputStream coder = coded != null ? coded : CodedOutputStream.newInstance(out, CODED);
    coded = null; // half a message may be left in it
    coder.writeRawVarint32(message.getSerializedSize());
    message.writeTo(coder);
    coder.flush();
    coded = coder;
  }

  /** Writes a value as RpcWritable does. */
  void write(Writable value) throws IOException {
    if (value instanceof RpcWritable.ProtobufWrapper) {
      write(((RpcWritable.ProtobufWrapper) value).getMessage());
    } else {
      RpcWritable.wrap(value).writeTo(this);
    }
  }

  private void grow(int more) throws IOException {
    long wished = Math.max(2L * to.capacity(), (long) to.position() + more);
    if (wished > Integer.MAX_VALUE - FRAMING) {
      if ((long) to.position() + more > Integer.MAX_VALUE - FRAMING) {
        throw new IOException("an RPC message of more than 2 GB");
      }
      wished = Integer.MAX_VALUE - FRAMING;
    }
    RegisteredBuffer larger = engine.allocate((int) wished);
    ByteBuffer into = larger.buffer();
    into.clear();
    to.flip();
    into.put(to);
    drop();
    large = larger;
    to = into;
  }

  private void drop() {
    to = small;
    if (large != null) {
      large.release();
      large = null;
    }
  }

  /** Bytes without the framing. */
  int length() {
    return to.position() - FRAMING;
  }

  /** Ends the message. @return it, good until this thread starts the next one */
  ByteBuffer finish() {
    to.putInt(0, length());
    to.flip();
    return to;
  }

  /** This thread's finished message if that is it, else null. */
  static RdmaBuffer holding(ByteBuffer message) {
    if (!message.isDirect()) {
      return null;
    }
    RdmaBuffer buffer = BUFFERS.get();
    return buffer.to == message ? buffer : null;
  }

  /** Sends the finished message as one of the stream. @return false if there was no room in time */
  boolean sendOn(EngineStream stream) throws IOException {
    return large == null ? stream.send(to) : stream.send(large, 0, to.limit());
  }

  /** Gives memory that is not the thread's own back. */
  void done() {
    drop();
  }

  // What ResponseBuffer does with its array.

  @Override
  public void writeTo(OutputStream other) throws IOException {
    other.write(toByteArray());
  }

  @Override
  byte[] toByteArray() {
    ByteBuffer copy = to.duplicate();
    copy.putInt(0, length());
    copy.flip();
    byte[] bytes = new byte[copy.remaining()];
    copy.get(bytes);
    return bytes;
  }

  @Override
  int capacity() {
    return to == null ? 0 : to.capacity() - FRAMING;
  }

  @Override
  void setCapacity(int capacity) {
    // The memory is as large as it needs to be.
  }

  @Override
  void ensureCapacity(int more) {
    if (to.remaining() < more) {
      try {
        grow(more);
      } catch (IOException e) {
        RdmaRpc.LOG.debug("no larger buffer now; the write will say so", e);
      }
    }
  }

  @Override
  ResponseBuffer reset() {
    written = 0;
    drop();
    to.clear().position(FRAMING);
    return this;
  }
}

package io.howdah.engine;

import java.io.IOException;
import java.io.OutputStream;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;

/** An EngineStream's bytes to write. Each call sends at once. */
final class StreamOutput extends OutputStream {
  private final EngineStream stream;

  StreamOutput(EngineStream stream) {
    this.stream = stream;
  }

  @Override
  public void write(int b) throws IOException {
    stream.requireBlocking();
    ByteBuffer scratch = Memory.scratch();
    scratch.put(0, (byte) b);
    stream.writeAt(Memory.address(scratch), 1, 0);
  }

  @Override
  public void write(byte[] from, int offset, int length) throws IOException {
    if (offset < 0 || length < 0 || length > from.length - offset) {
      throw new IndexOutOfBoundsException(offset + " and " + length + " of " + from.length);
    }
    stream.requireBlocking();
    ByteBuffer scratch = Memory.scratch();
    int done = 0;
    while (done < length) {
      int piece = Math.min(length - done, scratch.capacity());
      scratch.clear();
      scratch.put(from, offset + done, piece);
      done += writeAll(scratch, piece, done);
    }
  }

  private int writeAll(ByteBuffer scratch, int length, int before) throws IOException {
    int done = 0;
    while (done < length) { // less than all at once: the timeout came in between, and the next call says so
      try {
        done += stream.writeAt(Memory.address(scratch) + done, length - done, before + done);
      } catch (SocketTimeoutException e) {
        e.bytesTransferred = before + done;
        throw e;
      }
    }
    return done;
  }

  @Override
  public void close() throws IOException {
    stream.close();
  }
}

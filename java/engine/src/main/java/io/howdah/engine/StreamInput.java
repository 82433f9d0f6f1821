package io.howdah.engine;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** An EngineStream's bytes to read. */
final class StreamInput extends InputStream {
  private final EngineStream stream;

  StreamInput(EngineStream stream) {
    this.stream = stream;
  }

  @Override
  public int read() throws IOException {
    stream.requireBlocking();
    ByteBuffer scratch = Memory.scratch();
    return stream.readAt(Memory.address(scratch), 1) < 0 ? -1 : scratch.get(0) & 0xff;
  }

  @Override
  public int read(byte[] to, int offset, int length) throws IOException {
    if (offset < 0 || length < 0 || length > to.length - offset) {
      throw new IndexOutOfBoundsException(offset + " and " + length + " of " + to.length);
    }
    stream.requireBlocking();
    if (length == 0) {
      return 0;
    }
    ByteBuffer scratch = Memory.scratch();
    int n = stream.readAt(Memory.address(scratch), Math.min(length, scratch.capacity()));
    if (n > 0) {
      scratch.get(to, offset, n);
    }
    return n;
  }

  @Override
  public int available() throws IOException {
    return stream.available();
  }

  @Override
  public void close() throws IOException {
    stream.close();
  }
}

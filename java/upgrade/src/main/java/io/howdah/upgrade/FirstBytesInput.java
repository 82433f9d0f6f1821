package io.howdah.upgrade;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/**
 * A connection's bytes when the first ones were read before, to see whether they are a greeting. For servers with a
 * thread for each connection. Not thread-safe.
 */
public final class FirstBytesInput extends InputStream {
  private final InputStream rest;
  private ByteBuffer first = ByteBuffer.allocate(0);

  /** Nothing was read before. */
  public FirstBytesInput(InputStream rest) {
    this.rest = rest;
  }

  /** These are read first. */
  public void unread(ByteBuffer bytes) {
    first = bytes;
  }

  @Override
  public int read() throws IOException {
    return first.hasRemaining() ? first.get() & 0xff : rest.read();
  }

  @Override
  public int read(byte[] to, int offset, int length) throws IOException {
    if (length == 0 || !first.hasRemaining()) {
      return rest.read(to, offset, length);
    }
    int n = Math.min(length, first.remaining());
    first.get(to, offset, n);
    return n;
  }

  @Override
  public int available() throws IOException {
    return first.remaining() + rest.available();
  }

  @Override
  public void close() throws IOException {
    rest.close();
  }
}

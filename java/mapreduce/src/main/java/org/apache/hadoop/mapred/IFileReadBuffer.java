package org.apache.hadoop.mapred;

import java.io.IOException;
import java.io.InputStream;

/**
 * Reads an IFile 64 KB at a time. IFile.Reader reads the lengths of each record byte by byte, and stock computes the
 * checksum of each byte. A read that finds the buffer empty and asks for as much as the buffer holds goes past it. Not
 * thread-safe.
 */
public final class IFileReadBuffer extends InputStream {
  static final int SIZE = 64 << 10;

  private final InputStream in;
  /** Made at the first read: a merge opens all of its segments before it reads them. */
  private byte[] buffer;
  private int next;
  private int end;

  /** Reads the given stream, and closes it. */
  public IFileReadBuffer(InputStream in) {
    this.in = in;
  }

  @Override
  public int read() throws IOException {
    return next < end || fill() ? buffer[next++] & 0xff : -1;
  }

  @Override
  public int read(byte[] to, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (next == end) {
      if (length >= SIZE) {
        return in.read(to, offset, length);
      }
      if (!fill()) {
        return -1;
      }
    }
    int count = Math.min(length, end - next);
    System.arraycopy(buffer, next, to, offset, count);
    next += count;
    return count;
  }

  private boolean fill() throws IOException {
    if (buffer == null) {
      buffer = new byte[SIZE];
    }
    next = 0;
    end = 0;
    int count = in.read(buffer, 0, SIZE);
    end = Math.max(0, count);
    return count > 0;
  }

  /** How much of an IFile was read ahead of what its reader has seen. @param in where the reader reads */
  public static int ahead(InputStream in) {
    return in instanceof IFileReadBuffer ? ((IFileReadBuffer) in).end - ((IFileReadBuffer) in).next : 0;
  }

  @Override
  public int available() throws IOException {
    return end - next + in.available();
  }

  /** Verifies the checksum of what was not read, as closing an IFileInputStream does. */
  @Override
  public void close() throws IOException {
    buffer = null;
    next = 0;
    end = 0;
    in.close();
  }
}

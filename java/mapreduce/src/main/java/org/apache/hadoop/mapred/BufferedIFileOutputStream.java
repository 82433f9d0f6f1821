package org.apache.hadoop.mapred;

import java.io.IOException;
import java.io.OutputStream;

/**
 * An IFileOutputStream that computes the checksum over 64 KB at a time. IFile.Writer writes each record as four fields
 * or more, and stock updates the checksum for each. The bytes in the file are the same. Not thread-safe.
 */
public final class BufferedIFileOutputStream extends IFileOutputStream {
  static final int SIZE = 64 << 10;
  /** A map task opens one writer at a time, for each partition of each spill: they share the buffer of the thread. */
  private static final ThreadLocal<byte[]> SPARE = new ThreadLocal<>();

  private byte[] buffer = takeSpare();
  private int count;

  /** Writes data and checksum to the given stream, which {@link #finish()} leaves open. */
  public BufferedIFileOutputStream(OutputStream out) {
    super(out);
  }

  private static byte[] takeSpare() {
    byte[] spare = SPARE.get();
    SPARE.remove();
    return spare == null ? new byte[SIZE] : spare;
  }

  @Override
  public void write(int b) throws IOException {
    if (count == room()) {
      writeBuffer();
    }
    buffer[count++] = (byte) b;
  }

  @Override
  public void write(byte[] from, int offset, int length) throws IOException {
    if (length > room() - count) {
      writeBuffer();
      if (length >= room()) {
        super.write(from, offset, length);
        return;
      }
    }
    System.arraycopy(from, offset, buffer, count, length);
    count += length;
  }

  private int room() throws IOException {
    if (buffer == null) {
      throw new IOException("the IFile is finished");
    }
    return SIZE;
  }

  private void writeBuffer() throws IOException {
    int length = count;
    count = 0;
    if (length > 0) {
      super.write(buffer, 0, length);
    }
  }

  @Override
  public void flush() throws IOException {
    if (buffer != null) {
      writeBuffer();
    }
    super.flush();
  }

  @Override
  public void finish() throws IOException {
    if (buffer != null) {
      writeBuffer();
      SPARE.set(buffer);
      buffer = null;
    }
    super.finish();
  }
}

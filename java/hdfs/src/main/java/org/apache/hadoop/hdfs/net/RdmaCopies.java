package org.apache.hadoop.hdfs.net;

import io.howdah.engine.RegisteredBuffer;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;

/** Bytes that go to several peers; those that go over the engine are put into its memory once. Not thread-safe. */
public final class RdmaCopies implements Closeable {
  private final byte[] from;
  private final int offset;
  private final int length;
  private RegisteredBuffer buffer;

  /** Of these bytes, which stay as they are until this is closed. */
  public RdmaCopies(byte[] from, int offset, int length) {
    this.from = from;
    this.offset = offset;
    this.length = length;
  }

  /** Writes them. */
  public void writeTo(OutputStream out) throws IOException {
    if (out instanceof RdmaOutput && length >= RdmaOutput.LARGE) {
      RdmaOutput rdma = (RdmaOutput) out;
      if (buffer == null) {
        buffer = rdma.allocate(length);
        if (buffer != null) {
          buffer.buffer().put(from, offset, length);
        }
      }
      if (buffer != null) {
        rdma.send(buffer, length);
        return;
      }
    }
    out.write(from, offset, length);
  }

  @Override
  public void close() {
    if (buffer != null) {
      buffer.release();
      buffer = null;
    }
  }
}

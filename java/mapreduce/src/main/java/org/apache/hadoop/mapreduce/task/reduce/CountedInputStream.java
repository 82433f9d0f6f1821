package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.upgrade.Traffic;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Counts what is read of a shuffle connection. */
final class CountedInputStream extends FilterInputStream {
  private final Traffic traffic;
  private long count;

  CountedInputStream(InputStream in, Traffic traffic) {
    super(in);
    this.traffic = traffic;
  }

  /** Bytes that were read. */
  long count() {
    return count;
  }

  @Override
  public int read() throws IOException {
    int b = in.read();
    add(b < 0 ? 0 : 1);
    return b;
  }

  @Override
  public int read(byte[] to, int offset, int length) throws IOException {
    int n = in.read(to, offset, length);
    add(Math.max(0, n));
    return n;
  }

  private void add(int bytes) {
    count += bytes;
    traffic.bytes(bytes);
  }
}

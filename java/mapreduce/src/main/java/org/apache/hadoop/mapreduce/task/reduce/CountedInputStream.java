package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.upgrade.Traffic;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.function.LongSupplier;

/** Counts what is read of a shuffle connection, but for what came another way. */
final class CountedInputStream extends FilterInputStream {
  private final Traffic traffic;
  private final LongSupplier others;
  private long all;
  private long count;

  /** @param others how many of the bytes that were read so far did not come over the connection */
  CountedInputStream(InputStream in, Traffic traffic, LongSupplier others) {
    super(in);
    this.traffic = traffic;
    this.others = others;
  }

  /** Bytes that came over the connection. */
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
    all += bytes;
    long now = all - others.getAsLong();
    traffic.bytes(now - count);
    count = now;
  }
}

package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.mapred.ShuffleWire;

/**
 * What stock's server would have sent for a request: for each map a ShuffleHeader and its part, which came with the
 * answer, is read from the map's file, or is fetched.
 */
final class PartsInputStream extends InputStream {
  private final String[] maps;
  private final int reduce;
  private final ShuffleWire.Answer answer;
  private final PartWindows windows;
  private final SharedParts shared;
  private final Runnable onClose;
  private ByteBuffer header = ByteBuffer.allocate(0);
  private int map = -1;
  private long left;
  private boolean closed;

  /**
   * Parts of an answer.
   *
   * @param shared parts that are read from files; null for none
   * @param onClose called once, by the first close
   */
  PartsInputStream(String[] maps, int reduce, ShuffleWire.Answer answer, PartWindows windows, SharedParts shared,
      Runnable onClose) {
    this.maps = maps;
    this.reduce = reduce;
    this.answer = answer;
    this.windows = windows;
    this.shared = shared;
    this.onClose = onClose;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] to, int offset, int length) throws IOException {
    if (closed) {
      throw new IOException("the stream was closed");
    }
    if (length == 0) {
      return 0;
    }
    while (!header.hasRemaining() && left == 0) {
      if (map + 1 == maps.length) {
        return -1;
      }
      startMap();
    }
    if (header.hasRemaining()) {
      int count = Math.min(length, header.remaining());
      header.get(to, offset, count);
      return count;
    }
    int count = (int) Math.min(length, left);
    if (map < answer.inlined) {
      answer.inline.get(to, offset, count);
    } else if (shared != null && shared.has(map)) {
      count = shared.read(map, answer.parts[map] - left, to, offset, count);
    } else {
      count = windows.read(map, to, offset, count);
    }
    left -= count;
    return count;
  }

  /** Skips to the end of a part without fetching it, or reads what is to be skipped. */
  @Override
  public long skip(long bytes) throws IOException {
    if (bytes <= 0 || closed || header.hasRemaining() || bytes < left) {
      return super.skip(bytes);
    }
    long count = left;
    if (map >= 0 && map < answer.inlined) {
      answer.inline.position(answer.inline.position() + (int) count);
    } else if (map >= 0 && (shared == null || !shared.has(map))) {
      windows.skip(map);
    }
    left = 0;
    return count;
  }

  private void startMap() throws IOException {
    map++;
    left = answer.parts[map];
    DataOutputBuffer bytes = new DataOutputBuffer();
    new ShuffleHeader(maps[map], answer.parts[map], answer.raw[map], reduce).write(bytes);
    header = ByteBuffer.wrap(bytes.getData(), 0, bytes.getLength());
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      windows.close();
      onClose.run();
    }
  }
}

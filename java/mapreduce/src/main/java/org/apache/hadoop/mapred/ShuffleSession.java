package org.apache.hadoop.mapred;

import io.howdah.engine.EngineStream;
import io.howdah.engine.FetchRequest;
import io.howdah.upgrade.Traffic;
import java.io.Closeable;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.List;
import org.apache.hadoop.io.SecureIOUtils;

/**
 * A reducer's stream in a ShuffleHandler: at first it may ask once, then, if that was granted, fetch what it asked for.
 * Closing the stream ends it. Thread-safe.
 */
final class ShuffleSession implements Closeable {
  /** A reducer's part of a map's output. Immutable. */
  static final class Part {
    final File file;
    final long start;
    final long length;
    final long raw;

    Part(File file, long start, long length, long raw) {
      this.file = file;
      this.start = start;
      this.length = length;
      this.raw = raw;
    }
  }

  private final EngineStream stream;
  private final long id;
  private final Traffic traffic;
  private String user;
  private List<Part> parts;
  private volatile long used = System.nanoTime();
  private RandomAccessFile open;
  private int opened = -1;
  private boolean asked;
  private boolean closed;

  ShuffleSession(EngineStream stream, long id, Traffic traffic) {
    this.stream = stream;
    this.id = id;
    this.traffic = traffic;
  }

  EngineStream stream() {
    return stream;
  }

  long id() {
    return id;
  }

  /** Where what it is sent is counted. */
  Traffic traffic() {
    return traffic;
  }

  /** Nanoseconds since it was made, granted or used last. */
  long idle() {
    return System.nanoTime() - used;
  }

  /** Whether the reducer asks for the first time. */
  synchronized boolean mayAsk() {
    boolean first = !asked;
    asked = true;
    return first;
  }

  synchronized boolean isGranted() {
    return parts != null;
  }

  synchronized void grant(String owner, List<Part> granted) {
    user = owner;
    parts = granted;
    used = System.nanoTime();
  }

  /** Answers with a range of a part, which the engine reads. */
  synchronized void answer(FetchRequest request, int map) throws IOException {
    used = System.nanoTime();
    if (parts == null || map < 0 || map >= parts.size()) {
      throw new IllegalArgumentException("there is no map " + map + " in this session");
    }
    Part part = parts.get(map);
    long offset = request.offset();
    long length = request.length();
    if (offset < 0 || length < 1 || offset > part.length || length > part.length - offset) {
      throw new IllegalArgumentException(length + " bytes from " + offset + " of a part of " + part.length);
    }
    request.reply(file(map).getFD(), part.start + offset, length);
  }

  /** Reads a whole part. */
  synchronized void read(int map, ByteBuffer to) throws IOException {
    Part part = parts.get(map);
    FileChannel channel = file(map).getChannel();
    long at = part.start;
    while (to.hasRemaining()) {
      int n = channel.read(to, at);
      if (n < 0) {
        throw new EOFException(part.file + " ends at " + at);
      }
      at += n;
    }
  }

  /** The maps are read one after the other, so one file is open at a time. */
  private RandomAccessFile file(int map) throws IOException {
    if (closed) {
      throw new IOException("the session has ended");
    }
    if (opened != map) {
      closeFile();
      open = SecureIOUtils.openForRandomRead(parts.get(map).file, "r", user, null);
      opened = map;
    }
    return open;
  }

  private void closeFile() throws IOException {
    opened = -1;
    if (open != null) {
      open.close();
    }
    open = null;
  }

  @Override
  public synchronized void close() {
    closed = true;
    try {
      closeFile();
      stream.close();
    } catch (IOException e) {
      ShuffleServer.LOG.debug("closing a session", e);
    }
  }
}

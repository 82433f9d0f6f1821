package org.apache.hadoop.mapred;

import io.howdah.engine.EngineStream;
import io.howdah.engine.FetchRequest;
import io.howdah.upgrade.Traffic;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * A reducer's stream in a ShuffleHandler: at first it may ask once, then, if that was granted, fetch what it asked for.
 * Closing the stream ends it. Thread-safe.
 */
final class ShuffleSession implements Closeable {
  private final EngineStream stream;
  private final long id;
  private final Traffic traffic;
  private ServedParts parts;
  private volatile long used = System.nanoTime();
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

  synchronized void grant(ServedParts granted) {
    parts = granted;
    used = System.nanoTime();
  }

  /** Answers with a range of a part, which the engine reads. */
  synchronized void answer(FetchRequest request, int map) throws IOException {
    used = System.nanoTime();
    if (parts == null || map < 0 || map >= parts.count()) {
      throw new IllegalArgumentException("there is no map " + map + " in this session");
    }
    ServedParts.Part part = parts.part(map);
    long offset = request.offset();
    long length = request.length();
    if (offset < 0 || length < 1 || offset > part.length || length > part.length - offset) {
      throw new IllegalArgumentException(length + " bytes from " + offset + " of a part of " + part.length);
    }
    request.reply(file(map).getFD(), part.start + offset, length);
    try {
      parts.readAhead(offset + length, length);
    } catch (IOException e) { // of the next part: the reducer is told when it asks for that
      ShuffleServer.LOG.debug("reading ahead", e);
    }
  }

  /** Reads a whole part. */
  synchronized void read(int map, ByteBuffer to) throws IOException {
    ServedParts.Part part = parts.part(map);
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

  private RandomAccessFile file(int map) throws IOException {
    if (closed) {
      throw new IOException("the session has ended");
    }
    return parts.file(map);
  }

  @Override
  public synchronized void close() {
    closed = true;
    try {
      if (parts != null) {
        parts.close();
      }
      stream.close();
    } catch (IOException e) {
      ShuffleServer.LOG.debug("closing a session", e);
    }
  }
}

package org.apache.hadoop.mapred;

import java.io.Closeable;
import java.io.File;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.List;
import org.apache.hadoop.io.ReadaheadPool.ReadaheadRequest;
import org.apache.hadoop.io.SecureIOUtils;

/**
 * The files of the parts that a reducer was granted. It asks for one after the other, so there are two open at most:
 * the one that is read, and the next one, whose beginning is read ahead. Not thread-safe.
 */
final class ServedParts implements Closeable {
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

  /** A file, and what was last read ahead of it. */
  private static final class Open {
    final int map;
    final RandomAccessFile file;
    ReadaheadRequest ahead;

    Open(int map, RandomAccessFile file) {
      this.map = map;
      this.file = file;
    }
  }

  private final List<Part> parts;
  private final String user;
  private final ShuffleReadahead readahead;
  /** Up to where each part was read ahead, from its beginning. */
  private final long[] known;
  private Open current;
  private Open next;

  ServedParts(List<Part> parts, String user, ShuffleReadahead readahead) {
    this.parts = parts;
    this.user = user;
    this.readahead = readahead;
    this.known = readahead.isOff() ? null : new long[parts.size()];
  }

  int count() {
    return parts.size();
  }

  Part part(int map) {
    return parts.get(map);
  }

  RandomAccessFile file(int map) throws IOException {
    if (current == null || current.map != map) {
      closeCurrent();
      if (next != null && next.map == map) {
        current = next;
        next = null;
      } else {
        current = open(map);
      }
    }
    return current.file;
  }

  private Open open(int map) throws IOException {
    return new Open(map, SecureIOUtils.openForRandomRead(parts.get(map).file, "r", user, null));
  }

  /** The part whose file is open was asked for up to there: has what comes next read, and how the next part begins. */
  void readAhead(long end, long asked) throws IOException {
    if (readahead.isOff()) {
      return;
    }
    long distance = readahead.distance(asked);
    readAhead(current, end, distance);
    int following = current.map + 1;
    if (following < parts.size() && known[following] == 0 && parts.get(following).length > 0) {
      prepare(following);
      readAhead(next, 0, distance);
    }
  }

  private void prepare(int map) throws IOException {
    if (next != null) {
      Open old = next;
      next = null;
      close(old);
    }
    next = open(map);
  }

  /** In steps of half the distance, so that a small window is not a request each time. */
  private void readAhead(Open open, long end, long distance) throws IOException {
    Part part = parts.get(open.map);
    long from = Math.max(end, known[open.map]);
    long to = Math.min(part.length, end + distance);
    if (to > from && (to - from >= distance / 2 || to == part.length)) {
      FileDescriptor file = open.file.getFD();
      open.ahead = readahead.read(part.file.getPath(), file, part.start + from, to - from);
      known[open.map] = to;
    }
  }

  private void closeCurrent() throws IOException {
    Open old = current;
    current = null;
    close(old);
  }

  private static void close(Open open) throws IOException {
    if (open != null) {
      if (open.ahead != null) {
        open.ahead.cancel();
      }
      open.file.close();
    }
  }

  @Override
  public void close() throws IOException {
    try {
      closeCurrent();
    } finally {
      Open old = next;
      next = null;
      close(old);
    }
  }
}

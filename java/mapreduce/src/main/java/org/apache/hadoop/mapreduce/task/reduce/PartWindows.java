package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.engine.EngineException;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.Fetch;
import io.howdah.engine.FetchListener;
import io.howdah.engine.FetchParams;
import io.howdah.engine.Link;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapred.ShuffleWire;

/**
 * Parts of map outputs one behind the other, or ranges of them, fetched in windows, a few ahead of the reader. The
 * reading thread also takes the engine's events. One thread at a time reads; any may close.
 */
final class PartWindows implements Closeable {
  private static final int EAGAIN = 11;
  private static final int EBUSY = 16;
  /** How long a window that the server or this engine has no room for waits before it is asked for again. */
  private static final int PAUSE_MILLIS = 20;
  private static final EventHandler NO_EVENTS = new EventHandler() { };

  private final Link link;
  private final String service;
  private final long session;
  private final long[] parts;
  private final int windowBytes;
  private final int ahead;
  private final int timeoutMillis;
  private final EventQueue events;
  private final ArrayDeque<Window> windows = new ArrayDeque<>();
  /** Maps whose parts are not fetched. */
  private final BitSet others = new BitSet();
  /** Ranges that are fetched in place of whole parts; null for none. */
  private ArrayDeque<Window> ranges;
  private int nextMap;
  private long nextOffset;
  /** The map that is read. */
  private int current;
  /** Whether parts that were not begun are left alone. */
  private boolean partByPart;
  private volatile boolean closed;

  /** A piece of a part: on its way, here, or failed. */
  private static final class Window implements FetchListener {
    final int map;
    final long offset;
    final int length;
    boolean asked;
    RegisteredBuffer data;
    IOException failure;
    boolean unwanted;

    Window(int map, long offset, int length) {
      this.map = map;
      this.offset = offset;
      this.length = length;
    }

    @Override
    public void fetched(Fetch fetch, RegisteredBuffer block) {
      if (unwanted) {
        block.release();
        return;
      }
      if (block.length() == length) {
        data = block;
        return;
      }
      failure = new EOFException("a window of " + block.length() + " bytes in place of " + length);
      block.release();
    }

    @Override
    public void failed(Fetch fetch, IOException cause) {
      failure = cause;
    }

    boolean isDone() {
      return data != null || failure != null;
    }

    /** Nobody will read it. */
    void drop() {
      unwanted = true;
      if (data != null) {
        data.release();
        data = null;
      }
    }
  }

  /**
   * @param from first map whose part is fetched; the parts before came with the answer
   * @param timeoutMillis longest wait for a window; 0 for ever
   */
  PartWindows(EventQueue events, Link link, String service, ShuffleWire.Answer answer, int windowBytes, int ahead,
      int timeoutMillis) {
    this.events = events;
    this.link = link;
    this.service = service;
    this.session = answer.session;
    this.parts = answer.parts.clone();
    this.nextMap = answer.inlined;
    this.windowBytes = windowBytes;
    this.ahead = ahead;
    this.timeoutMillis = timeoutMillis;
  }

  /** Leaves out the part of a map, before the first read. */
  void leaveOut(int map) {
    others.set(map);
  }

  /** Of a part only the first bytes will be read. From now on no part is fetched before it is read. */
  void limit(int map, long bytes) {
    parts[map] = Math.min(parts[map], bytes);
    partByPart = true;
  }

  /** The rest of the part that is read will not be. */
  void skip(int map) {
    for (Iterator<Window> all = windows.iterator(); all.hasNext();) {
      Window window = all.next();
      if (window.map == map) {
        all.remove();
        window.drop();
      }
    }
    if (nextMap == map) {
      nextMap++;
      nextOffset = 0;
    }
  }

  /** Fetches so many bytes of a part, for {@link #take}, in place of parts one behind the other. */
  void add(int map, long offset, int length) {
    if (ranges == null) {
      ranges = new ArrayDeque<>();
    }
    ranges.add(new Window(map, offset, length));
  }

  /** The bytes of the next range. */
  byte[] take() throws IOException {
    Window first = first();
    byte[] bytes = new byte[first.length];
    first.data.buffer().get(bytes);
    windows.remove();
    first.data.release();
    ask();
    return bytes;
  }

  /** Reads bytes of a part. Parts are read in order, each to its end. */
  int read(int map, byte[] to, int offset, int length) throws IOException {
    current = map;
    Window first = first();
    ByteBuffer bytes = first.data.buffer();
    int count = Math.min(length, bytes.remaining());
    bytes.get(to, offset, count);
    if (!bytes.hasRemaining()) {
      windows.remove();
      first.data.release();
      ask();
    }
    return count;
  }

  private Window first() throws IOException {
    ask();
    Window first = windows.peek();
    if (first == null) {
      throw new EOFException("all parts were read");
    }
    long began = System.nanoTime();
    while (!first.isDone()) {
      long waited = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
      if (timeoutMillis > 0 && waited >= timeoutMillis) {
        throw new SocketTimeoutException(link.peer() + " has sent nothing for " + timeoutMillis + " ms");
      }
      if (closed || Thread.currentThread().isInterrupted()) {
        throw new InterruptedIOException("the connection to " + link.peer() + " was closed");
      }
      long left = timeoutMillis > 0 ? timeoutMillis - waited : -1;
      events.poll(NO_EVENTS, first.asked ? left : Math.min(PAUSE_MILLIS, left < 0 ? PAUSE_MILLIS : left));
      retryRefused();
      ask();
    }
    if (first.failure != null) {
      throw new IOException("fetching from " + link.peer() + " failed: " + first.failure.getMessage(), first.failure);
    }
    return first;
  }

  /** Windows that there was no room for are asked for again. */
  private void retryRefused() {
    for (Window window : windows) {
      IOException cause = window.failure;
      boolean busy = cause instanceof MemoryLimitException
          || cause instanceof EngineException && ((EngineException) cause).errno() == EBUSY;
      if (busy) {
        window.failure = null;
        window.asked = false;
      }
    }
  }

  private void ask() {
    boolean more = true;
    while (more && windows.size() < ahead) {
      more = next();
    }
    for (Window window : windows) {
      if (!window.asked && !ask(window)) {
        return;
      }
    }
  }

  /** Adds the next window. @return false after the last */
  private boolean next() {
    if (ranges != null) {
      return !ranges.isEmpty() && windows.add(ranges.remove());
    }
    while (nextMap < parts.length && (others.get(nextMap) || nextOffset >= parts[nextMap])) {
      nextMap++;
      nextOffset = 0;
    }
    if (nextMap == parts.length || partByPart && nextMap > current) {
      return false;
    }
    int length = (int) Math.min(windowBytes, parts[nextMap] - nextOffset);
    windows.add(new Window(nextMap, nextOffset, length));
    nextOffset += length;
    return true;
  }

  private boolean ask(Window window) {
    FetchParams params = new FetchParams(service, ShuffleWire.part(session, window.map));
    try {
      link.fetch(params.range(window.offset, window.length), events, window);
      window.asked = true;
    } catch (EngineException e) {
      if (e.errno() == EAGAIN || e instanceof MemoryLimitException) {
        return false; // too much is under way on the link
      }
      window.failure = e;
    } catch (IOException e) {
      window.failure = e;
    }
    return true;
  }

  /** Ends a read that waits, too. */
  void wake() {
    closed = true;
    events.wakeup();
  }

  /** By the thread that reads: gives all memory back. */
  @Override
  public void close() {
    closed = true;
    events.close(); // what is on its way ends here
    for (Window window : windows) {
      if (window.data != null) {
        window.data.release();
      }
    }
    windows.clear();
  }
}

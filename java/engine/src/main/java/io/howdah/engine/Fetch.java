package io.howdah.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CancellationException;

/** A block that was asked for. It ends exactly once, and its listener is told. Thread-safe. */
public final class Fetch {
  // The parameters as native/jni/fetch.c reads them.
  private static final int OFFSET = 0;
  private static final int LENGTH = 8;
  private static final int INTO = 16;
  private static final int QUEUE = 24;
  private static final int USER = 32;
  private static final int NAME_LENGTH = 40;
  private static final int NAME = 48;

  private final EventQueue queue;
  private final FetchListener listener;
  private final RegisteredBuffer into;
  private final String peer;
  private long id;
  private long pointer; // 0 before the start and after the end
  private boolean ended;

  private Fetch(EventQueue queue, FetchListener listener, RegisteredBuffer into, String peer) {
    this.queue = queue;
    this.listener = listener;
    this.into = into;
    this.peer = peer;
  }

  static Fetch start(long link, String peer, FetchParams params, EventQueue queue, FetchListener listener)
      throws IOException {
    Fetch fetch = new Fetch(queue, listener, params.into, peer);
    long buffer = params.into == null ? 0 : params.into.enter(); // held until the end: the engine writes into it
    boolean started = false;
    try {
      long events = queue.enter();
      try {
        fetch.begin(link, params, buffer, events);
        started = true;
      } finally {
        queue.exit();
      }
    } finally {
      if (!started && params.into != null) {
        params.into.exit();
      }
    }
    if (!queue.isOpen()) {
      fetch.abandoned(); // closed in between; whoever closed may have missed it
    }
    return fetch;
  }

  /** Under the lock, because the end may come before the start has returned. */
  private synchronized void begin(long link, FetchParams params, long buffer, long events) throws IOException {
    id = queue.add(this);
    ByteBuffer asking = Memory.scratch();
    asking.putLong(OFFSET, params.offset).putLong(LENGTH, params.length).putLong(INTO, buffer);
    asking.putLong(QUEUE, events).putLong(USER, id).putLong(NAME_LENGTH, params.name.length);
    asking.position(NAME);
    asking.put(params.name);
    long started = Native.fetchStart(link, params.service, Memory.address(asking));
    if (started < 0) {
      ended = true; // somebody who closes the queue may have seen it already
      queue.remove(id);
      throw Errno.failure(started, peer);
    }
    pointer = started;
  }

  /** Asks for an early end. The listener is told all the same, that or what came first. */
  public synchronized void cancel() {
    if (pointer != 0) {
      Native.fetchCancel(pointer);
    }
  }

  /** Whether the listener has been told or is being told. */
  public synchronized boolean isDone() {
    return ended;
  }

  /** The engine's event. */
  void ended(int status, long fetch) throws IOException {
    RegisteredBuffer block = null;
    IOException cause = null;
    synchronized (this) {
      if (ended) {
        return;
      }
      if (status == 0) {
        try {
          block = take(fetch);
        } catch (MemoryLimitException e) {
          cause = e;
        } catch (RuntimeException | Error e) { // no memory for the buffer's object; the listener waits all the same
          cause = new IOException("a block that came could not be taken: " + e, e);
        }
      } else {
        cause = failure(status, Native.fetchError(fetch));
      }
      finish();
    }
    if (block != null) {
      listener.fetched(this, block);
    } else {
      listener.failed(this, cause);
    }
  }

  private RegisteredBuffer take(long fetch) throws MemoryLimitException {
    ByteBuffer out = Memory.scratch();
    long data = Native.fetchData(fetch, Memory.address(out));
    long address = out.getLong(0);
    long length = out.getLong(Long.BYTES);
    if (into == null) {
      return new RegisteredBuffer(data, address, length);
    }
    Native.bufSetLength(data, into.length()); // the engine made it as long as the block; it shall be used again
    Native.bufRelease(data);
    into.fetched((int) length);
    return into;
  }

  private IOException failure(int status, String cause) {
    if (status == -Errno.ECANCELED) {
      IOException cancelled = new EngineException(Errno.ECANCELED, "the fetch was cancelled");
      cancelled.initCause(new CancellationException(cause));
      return cancelled;
    }
    return Errno.exception(status, cause, peer);
  }

  /** The queue is closed, so no event will come. */
  void abandoned() {
    synchronized (this) {
      if (ended) {
        return;
      }
      finish();
    }
    try {
      listener.failed(this, new EngineClosedException("the event queue was closed"));
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private void finish() {
    ended = true;
    queue.remove(id);
    Native.fetchRelease(pointer);
    pointer = 0;
    if (into != null) {
      into.exit();
    }
  }
}

package org.apache.spark.network.rdma;

import io.howdah.engine.EngineStream;
import io.howdah.engine.EventQueue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Streams whose peers have not said who they are. No thread waits for them: the receiver hands each message to a thread
 * for the time that it takes to answer. They are bounded in number, for each link and in all, and in time; when there
 * are too many, the oldest is closed. Thread-safe.
 */
final class Callers {
  static final int MOST = 256;
  static final int MOST_OF_A_PEER = 32;
  private static final long PATIENCE_MILLIS = 30_000;

  /** Answers a caller. */
  interface Host {
    /**
     * @param caller the stream's
     * @param message what came
     * @return whether to wait for another message; if not, the caller is no caller any more
     */
    boolean hear(Caller caller, ByteBuffer message) throws IOException;
  }

  private final Host host;
  private final Executor threads;
  private final BlockMetrics metrics;
  private final long patienceNanos;
  private final Set<Caller> callers = new LinkedHashSet<>(); // the oldest first
  private boolean closed;

  /** @param threads take one message at a time, for as long as an answer takes */
  Callers(Host host, Executor threads, BlockMetrics metrics, long timeoutMillis) {
    this.host = host;
    this.threads = threads;
    this.metrics = metrics;
    this.patienceNanos = TimeUnit.MILLISECONDS.toNanos(Math.min(PATIENCE_MILLIS, timeoutMillis));
  }

  /** A stream and how far its handshake has come. */
  static final class Caller {
    final EngineStream stream;
    /** The handshake, once it has begun. */
    Handshake.Server handshake;
    private final String peer;
    private final long since = System.nanoTime();
    /** Whether a thread has a message of it, or it is no caller any more; under its own lock. */
    private boolean busy;

    private Caller(EngineStream stream) throws IOException {
      this.stream = stream;
      this.peer = stream.peer();
    }
  }

  /** Takes a new stream; its messages are reported to the queue. */
  void add(EngineStream stream, EventQueue events) throws IOException {
    Caller caller = new Caller(stream);
    Caller tooMany = null;
    synchronized (this) {
      if (!closed) {
        tooMany = tooMany(caller.peer);
        callers.add(caller);
      }
    }
    if (tooMany != null) {
      BlockLog.LOG.warn("Too many streams wait for a handshake; one of {} is closed", tooMany.peer);
      metrics.refused.inc();
      drop(tooMany);
    }
    try {
      stream.configureBlocking(false).register(events, caller);
    } catch (IOException | RuntimeException e) {
      drop(caller);
      throw e;
    }
    if (isClosed()) {
      drop(caller);
    }
  }

  /** The oldest of the peer, or of all, if one more is too many. */
  private Caller tooMany(String peer) {
    Caller first = null;
    int count = 0;
    for (Caller caller : callers) {
      if (caller.peer.equals(peer)) {
        first = first == null ? caller : first;
        count++;
      }
    }
    if (count >= MOST_OF_A_PEER) {
      return first;
    }
    return callers.size() >= MOST ? callers.iterator().next() : null;
  }

  private synchronized boolean isClosed() {
    return closed;
  }

  synchronized int size() {
    return callers.size();
  }

  /** The stream has something to read. Does not wait. */
  void readable(Caller caller) {
    ByteBuffer message = next(caller);
    if (message != null) {
      try {
        threads.execute(() -> answer(caller, message));
      } catch (RuntimeException e) { // the threads have too much to do, or are gone
        drop(caller);
      }
    }
  }

  /** @return null if there is none now, or another thread has one */
  private ByteBuffer next(Caller caller) {
    synchronized (caller) {
      if (caller.busy) {
        return null;
      }
      try {
        ByteBuffer message = Handshake.tryReceive(caller.stream);
        caller.busy = message != null;
        if (message != null || !caller.stream.isEnded()) {
          return message;
        }
      } catch (IOException e) {
        BlockLog.LOG.debug("A caller is gone", e);
      }
    }
    drop(caller);
    return null;
  }

  private void answer(Caller caller, ByteBuffer first) {
    for (ByteBuffer message = first; message != null; message = next(caller)) {
      try {
        if (!host.hear(caller, message)) {
          synchronized (this) {
            callers.remove(caller); // it stays busy, so nothing of it is read here any more
          }
          return;
        }
      } catch (IOException | RuntimeException | Error e) {
        BlockLog.LOG.debug("A handshake ended", e);
        drop(caller);
        return;
      }
      synchronized (caller) {
        caller.busy = false;
      }
    }
  }

  /** Closes those that have taken too long. */
  void expire() {
    List<Caller> late = new ArrayList<>();
    synchronized (this) {
      for (Caller caller : callers) {
        if (System.nanoTime() - caller.since < patienceNanos) {
          break;
        }
        late.add(caller);
      }
    }
    for (Caller caller : late) {
      BlockLog.LOG.info("{} opened a stream and did not say who it is; the stream is closed", caller.peer);
      metrics.refused.inc();
      drop(caller);
    }
  }

  private void drop(Caller caller) {
    synchronized (this) {
      if (!callers.remove(caller) && !closed) {
        return;
      }
    }
    if (caller.handshake != null) {
      caller.handshake.dispose();
    }
    close(caller.stream);
  }

  /** Closes all. */
  void close() {
    List<Caller> left;
    synchronized (this) {
      closed = true;
      left = new ArrayList<>(callers);
    }
    left.forEach(this::drop);
  }

  static void close(EngineStream stream) {
    try {
      stream.close();
    } catch (IOException e) {
      BlockLog.LOG.debug("closing a stream", e);
    }
  }
}

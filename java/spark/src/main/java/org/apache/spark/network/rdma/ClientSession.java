package org.apache.spark.network.rdma;

import io.howdah.engine.EngineException;
import io.howdah.engine.EngineStream;
import io.howdah.engine.EventQueue;
import io.howdah.engine.Fetch;
import io.howdah.engine.FetchListener;
import io.howdah.engine.FetchParams;
import io.howdah.engine.Link;
import io.howdah.engine.NoSuchServiceException;
import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * What this process asks of one peer: requests wait here until few enough are under way. All tasks share it. Each
 * request ends exactly once. Thread-safe.
 */
final class ClientSession {
  private static final int EAGAIN = 11;
  /** The server does not know the session any more. */
  static final int ESTALE = 116;

  /** Something that is asked for; one of the last two is called once. None may wait. */
  interface Request {
    FetchParams params();

    /** Whether nobody wants it any more; then nothing is called. */
    default boolean isPointless() {
      return false;
    }

    void fetched(RegisteredBuffer answer);

    void failed(IOException cause);
  }

  private final Link link;
  private final EngineStream stream;
  private final long id;
  private final String service;
  private final EventQueue events;
  private final int most;
  private final RdmaBlockMetrics metrics;
  private final ArrayDeque<Request> waiting = new ArrayDeque<>();
  private int underWay;
  private long progress = System.nanoTime();
  private boolean closed;
  private int together = Integer.MAX_VALUE;

  ClientSession(Link link, EngineStream stream, long id, String service, BlockClient client) {
    this.link = link;
    this.stream = stream;
    this.id = id;
    this.service = service;
    this.events = client.events();
    this.most = client.options().inFlight();
    this.metrics = client.metrics();
  }

  long id() {
    return id;
  }

  String service() {
    return service;
  }

  Link link() {
    return link;
  }

  synchronized boolean isOpen() {
    return !closed && link.isUp();
  }

  /**
   * Most blocks to ask for in one request. Blocks of a shuffle are alike, and their reader does not say how large they
   * are: as many as an answer had room for last is what the next has room for, without asking for the rest again.
   */
  synchronized int together() {
    return together;
  }

  /** An answer had room for no more than these. */
  synchronized void wasFull(int blocks) {
    together = Math.max(1, blocks);
  }

  /** An answer to as many as that had room for twice as many. */
  synchronized void hadRoom(int blocks) {
    if (blocks >= together) {
      together = (int) Math.min(Integer.MAX_VALUE, 2L * together);
    }
  }

  /** Asks, now or when there is room. */
  void submit(Request request) {
    synchronized (this) {
      if (underWay == 0 && waiting.isEmpty()) {
        progress = System.nanoTime(); // silence before it means nothing
      }
      waiting.add(request);
    }
    pump();
  }

  /** Starts what may be under way. */
  void pump() {
    for (Request next; (next = next()) != null;) {
      if (next.isPointless()) {
        ended();
        continue;
      }
      try {
        metrics.requests.inc();
        link.fetch(next.params(), events, new Completion(next));
      } catch (EngineException e) {
        ended();
        if (e.errno() == EAGAIN && putBack(next)) {
          return; // others share the link; the next end or the housekeeping comes back here
        }
        next.failed(e);
      } catch (IOException e) {
        ended();
        next.failed(e);
      } catch (RuntimeException e) { // a request that is forgotten would leave its reader waiting
        ended();
        next.failed(new IOException(e));
      }
    }
  }

  private synchronized Request next() {
    if (underWay >= most || waiting.isEmpty()) {
      return null;
    }
    underWay++;
    return waiting.poll();
  }

  private synchronized boolean putBack(Request request) {
    if (!closed) {
      waiting.addFirst(request);
    }
    return !closed;
  }

  private synchronized void ended() {
    underWay--;
    progress = System.nanoTime();
  }

  /** The engine's answer to one request. */
  private final class Completion implements FetchListener {
    private final Request request;

    Completion(Request request) {
      this.request = request;
    }

    @Override
    public void fetched(Fetch fetch, RegisteredBuffer answer) {
      ended();
      request.fetched(answer);
      pump();
    }

    @Override
    public void failed(Fetch fetch, IOException cause) {
      ended();
      metrics.failures.inc();
      if (isOutlived(cause)) {
        outlived();
      }
      request.failed(cause);
      pump();
    }
  }

  /** Whether the service does not know the session any more, or is no more itself. */
  static boolean isOutlived(IOException cause) {
    return cause instanceof NoSuchServiceException
        || cause instanceof EngineException && ((EngineException) cause).errno() == ESTALE;
  }

  private synchronized void outlived() {
    closed = true;
  }

  /** Somebody is about to ask. */
  synchronized void touch() {
    if (underWay == 0 && waiting.isEmpty()) {
      progress = System.nanoTime();
    }
  }

  /** Tells the server that a block that it opened is not wanted any more; it would notice at the session's end. */
  void giveUp(long handle) {
    try {
      ByteBuffer message = ByteBuffer.allocate(Long.BYTES).putLong(handle);
      message.flip();
      stream.send(message);
    } catch (IOException e) {
      BlockLog.LOG.debug("{} was not told", link.peer(), e);
    }
  }

  /** Nanoseconds since anything came or was asked; -1 if nothing is asked for. */
  synchronized long silence() {
    return underWay == 0 && waiting.isEmpty() ? -1 : System.nanoTime() - progress;
  }

  synchronized long idleness() {
    return underWay > 0 || !waiting.isEmpty() ? 0 : System.nanoTime() - progress;
  }

  /** What is under way ends by its own events; what waits ends here. */
  void close(IOException cause) {
    List<Request> left;
    synchronized (this) {
      closed = true;
      left = new ArrayList<>(waiting);
      waiting.clear();
    }
    for (Request request : left) {
      request.failed(cause);
    }
    try {
      stream.close();
    } catch (IOException e) {
      BlockLog.LOG.debug("closing the session with {}", link.peer(), e);
    }
    link.close();
  }
}

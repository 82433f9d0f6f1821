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
import io.howdah.upgrade.Linked;
import io.howdah.upgrade.Traffic;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;

/**
 * What this process asks of one peer: requests wait here until few enough are under way. All tasks share it. Each
 * request ends exactly once. Thread-safe.
 */
final class ClientSession implements ArrivalCredits.Waiter {
  private static final int EAGAIN = 11;
  /** The server does not know the session any more. */
  static final int ESTALE = 116;

  /** Something that is asked for. None of the methods may wait. */
  interface Request {
    FetchParams params();

    /** Largest answer, in bytes. */
    long most();

    /** Whether {@link MemoryShares#keep} has room for an answer of so many bytes, now or since before. */
    boolean isKept(int bytes);

    /** Whether nobody wants it any more; then nothing else is called. */
    default boolean isPointless() {
      return false;
    }

    /** The answer, with a reference that becomes the request's. If it throws, {@link #failed} is called too. */
    void fetched(BlockMemory answer) throws IOException;

    void failed(IOException cause);
  }

  private final Link link;
  private final EngineStream stream;
  private final long id;
  private final String service;
  private final EventQueue events;
  private final BlockClient client;
  private final ArrivalCredits credits;
  private final int most;
  private final RdmaBlockMetrics metrics;
  private final Traffic traffic;
  private final ArrayDeque<Request> waiting = new ArrayDeque<>();
  private int underWay;
  private boolean awaitsCredit;
  private volatile boolean served;
  private long progress = System.nanoTime();
  private boolean closed;
  private int together = Integer.MAX_VALUE;

  ClientSession(Link link, EngineStream stream, long id, Linked linked, BlockClient client) {
    this.link = link;
    this.stream = stream;
    this.id = id;
    this.service = linked.service();
    this.traffic = Traffic.of(BlockMetrics.TRAFFIC, linked.transport());
    traffic.connection();
    this.events = client.events();
    this.client = client;
    this.credits = client.credits();
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

  /** Whether any answer has come. */
  boolean hasServed() {
    return served;
  }

  /** A block has come. */
  void count(long bytes) {
    traffic.call(bytes);
  }

  /** Asks, now or when there is room. */
  void submit(Request request) {
    synchronized (this) {
      waiting.add(request);
    }
    pump();
  }

  /** Starts what may be under way. */
  void pump() {
    for (Request next; (next = next()) != null;) {
      if (!start(next, next.most())) {
        return; // others share the link; the next end or the housekeeping comes back here
      }
    }
  }

  private synchronized Request next() {
    if (awaitsCredit || underWay >= most || waiting.isEmpty()) {
      return null;
    }
    if (!credits.take(waiting.peek().most(), this)) {
      awaitsCredit = true;
      metrics.creditWaits.inc();
      return null;
    }
    begin();
    return waiting.poll();
  }

  private void begin() {
    if (underWay++ == 0) {
      progress = System.nanoTime(); // silence before it means nothing
    }
  }

  @Override
  public void granted(long bytes) {
    Request next;
    synchronized (this) {
      awaitsCredit = false;
      boolean fits = !waiting.isEmpty() && waiting.peek().most() <= bytes;
      next = fits ? waiting.poll() : null;
      if (fits) {
        begin();
      }
    }
    if (next == null) {
      credits.give(bytes);
    } else {
      start(next, bytes);
    }
    pump();
  }

  /** @return false if the link takes no more requests now */
  private boolean start(Request request, long credit) {
    Throwable failure;
    try {
      if (request.isPointless()) {
        ended(credit);
        return true;
      }
      metrics.requests.inc();
      link.fetch(request.params(), events, new Completion(request, credit));
      return true;
    } catch (EngineException e) {
      if (e.errno() == EAGAIN && putBack(request)) {
        ended(credit);
        return false;
      }
      failure = e;
    } catch (Throwable e) { // a request that is forgotten would leave its reader waiting
      failure = e;
    }
    ended(credit);
    request.failed(asIo(failure));
    return true;
  }

  private static IOException asIo(Throwable failure) {
    return failure instanceof IOException ? (IOException) failure : new IOException(failure.toString(), failure);
  }

  private synchronized boolean putBack(Request request) {
    if (!closed) {
      waiting.addFirst(request);
    }
    return !closed;
  }

  private void ended(long credit) {
    ended();
    credits.give(credit);
  }

  private synchronized void ended() {
    underWay--;
    progress = System.nanoTime();
  }

  /** The engine's answer to one request. */
  private final class Completion implements FetchListener {
    private final Request request;
    private final long credit;

    Completion(Request request, long credit) {
      this.request = request;
      this.credit = credit;
    }

    @Override
    public void fetched(Fetch fetch, RegisteredBuffer answer) {
      ended();
      served = true;
      try {
        if (request.isKept(answer.length())) {
          credits.give(credit);
          deliver(BlockMemory.kept(answer, client.shares(), metrics));
        } else {
          client.copiers().execute(() -> copy(answer));
        }
      } catch (RejectedExecutionException e) { // the client is being closed
        answer.release();
        credits.give(credit);
        request.failed(new IOException("the block transfer service is closed", e));
      }
      pump();
    }

    /** Moves the answer out of the engine's memory, which others need. */
    private void copy(RegisteredBuffer answer) {
      BlockMemory copy = null;
      Throwable failure = null;
      try {
        client.sayThatBlocksAreCopied();
        copy = BlockMemory.copied(answer, client.allocator(), metrics);
      } catch (Throwable e) {
        failure = e;
      }
      answer.release();
      credits.give(credit);
      if (copy != null) {
        deliver(copy);
      } else {
        metrics.failures.inc();
        request.failed(asIo(failure));
      }
    }

    private void deliver(BlockMemory answer) {
      try {
        request.fetched(answer);
      } catch (Throwable e) {
        metrics.failures.inc();
        BlockLog.LOG.error("An answer of {} could not be taken", link.peer(), e);
        request.failed(asIo(e));
      }
    }

    @Override
    public void failed(Fetch fetch, IOException cause) {
      ended(credit);
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

  /** Nanoseconds since anything came or was asked; -1 if the peer owes nothing. */
  synchronized long silence() {
    return underWay == 0 ? -1 : System.nanoTime() - progress;
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

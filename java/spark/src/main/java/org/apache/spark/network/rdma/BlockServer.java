package org.apache.spark.network.rdma;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineStream;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.FetchRequest;
import io.howdah.engine.Service;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongPredicate;

/**
 * Serves this process's blocks over the engine, in stages: requests come into a bounded queue, handlers read the blocks
 * into registered memory, and the engine's threads send them. A full queue refuses at once, memory that is used up
 * makes the handlers wait. The threads take turns at receiving (leader and followers): who has received a request
 * leaves that to another thread and answers it, so that a request alone waits for no thread to wake. What converses
 * with a peer (sessions, blocks that are sent to us) has threads of its own. Thread-safe.
 */
final class BlockServer implements EventHandler, Closeable {
  private static final int CONTROL_THREADS = 16;
  private static final int CONTROL_WAITING = 1024;
  private static final int EBUSY = 16;
  private static final long JOIN_MILLIS = 5000;
  private static final AtomicInteger SERVICES = new AtomicInteger();

  private final EventQueue events;
  private final Service service;
  private final Handshake handshake;
  private final BlockSource blocks;
  private final BlockReader reader;
  private final Uploads uploads;
  private final BlockMetrics metrics;
  private final int timeoutMillis;
  private final LinkedBlockingQueue<FetchRequest> requests;
  private final Map<Long, ServerSession> sessions = new ConcurrentHashMap<>();
  private final ThreadPoolExecutor control;
  private final List<Thread> threads = new ArrayList<>();
  private final ReentrantLock turns = new ReentrantLock();
  private final Condition turn = turns.newCondition();
  /** Whether a thread receives; this and the next under the lock. */
  private boolean received;
  private int idle;
  private volatile boolean stopped;

  /** Takes blocks that peers want to be kept here. */
  interface Uploads {
    /**
     * @param header what came first, behind version and kind
     * @param sessions whether a number is that of a session
     */
    void receive(EngineStream stream, ByteBuffer header, LongPredicate sessions) throws IOException;
  }

  /** A name for a service, told to clients as they greet: a process may have several, one after the other. */
  static String newName() {
    return "spark.blocks." + SERVICES.incrementAndGet();
  }

  /**
   * @param name the service's, as clients are told
   * @param uploads null if nothing can be kept here
   */
  BlockServer(Engine engine, String name, ServerOptions options, BlockMetrics metrics, Handshake handshake,
      BlockSource blocks, Uploads uploads) throws IOException {
    this.handshake = handshake;
    this.blocks = blocks;
    this.metrics = metrics;
    this.timeoutMillis = options.timeoutMillis;
    this.reader = new BlockReader(new MemoryGate(engine, metrics), options, metrics);
    this.uploads = uploads;
    this.requests = new LinkedBlockingQueue<>(options.queue);
    this.control = new ThreadPoolExecutor(CONTROL_THREADS, CONTROL_THREADS, 10, TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(CONTROL_WAITING), work -> daemon(work, "rdma-block-control"));
    control.allowCoreThreadTimeOut(true);
    this.events = engine.newQueue();
    for (int i = 0; i <= options.handlers; i++) { // one of them receives
      threads.add(daemon(this::serve, "rdma-block-handler-" + i));
    }
    threads.forEach(Thread::start);
    this.service = engine.listen(name, events, null);
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  // Turns.

  private void serve() {
    turns.lock();
    try {
      while (!stopped && events.isOpen()) {
        if (received && requests.isEmpty()) {
          idle++;
          try {
            turn.await();
          } finally {
            idle--;
          }
        } else if (!requests.isEmpty() && (received || idle > 0)) {
          turn.signal(); // whoever wakes receives, or goes on with what else is in the queue
          FetchRequest request = requests.remove();
          outside(() -> answer(request));
        } else {
          received = true;
          outside(this::receive);
          received = false;
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      turns.unlock();
    }
  }

  private void outside(Runnable work) {
    turns.unlock();
    try {
      work.run();
    } finally {
      turns.lock();
    }
  }

  private void receive() {
    try {
      events.poll(this, -1);
    } catch (Throwable e) { // a thread that ended now would leave nobody who receives
      if (events.isOpen()) {
        BlockLog.LOG.warn("An event could not be handled", e);
      }
    }
  }

  // What is received.

  @Override
  public void requested(FetchRequest request, Service from) throws IOException {
    if (!sessions.containsKey(BlockRequest.sessionOf(request.name()))) {
      metrics.refused.inc();
      request.refuse(ClientSession.ESTALE, "there is no such session");
    } else if (!requests.offer(request)) {
      metrics.refused.inc();
      request.refuse(EBUSY, "too many requests are waiting (" + RdmaBlockConf.QUEUE + ")");
    }
  }

  @Override
  public void accepted(EngineStream stream, Service from) throws IOException {
    try {
      control.execute(() -> converse(stream));
    } catch (RejectedExecutionException e) {
      metrics.refused.inc();
      stream.close();
    }
  }

  @Override
  public void readable(EngineStream stream) {
    ServerSession session = (ServerSession) stream.attachment();
    boolean open = false;
    try {
      open = session.read();
    } catch (IOException e) {
      BlockLog.LOG.debug("The session of {} ends", session, e);
    }
    if (!open) {
      end(session);
    }
  }

  private void end(ServerSession session) {
    sessions.remove(session.id());
    session.close();
  }

  // Streams.

  private void converse(EngineStream stream) {
    boolean kept = false;
    try {
      stream.readTimeout(timeoutMillis).writeTimeout(timeoutMillis);
      ByteBuffer hello = Handshake.receive(stream);
      byte version = hello.remaining() < 2 ? -1 : hello.get();
      byte kind = version == Handshake.VERSION ? hello.get() : -1;
      if (kind == Handshake.SESSION) {
        ServerSession session = handshake.accept(stream, hello, made -> sessions.put(made.id(), made));
        kept = session != null;
        if (kept) {
          watch(session);
        }
      } else if (kind == Handshake.UPLOAD && uploads != null) {
        uploads.receive(stream, hello, sessions::containsKey);
      } else {
        BlockLog.LOG.warn("{} speaks version {} of block transfer, kind {}", stream.peer(), version, kind);
      }
    } catch (IOException | RuntimeException e) {
      BlockLog.LOG.debug("A conversation ended", e);
    } finally {
      if (!kept) {
        close(stream);
      }
    }
  }

  /** From now on the receiver hears of it. */
  private void watch(ServerSession session) throws IOException {
    try {
      session.stream().configureBlocking(false).register(events, session);
    } catch (IOException e) {
      end(session);
      throw e;
    }
    if (stopped) {
      end(session);
    }
  }

  private static void close(EngineStream stream) {
    try {
      stream.close();
    } catch (IOException e) {
      BlockLog.LOG.debug("closing a stream", e);
    }
  }

  // The handlers.

  private void answer(FetchRequest request) {
    try {
      BlockRequest asked = BlockRequest.parse(request.name());
      ServerSession session = sessions.get(asked.session);
      if (session == null) {
        metrics.refused.inc();
        request.refuse(ClientSession.ESTALE, "there is no such session");
      } else if (asked.blocks == null) {
        reader.piece(request, session, asked.handle);
      } else {
        reader.batch(request, session, asked, blocks);
      }
    } catch (Throwable e) { // also Scala's assertions: a handler that ended would be missing for good
      BlockLog.LOG.debug("A request failed", e);
      refuse(request, e);
    }
  }

  private void refuse(FetchRequest request, Throwable cause) {
    metrics.refused.inc();
    try {
      request.refuse(cause instanceof IllegalArgumentException ? BlockReader.EINVAL : BlockReader.EIO,
          cause.toString());
    } catch (IOException e) {
      BlockLog.LOG.debug("a refusal found no peer", e);
    } catch (IllegalStateException e) {
      BlockLog.LOG.debug("the answer was on its way", e); // and with it the cause
    }
  }

  // The end.

  int sessionCount() {
    return sessions.size();
  }

  @Override
  public void close() {
    stopped = true;
    service.close();
    control.shutdownNow();
    events.close();
    threads.forEach(Thread::interrupt);
    for (Thread thread : threads) {
      try {
        thread.join(JOIN_MILLIS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    for (FetchRequest request; (request = requests.poll()) != null;) {
      refuse(request, new IOException("the block transfer service is closed"));
    }
    new ArrayList<>(sessions.values()).forEach(this::end);
  }
}

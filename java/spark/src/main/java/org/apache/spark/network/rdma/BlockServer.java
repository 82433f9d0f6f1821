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
 * leaves that to another thread and answers it, so that a request alone waits for no thread to wake. Handshakes, and
 * blocks that peers with a session send to us, have threads of their own. Thread-safe.
 */
final class BlockServer implements EventHandler, Closeable {
  private static final int UPLOAD_THREADS = 16;
  private static final int UPLOADS_WAITING = 1024;
  private static final int HANDSHAKE_THREADS = 2;
  private static final long LOOK_MILLIS = 500;
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
  private final ThreadPoolExecutor uploading;
  private final ThreadPoolExecutor handshaking;
  private final Callers callers;
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
    this.reader = new BlockReader(new MemoryGate(engine, options.memory, metrics), options, metrics);
    this.uploads = uploads;
    this.requests = new LinkedBlockingQueue<>(options.queue);
    this.uploading = threads(UPLOAD_THREADS, UPLOADS_WAITING, "rdma-block-keep");
    this.handshaking = threads(HANDSHAKE_THREADS, Callers.MOST, "rdma-block-handshake");
    this.callers = new Callers(this::hear, handshaking, metrics, timeoutMillis);
    this.events = engine.newQueue();
    for (int i = 0; i <= options.handlers; i++) { // one of them receives
      threads.add(daemon(this::serve, "rdma-block-handler-" + i));
    }
    threads.forEach(Thread::start);
    this.service = engine.listen(name, events, null);
  }

  private static ThreadPoolExecutor threads(int count, int waiting, String name) {
    ThreadPoolExecutor threads = new ThreadPoolExecutor(count, count, 10, TimeUnit.SECONDS,
        new LinkedBlockingQueue<>(waiting), work -> daemon(work, name));
    threads.allowCoreThreadTimeOut(true);
    return threads;
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
      events.poll(this, callers.size() == 0 ? -1 : LOOK_MILLIS);
      callers.expire();
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
      callers.add(stream, events);
    } catch (IOException | RuntimeException e) {
      Callers.close(stream);
      throw e;
    }
  }

  @Override
  public void readable(EngineStream stream) {
    if (stream.attachment() instanceof Callers.Caller) {
      callers.readable((Callers.Caller) stream.attachment());
      return;
    }
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

  /** What a peer without a session says. @return whether it has more to say */
  private boolean hear(Callers.Caller caller, ByteBuffer message) throws IOException {
    if (caller.handshake == null) {
      byte version = message.remaining() < 2 ? -1 : message.get();
      byte kind = version == Handshake.VERSION ? message.get() : -1;
      if (kind == Handshake.UPLOAD && uploads != null) {
        keep(caller.stream, message);
        return false;
      }
      if (kind != Handshake.SESSION) {
        throw new IOException(caller.stream.peer() + " speaks version " + version + " of block transfer, kind " + kind);
      }
      caller.handshake = handshake.server(caller.stream, made -> sessions.put(made.id(), made));
    }
    ServerSession session = caller.handshake.hear(message);
    if (session != null) {
      watch(session);
    }
    return session == null;
  }

  /** Has a thread take a block to keep, which may wait for its sender: one that has a session. */
  private void keep(EngineStream stream, ByteBuffer header) throws IOException {
    if (header.remaining() < Long.BYTES || !sessions.containsKey(header.getLong(header.position()))) {
      throw new IOException(stream.peer() + " sends a block and has no session");
    }
    stream.configureBlocking(true).readTimeout(timeoutMillis).writeTimeout(timeoutMillis);
    uploading.execute(() -> {
      try {
        uploads.receive(stream, header, sessions::containsKey);
      } catch (IOException | RuntimeException e) {
        BlockLog.LOG.debug("A block was not taken", e);
      } finally {
        Callers.close(stream);
      }
    });
  }

  /** From now on the receiver hears of it. */
  private void watch(ServerSession session) throws IOException {
    try {
      session.stream().configureBlocking(false).register(events, session);
    } catch (IOException e) {
      end(session);
      throw e;
    }
    if (!session.read() || stopped) { // what came meanwhile was not reported
      end(session);
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

  int callerCount() {
    return callers.size();
  }

  int sessionCount() {
    return sessions.size();
  }

  @Override
  public void close() {
    stopped = true;
    service.close();
    handshaking.shutdownNow();
    uploading.shutdownNow();
    callers.close();
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

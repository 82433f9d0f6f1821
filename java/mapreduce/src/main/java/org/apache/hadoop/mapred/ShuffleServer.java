package org.apache.hadoop.mapred;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineStream;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.FetchRequest;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import io.howdah.engine.Service;
import io.howdah.upgrade.Traffic;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves map output over the engine. One thread receives; it never waits, so silent peers hold no thread. Handlers
 * verify requests and open files, the engine's threads read and send them. Streams that have not proved anything yet
 * are bounded in number and time, requests in number. Thread-safe.
 */
final class ShuffleServer implements EventHandler, Closeable {
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.shuffle");
  static final int EINVAL = 22;
  static final int EIO = 5;
  static final int EBUSY = 16;
  static final int ESTALE = 116;

  /** What is served, by transport, as {@code howdah stat} shows it: a call is the part of a map for a reducer. */
  static final String TRAFFIC = "shuffle.server";
  /** Parts that follow an answer in the same message, in all. */
  private static final int INLINE_MAX = 256 << 10;
  private static final int WAITING = 8192;
  private static final int STRANGERS = 1024;
  private static final long STRANGER_PATIENCE = TimeUnit.SECONDS.toNanos(20);
  private static final long IDLE = TimeUnit.MINUTES.toNanos(10);
  private static final int HOUSEKEEPING_MILLIS = 1000;
  private static final SecureRandom RANDOM = new SecureRandom();

  /** What of stock's ShuffleHandler is asked. */
  interface Source {
    /** Whose output a verified request may read, and where it is. */
    Granted verify(ShuffleWire.Request request) throws IOException;

    /** So many parts, of so many bytes in all, have been served or not, for the metrics of stock's ShuffleHandler. */
    void served(int parts, long bytes, boolean well);
  }

  /** A request that was verified. Immutable. */
  static final class Granted {
    final String user;
    final String replyHash;
    final List<ServedParts.Part> parts;
    /** Where the parts are; null if the reducer did not ask. */
    final ShuffleWire.Location[] locations;

    Granted(String user, String replyHash, List<ServedParts.Part> parts, ShuffleWire.Location[] locations) {
      this.user = user;
      this.replyHash = replyHash;
      this.parts = parts;
      this.locations = locations;
    }
  }

  /** A refusal with HTTP's status. */
  static final class RefusedException extends IOException {
    private static final long serialVersionUID = 1;
    final int status;

    RefusedException(int status, String message) {
      super(message);
      this.status = status;
    }
  }

  private final Engine engine;
  private final Source source;
  private final ShuffleReadahead readahead;
  private final int most;
  private final EventQueue events;
  private final Service service;
  private final ThreadPoolExecutor handlers;
  private final Map<Long, ShuffleSession> sessions = new ConcurrentHashMap<>();
  private final AtomicInteger strangers = new AtomicInteger();
  private final Thread receiver;
  private long looked = System.nanoTime();
  private volatile boolean stopped;

  /** @param most sessions at a time; 0 for no limit, as {@code mapreduce.shuffle.max.connections} */
  ShuffleServer(Engine engine, String name, int threads, int most, ShuffleReadahead readahead, Source source)
      throws IOException {
    this.engine = engine;
    this.source = source;
    this.readahead = readahead;
    this.most = most;
    AtomicInteger number = new AtomicInteger();
    handlers = new ThreadPoolExecutor(threads, threads, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(WAITING),
        work -> daemon(work, "shuffle-handler-" + number.incrementAndGet()));
    handlers.allowCoreThreadTimeOut(true);
    events = engine.newQueue();
    service = engine.listen(name, events, null);
    receiver = daemon(this::receive, "shuffle-receiver");
    receiver.start();
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  private void receive() {
    while (!stopped && events.isOpen()) {
      try {
        events.poll(this, sessions.isEmpty() ? -1 : HOUSEKEEPING_MILLIS);
        purge();
      } catch (Throwable e) { // without this thread nobody would be served any more
        if (!stopped && events.isOpen()) {
          LOG.warn("A shuffle event could not be handled", e);
        }
      }
    }
  }

  private void purge() {
    if (System.nanoTime() - looked < TimeUnit.MILLISECONDS.toNanos(HOUSEKEEPING_MILLIS)) {
      return;
    }
    looked = System.nanoTime();
    for (Iterator<ShuffleSession> i = sessions.values().iterator(); i.hasNext();) {
      ShuffleSession session = i.next();
      if (session.idle() > (session.isGranted() ? IDLE : STRANGER_PATIENCE)) {
        end(session);
      }
    }
  }

  // Streams.

  @Override
  public void accepted(EngineStream stream, Service from) throws IOException {
    boolean full = most > 0 && sessions.size() >= most;
    if (full || strangers.get() >= STRANGERS) {
      LOG.info("Closing a stream of {}: {}", stream.peer(), full
          ? most + " are the most that mapreduce.shuffle.max.connections allows"
          : STRANGERS + " peers have not said what they want yet");
      stream.close();
      return;
    }
    ShuffleSession session = new ShuffleSession(stream, RANDOM.nextLong(), Traffic.of(TRAFFIC, stream.transport()));
    if (sessions.putIfAbsent(session.id(), session) != null) {
      stream.close();
      return;
    }
    strangers.incrementAndGet();
    try {
      stream.configureBlocking(false).register(events, session);
    } catch (IOException | RuntimeException e) {
      end(session);
      throw e;
    }
  }

  @Override
  public void readable(EngineStream stream) throws IOException {
    ShuffleSession session = (ShuffleSession) stream.attachment();
    try {
      // The next event comes only after a receive that found nothing.
      for (RegisteredBuffer message; (message = stream.receive()) != null;) {
        take(session, message);
      }
      if (stream.isEnded()) {
        end(session);
      }
    } catch (IOException | RejectedExecutionException e) {
      LOG.debug("The session of {} ends", stream, e);
      end(session);
    }
  }

  private void take(ShuffleSession session, RegisteredBuffer message) throws IOException {
    byte[] copy;
    try {
      if (!session.mayAsk() || message.length() > ShuffleWire.REQUEST_MAX) {
        throw new IOException("a message that is not expected, of " + message.length() + " bytes");
      }
      copy = new byte[message.length()];
      message.buffer().get(copy);
    } finally {
      message.release();
    }
    handlers.execute(() -> open(session, ByteBuffer.wrap(copy)));
  }

  private void end(ShuffleSession session) {
    if (sessions.remove(session.id(), session)) {
      if (!session.isGranted()) {
        strangers.decrementAndGet();
      }
      session.close();
    }
  }

  private void open(ShuffleSession session, ByteBuffer message) {
    try {
      Granted granted = source.verify(ShuffleWire.Request.decode(message));
      if (grant(session, granted)) {
        answer(session, granted);
      }
    } catch (RefusedException e) {
      refuse(session, e.status, e.getMessage());
    } catch (IllegalArgumentException e) {
      refuse(session, 400, e.getMessage());
    } catch (MemoryLimitException e) {
      refuse(session, ShuffleWire.BUSY, e.getMessage());
    } catch (Throwable e) { // also an Error of one request: the others are not to blame
      LOG.warn("A shuffle request failed", e);
      refuse(session, 500, e.toString());
    }
  }

  private boolean grant(ShuffleSession session, Granted granted) {
    synchronized (session) {
      if (session.isGranted() || sessions.get(session.id()) != session) {
        return false;
      }
      session.grant(new ServedParts(granted.parts, granted.user, readahead));
    }
    strangers.decrementAndGet();
    session.traffic().connection();
    return true;
  }

  private void refuse(ShuffleSession session, int status, String why) {
    source.served(1, 0, false);
    try {
      session.stream().send(ShuffleWire.Answer.refusal(status, String.valueOf(why)));
      session.stream().shutdownOutput();
    } catch (IOException e) {
      LOG.debug("a refusal found no peer", e);
      end(session);
    }
  }

  private void answer(ShuffleSession session, Granted granted) throws IOException {
    int count = granted.parts.size();
    long[] parts = new long[count];
    long[] raw = new long[count];
    int inlined = 0;
    int bytes = 0;
    for (int i = 0; i < count; i++) {
      parts[i] = granted.parts.get(i).length;
      raw[i] = granted.parts.get(i).raw;
      if (inlined == i && parts[i] <= INLINE_MAX - bytes) {
        inlined++;
        bytes += (int) parts[i];
      }
    }
    if (granted.locations != null && locate(session, granted, parts, raw)) {
      return;
    }
    int head = ShuffleWire.Answer.sizeOf(granted.replyHash, count);
    try (RegisteredBuffer answer = engine.allocate(head + bytes)) {
      ByteBuffer to = answer.buffer();
      ShuffleWire.Answer.encode(to, granted.replyHash, session.id(), parts, raw, inlined);
      for (int i = 0; i < inlined; i++) {
        ByteBuffer part = to.duplicate();
        part.limit(part.position() + (int) parts[i]);
        session.read(i, part);
        to.position(part.position());
      }
      if (!session.stream().send(answer, 0, head + bytes)) {
        throw new IOException("no room for an answer");
      }
    }
    for (int i = 0; i < inlined; i++) {
      session.traffic().call(parts[i]);
    }
    source.served(inlined, bytes, true);
  }

  /** Says where the parts are. @return false if the answer would be too long */
  private static boolean locate(ShuffleSession session, Granted granted, long[] parts, long[] raw) throws IOException {
    ByteBuffer answer = ShuffleWire.Answer.located(granted.replyHash, session.id(), parts, raw, granted.locations);
    if (answer == null) {
      return false;
    }
    if (!session.stream().send(answer)) {
      throw new IOException("no room for an answer");
    }
    return true;
  }

  // Fetches.

  @Override
  public void requested(FetchRequest request, Service from) throws IOException {
    ByteBuffer name = ShuffleWire.partOf(request.name());
    ShuffleSession session = name == null ? null : sessions.get(name.getLong());
    if (session == null || !session.isGranted()) {
      request.refuse(ESTALE, "there is no such session");
      return;
    }
    int map = name.getInt();
    try {
      handlers.execute(new Asked(session, request, map));
    } catch (RejectedExecutionException e) {
      request.refuse(EBUSY, "too many requests are waiting");
    }
  }

  /** A request that waits for a handler. */
  private final class Asked implements Runnable {
    private final ShuffleSession session;
    private final FetchRequest request;
    private final int map;

    Asked(ShuffleSession session, FetchRequest request, int map) {
      this.session = session;
      this.request = request;
      this.map = map;
    }

    @Override
    public void run() {
      answer(session, request, map);
    }
  }

  private void answer(ShuffleSession session, FetchRequest request, int map) {
    long offset = request.offset();
    long length = request.length();
    try {
      session.answer(request, map);
      if (offset == 0) {
        session.traffic().call(length);
      } else {
        session.traffic().bytes(length);
      }
      source.served(offset == 0 ? 1 : 0, length, true);
    } catch (Throwable e) { // a request that is not answered would leave its reducer waiting
      source.served(1, 0, false);
      refuse(request, e);
    }
  }

  private static void refuse(FetchRequest request, Throwable cause) {
    LOG.debug("A fetch failed", cause);
    try {
      request.refuse(cause instanceof IllegalArgumentException ? EINVAL : EIO, cause.toString());
    } catch (IOException | IllegalStateException e) { // the peer has gone, or the engine has refused already
      LOG.debug("a refusal was not told", e);
    }
  }

  int sessionCount() {
    return sessions.size();
  }

  /** Ends all sessions. Requests that wait are refused: a reducer would wait for their answers. */
  @Override
  public void close() {
    stopped = true;
    service.close();
    for (Runnable waiting : handlers.shutdownNow()) {
      if (waiting instanceof Asked) {
        refuse(((Asked) waiting).request, new IOException("the service has ended"));
      }
    }
    events.close();
    try {
      receiver.join(TimeUnit.SECONDS.toMillis(5));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    sessions.values().forEach(this::end);
  }
}

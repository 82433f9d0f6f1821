package io.howdah.upgrade;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineUnavailableException;
import io.howdah.engine.Greeting;
import io.howdah.engine.Link;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The server side of an upgrade: it answers greetings on a server's ordinary port. Clients are not authenticated yet,
 * so greetings are bounded in number, by threads and a queue, and in time. Thread-safe.
 */
public final class Acceptor implements Closeable {
  /** Bytes of a connection that tell whether it begins with a greeting; a server reads no more before. */
  public static final int FIRST_BYTES = Greeting.PREFIX_MAX;

  /** Each answers one greeting at a time, and ends when idle. */
  private static final int THREADS = 256;
  private static final int WAITING = 4096;
  /** Part of the timeout that a greeting has when all threads are taken. */
  private static final double CROWDED = 0.3;
  private static final AtomicInteger SERVICES = new AtomicInteger();

  private final Upgrade upgrade;
  private final Engine engine;
  private final String service;
  private final long timeout;
  private final ThreadPoolExecutor threads;

  /** How a greeting ended, told by a thread of the acceptor. Exactly one of these is called. */
  public interface Answer {
    /** The client goes on over a link, which the callee closes. */
    void linked(Link link) throws IOException;

    /** The connection goes on as it was. @param unread what was read of it, to be treated as read first */
    void plain(ByteBuffer unread) throws IOException;

    /** The connection can't be used: close it. */
    void failed(String cause);
  }

  /**
   * An acceptor for a server.
   *
   * @param upgrade of which {@link Upgrade#isUsable} was true
   * @param service what clients are told to open streams to
   * @param name of the threads
   */
  public Acceptor(Upgrade upgrade, String service, String name) throws IOException {
    this.upgrade = upgrade;
    this.engine = upgrade.engine();
    this.service = service;
    this.timeout = upgrade.greetingTimeout();
    threads = new ThreadPoolExecutor(THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(WAITING),
        work -> {
          Thread thread = new Thread(work, name);
          thread.setDaemon(true);
          return thread;
        });
    threads.allowCoreThreadTimeOut(true);
  }

  /** A name for a server's service that no other server of the process has or had. */
  public static String newService(String prefix) {
    return prefix + "." + SERVICES.incrementAndGet();
  }

  /** What clients are told to open streams to. */
  public String service() {
    return service;
  }

  /**
   * Whether a connection that begins with these bytes can begin with a greeting. With fewer than {@link #FIRST_BYTES}
   * a true may turn into a false later.
   */
  public static boolean isPossible(ByteBuffer first) {
    try {
      return Greeting.isPossible(first);
    } catch (EngineUnavailableException e) {
      return false;
    }
  }

  /**
   * Answers a greeting by a thread of its own.
   *
   * @param first what was read of the connection, at most {@link #FIRST_BYTES}; its position is not changed
   */
  public void answer(SocketChannel tcp, ByteBuffer first, Answer answer) {
    upgrade.metrics().greeted();
    long came = System.nanoTime();
    try {
      threads.execute(() -> answerHere(tcp, first, answer, came));
    } catch (RejectedExecutionException e) {
      fail(answer, threads.isShutdown() ? "the server stops" : "too many greetings at a time");
    }
  }

  private void answerHere(SocketChannel tcp, ByteBuffer first, Answer answer, long came) {
    long limit = threads.getQueue().isEmpty() ? timeout : Math.max(1, (long) (timeout * CROWDED));
    long left = limit - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - came);
    if (left <= 0) {
      fail(answer, "it waited for a thread for too long");
      return;
    }
    Greeting greeting;
    try {
      greeting = engine.accept(tcp, first, left, service);
    } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) {
      fail(answer, e.toString());
      Failures.text(e);
      return;
    }
    try {
      if (greeting.isLinked()) {
        answer.linked(greeting.link());
      } else {
        upgrade.metrics().greetingFailed();
        upgrade.component().log().debug("{} goes on over its socket: {}", tcp, greeting.reason());
        answer.plain(greeting.unread());
      }
    } catch (IOException | RuntimeException e) {
      fail(answer, e.toString());
    }
  }

  private void fail(Answer answer, String cause) {
    upgrade.metrics().greetingFailed();
    answer.failed(cause);
  }

  /**
   * Answers a greeting by the calling thread, for servers that have a thread for each connection.
   *
   * @param timeoutMillis longest wait; 0 for the engine's {@code connect.timeout}
   * @return with a link, which the caller closes, or with what is to be treated as read first
   * @throws IOException if the connection can't be used, whatever the cause
   */
  public Greeting answerNow(SocketChannel tcp, ByteBuffer first, long timeoutMillis) throws IOException {
    upgrade.metrics().greeted();
    long limit = timeoutMillis > 0 ? Math.min(timeout, timeoutMillis) : timeout;
    try {
      Greeting greeting = engine.accept(tcp, first, limit, service);
      if (!greeting.isLinked()) {
        upgrade.metrics().greetingFailed();
      }
      return greeting;
    } catch (IOException e) {
      upgrade.metrics().greetingFailed();
      throw e;
    } catch (RuntimeException | LinkageError | OutOfMemoryError e) {
      upgrade.metrics().greetingFailed();
      throw new IOException("the greeting failed: " + Failures.text(e), e);
    }
  }

  /** Takes no more greetings. Those under way end. */
  @Override
  public void close() {
    threads.shutdown();
  }
}

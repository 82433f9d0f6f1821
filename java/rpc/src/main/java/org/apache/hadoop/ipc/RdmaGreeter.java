package org.apache.hadoop.ipc;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineStream;
import io.howdah.engine.Greeting;
import io.howdah.engine.Link;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.io.IOUtils;

/**
 * Answers greetings on a server's port, and brings each stream that comes over a link together with a connection that
 * was greeted there: so the connection keeps the address that it came from. All connections of a link are of one
 * process, which opens one stream for each; which belongs to which makes no difference. Thread-safe.
 */
final class RdmaGreeter {
  /** Each takes one greeting at a time, and ends when idle: so many slow ones hold up nobody. */
  private static final int THREADS = 256;
  private static final int WAITING = 4096;
  private static final int GREETING_TIMEOUT = 10_000;
  /** The same when all threads are taken and others wait. */
  private static final int CROWDED_TIMEOUT = 3000;
  private static final long PARTNER_TIMEOUT = TimeUnit.SECONDS.toNanos(20);
  private static final int STREAMS = 1024;

  private final RdmaServer server;
  private final String service;
  private final ThreadPoolExecutor threads;
  private final Map<Long, Waiting> waiting = new HashMap<>();
  private int streams;

  /** What of one link waits for its other half. */
  private static final class Waiting {
    final Link link;
    final ArrayDeque<Greeted> connections = new ArrayDeque<>();
    final ArrayDeque<EngineStream> streams = new ArrayDeque<>();
    long since = System.nanoTime();

    Waiting(Link link) {
      this.link = link;
    }
  }

  /** A connection whose client goes on over a link. */
  static final class Greeted {
    final Server.Connection connection;
    final SocketChannel tcp;
    private final SelectionKey key;

    Greeted(Server.Connection connection, SelectionKey key) {
      this.connection = connection;
      this.tcp = (SocketChannel) key.channel();
      this.key = key;
    }

    /** After the socket was closed: its descriptor is the selector's until it selects again. */
    void forget() {
      key.selector().wakeup();
    }
  }

  RdmaGreeter(RdmaServer server, int port, String service) {
    this.server = server;
    this.service = service;
    threads = new ThreadPoolExecutor(THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(WAITING),
        work -> {
          Thread thread = new Thread(work, "IPC Server greeting on " + port);
          thread.setDaemon(true);
          return thread;
        });
    threads.allowCoreThreadTimeOut(true);
  }

  /** Takes a connection over whose first bytes are those of a greeting. Its key is not selected meanwhile. */
  void greet(Engine engine, SelectionKey key, Server.Connection connection, ByteBuffer first) {
    key.interestOps(0);
    RdmaMetrics.get().serverGreetings().incr();
    try {
      threads.execute(() -> answer(engine, key, connection, first));
    } catch (RejectedExecutionException e) {
      refuse(new Greeted(connection, key), "too many greetings at a time");
    }
  }

  private void answer(Engine engine, SelectionKey key, Server.Connection connection, ByteBuffer first) {
    SocketChannel tcp = (SocketChannel) key.channel();
    try {
      ByteBuffer prefix = first.duplicate();
      prefix.flip();
      int timeout = threads.getQueue().isEmpty() ? GREETING_TIMEOUT : CROWDED_TIMEOUT;
      Greeting greeting = engine.accept(tcp, prefix, timeout, service);
      if (greeting.isLinked()) {
        first.clear(); // on the stream the connection begins anew
        greeted(greeting.link(), new Greeted(connection, key));
        return;
      }
      RdmaMetrics.get().serverGreetingsFailed().incr();
      ByteBuffer unread = greeting.unread();
      if (unread.remaining() > first.capacity()) {
        refuse(new Greeted(connection, key), "it is neither a greeting nor Hadoop's");
        return;
      }
      RdmaRpc.LOG.info("{} goes on over its socket: {}", connection, greeting.reason());
      first.clear();
      first.put(unread);
      if (!first.hasRemaining()) {
        RdmaMetrics.countServerSocket();
      }
      key.interestOps(SelectionKey.OP_READ);
      key.selector().wakeup();
    } catch (IOException | RuntimeException e) {
      RdmaMetrics.get().serverGreetingsFailed().incr();
      refuse(new Greeted(connection, key), e.toString());
    }
  }

  private void refuse(Greeted greeted, String cause) {
    RdmaRpc.LOG.info("Closing the connection from {}, whose greeting failed: {}", greeted.connection, cause);
    server.close(greeted.connection);
    greeted.forget();
  }

  private void greeted(Link link, Greeted greeted) throws IOException {
    EngineStream stream;
    synchronized (this) {
      Waiting of = waiting.get(link.id());
      stream = of == null ? null : of.streams.poll();
      if (stream == null) {
        if (of == null) {
          of = new Waiting(link);
          waiting.put(link.id(), of);
        } else {
          link.close();
        }
        of.connections.add(greeted);
        of.since = System.nanoTime();
        return;
      }
      streams--;
      forgetIfDone(of);
    }
    link.close();
    server.attach(stream, greeted);
  }

  /** A stream came. Its connection may still be in the last step of its greeting. */
  void accepted(EngineStream stream) throws IOException {
    Link link = stream.link();
    Greeted greeted;
    synchronized (this) {
      Waiting of = waiting.get(link.id());
      greeted = of == null ? null : of.connections.poll();
      if (greeted == null) {
        if (streams >= STREAMS) {
          link.close();
          stream.close();
          return;
        }
        streams++;
        if (of == null) {
          of = new Waiting(link);
          waiting.put(link.id(), of);
        } else {
          link.close();
        }
        of.streams.add(stream);
        of.since = System.nanoTime();
        return;
      }
      forgetIfDone(of);
    }
    link.close();
    server.attach(stream, greeted);
  }

  private void forgetIfDone(Waiting of) {
    if (of.connections.isEmpty() && of.streams.isEmpty()) {
      waiting.remove(of.link.id());
      of.link.close();
    }
  }

  synchronized boolean isIdle() {
    return waiting.isEmpty();
  }

  /** Closes what has waited for its other half for too long. */
  void purge(boolean all) {
    ArrayDeque<Waiting> old = new ArrayDeque<>();
    synchronized (this) {
      for (Iterator<Waiting> i = waiting.values().iterator(); i.hasNext();) {
        Waiting of = i.next();
        if (all || System.nanoTime() - of.since > PARTNER_TIMEOUT) {
          streams -= of.streams.size();
          i.remove();
          old.add(of);
        }
      }
    }
    for (Waiting of : old) {
      for (Greeted greeted : of.connections) {
        refuse(greeted, "no stream came from " + of.link);
      }
      for (EngineStream stream : of.streams) {
        RdmaRpc.LOG.info("Closing a stream from {} that no connection came for", of.link);
        IOUtils.cleanup(null, stream);
      }
      of.link.close();
    }
  }

  void stop() {
    threads.shutdown();
    purge(true);
  }
}

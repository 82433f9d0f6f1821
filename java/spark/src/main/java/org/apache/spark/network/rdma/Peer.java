package org.apache.spark.network.rdma;

import io.howdah.engine.EngineClosedException;
import io.howdah.engine.EngineException;
import io.howdah.engine.EngineStream;
import io.howdah.engine.Greeting;
import io.howdah.engine.Link;
import io.howdah.engine.LinkException;
import io.howdah.engine.NoSuchServiceException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A block transfer port: over the engine, or known not to take our greeting for a while. The first who needs it
 * connects, others wait meanwhile, as with Netty's clients. Thread-safe.
 */
final class Peer {
  /** So often in a row links may be closed as we come. */
  private static final int GREETINGS = 3;

  private final BlockClient client;
  private final String host;
  private final int port;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile ClientSession session;
  private volatile long plainUntil;
  private volatile boolean plain;
  private boolean said;
  /** What the server calls its block transfer, as it last said; "" before. */
  private String service = "";

  Peer(BlockClient client, String host, int port) {
    this.client = client;
    this.host = host;
    this.port = port;
  }

  /**
   * @return null if blocks of this peer come over Netty
   * @throws IOException if it can't be reached, refuses us, or has no engine although ours is required
   */
  ClientSession session() throws IOException {
    lock.lock();
    try {
      if (session != null && session.isOpen()) {
        session.touch();
        return session;
      }
      drop(new IOException("the link to " + this + " is down"));
      if (isPlain()) {
        return null;
      }
      plain = false;
      session = connect();
      return session;
    } finally {
      lock.unlock();
    }
  }

  /** Whether it is known that blocks of this peer come over Netty. */
  boolean isPlain() {
    return plain && System.nanoTime() - plainUntil < 0;
  }

  private ClientSession connect() throws IOException {
    ClientSession again = openKnown();
    for (int retired = 0; again == null; retired++) {
      try {
        Link link = greet();
        return link == null ? null : open(link);
      } catch (EngineClosedException e) { // the link was idle, and was closed as we came
        if (retired == GREETINGS || !client.engine().isOpen()) {
          throw e;
        }
      } catch (NoSuchServiceException e) {
        return withoutEngine("its process has no block transfer over the engine on this port");
      }
    }
    return again;
  }

  /** A session over the link that is there, or null: then to greet says how things are now. */
  private ClientSession openKnown() throws IOException {
    Optional<Link> known = service.isEmpty() ? Optional.empty() : client.engine().findLink(toString());
    if (known.isPresent()) {
      try {
        return open(known.get());
      } catch (EngineClosedException | LinkException | NoSuchServiceException e) {
        BlockLog.LOG.debug("The link to {} was closed meanwhile", this, e);
      }
    }
    return null;
  }

  private Link greet() throws IOException {
    try (SocketChannel socket = SocketChannel.open()) {
      socket.socket().connect(new InetSocketAddress(host, port), client.timeoutMillis());
      Greeting greeting;
      try {
        greeting = client.engine().connect(socket, toString(), 0);
      } catch (EngineException | SocketTimeoutException e) {
        // An old server closes a connection that begins with our magic; what it does not understand it may leave be.
        withoutEngine(e.getMessage());
        return null;
      }
      if (!greeting.isLinked()) {
        withoutEngine(greeting.reason());
        return null;
      }
      service = greeting.service();
      if (service.isEmpty()) {
        greeting.link().close();
        withoutEngine("who answers there says nothing of block transfer");
        return null;
      }
      return greeting.link();
    }
  }

  private ClientSession withoutEngine(String cause) throws IOException {
    if (client.options().isRequired()) {
      throw new IOException("blocks of " + this + " have to come over the engine, which it does not take: " + cause);
    }
    client.metrics().fallbacks.inc();
    if (!said) {
      BlockLog.LOG.warn("Blocks of {} come over Netty: {}", this, cause);
      said = true;
    }
    plainUntil = System.nanoTime() + client.options().rememberNanos();
    plain = true;
    return null;
  }

  private ClientSession open(Link link) throws IOException {
    EngineStream stream = null;
    try {
      stream = link.open(service);
      stream.readTimeout(client.timeoutMillis()).writeTimeout(client.timeoutMillis());
      stream.interruptible(false); // a task that is killed must not take the session of all others with it
      long id = client.handshake().connect(stream);
      stream.configureBlocking(false);
      client.metrics().sessions.inc();
      said = false;
      BlockLog.LOG.info("Blocks of {} come over {}", this, link);
      return new ClientSession(link, stream, id, service, client);
    } catch (IOException | RuntimeException e) {
      if (stream != null) {
        stream.close();
      }
      link.close();
      throw e;
    }
  }

  private void drop(IOException cause) {
    if (session != null) {
      session.close(cause);
      session = null;
    }
  }

  /** From time to time, by the thread that takes the answers: it never waits for somebody who connects. */
  void housekeep(long timeoutNanos, long idleNanos) {
    ClientSession current = session;
    if (current == null) {
      return;
    }
    if (!current.isOpen()) {
      current.close(new IOException("the link to " + this + " is down"));
    } else if (current.silence() > timeoutNanos) {
      BlockLog.LOG.error("{} has not answered for {} ms; its link is closed", this,
          timeoutNanos / 1_000_000);
      try {
        current.link().disconnect();
      } catch (IOException e) {
        BlockLog.LOG.debug("closing the link to {}", this, e);
      }
    } else if (current.idleness() > idleNanos) {
      dropIfIdle(idleNanos);
    } else {
      current.pump();
    }
  }

  private void dropIfIdle(long idleNanos) {
    if (lock.tryLock()) {
      try {
        if (session != null && session.idleness() > idleNanos) {
          drop(new IOException("the session was idle"));
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /** Somebody who is connecting is not waited for: what he gets does not work any more. */
  void close() {
    ClientSession current = session;
    if (current != null) {
      current.close(new IOException("the block transfer service is closed"));
    }
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}

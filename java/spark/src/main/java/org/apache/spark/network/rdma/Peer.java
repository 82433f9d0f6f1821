package org.apache.spark.network.rdma;

import io.howdah.engine.EngineClosedException;
import io.howdah.engine.EngineStream;
import io.howdah.engine.Link;
import io.howdah.engine.LinkException;
import io.howdah.engine.NoSuchServiceException;
import io.howdah.upgrade.Attempt;
import io.howdah.upgrade.Linked;
import io.howdah.upgrade.Upgrade;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A block transfer port: over the engine, or over Netty for a while after the engine failed there. The first who needs
 * it connects, others wait meanwhile, as with Netty's clients. Thread-safe.
 */
final class Peer {
  /** How often in a row links may be closed while we open a session. */
  private static final int GREETINGS = 3;
  /** Sessions in a row that are lost before anything came; after that Netty is used. */
  private static final int LOST_MOST = 2;

  private final BlockClient client;
  private final String host;
  private final int port;
  private final ReentrantLock lock = new ReentrantLock();
  private volatile ClientSession session;
  /** As resolved last; null before. */
  private volatile InetSocketAddress address;
  private int lost;

  Peer(BlockClient client, String host, int port) {
    this.client = client;
    this.host = host;
    this.port = port;
  }

  private Upgrade upgrade() {
    return client.options().upgrade();
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
      if (session != null) {
        lost = session.hasServed() ? 0 : lost + 1;
        drop(new IOException("the link to " + this + " is down"));
      }
      if (isPlain()) {
        return null;
      }
      if (lost >= LOST_MOST && !upgrade().isRequired()) {
        lost = 0;
        return withoutEngine("its links are lost before a block has come");
      }
      session = connect();
      return session;
    } catch (RuntimeException | LinkageError e) { // of the engine, whatever it is
      BlockLog.LOG.debug("No session with {}", this, e);
      return withoutEngine(e.toString());
    } finally {
      lock.unlock();
    }
  }

  /** Whether it is known that blocks of this peer come over Netty. */
  boolean isPlain() {
    return address != null && client.connector().isRefused(address);
  }

  /** From now on Netty is used for a while. @throws IOException if the engine is required */
  private ClientSession withoutEngine(String cause) throws IOException {
    client.connector().attempt(address).refuse(cause);
    client.metrics().fallbacks.inc();
    return null;
  }

  private ClientSession connect() throws IOException {
    address = new InetSocketAddress(host, port);
    Attempt attempt = client.connector().attempt(address);
    ClientSession again = attempt.reuse() ? openKnown(attempt.linked()) : null;
    for (int closed = 0; again == null; closed++) {
      attempt = client.connector().attempt(address);
      if (!greet(attempt)) {
        return null;
      }
      try {
        return open(attempt.linked());
      } catch (EngineClosedException e) { // the link was idle, and was closed as we came
        if (closed == GREETINGS || !client.engine().isOpen()) {
          throw e;
        }
      } catch (NoSuchServiceException e) {
        attempt.linked().forget();
        return withoutEngine("its process has no block transfer over the engine on this port");
      } catch (Handshake.RefusedException e) {
        throw e;
      } catch (IOException e) {
        return withoutEngine("the handshake failed: " + e.getMessage());
      }
    }
    return again;
  }

  /** A session over the link that is there, or null: then greeting says how things are now. */
  private ClientSession openKnown(Linked linked) throws IOException {
    try {
      return open(linked);
    } catch (EngineClosedException | LinkException | NoSuchServiceException e) {
      linked.forget();
      BlockLog.LOG.debug("The link to {} was closed meanwhile", this, e);
      return null;
    }
  }

  /** @return whether there is a stream now; if not, blocks come over Netty */
  private boolean greet(Attempt attempt) throws IOException {
    for (boolean first = true;; first = false) {
      try (SocketChannel socket = SocketChannel.open()) {
        socket.socket().connect(address, client.timeoutMillis());
        if (first && !isOurs(socket)) {
          attempt.refuse("it is stock Spark");
        }
        Attempt.Step step = attempt.upgrade(socket, 0);
        if (step != Attempt.Step.AGAIN) {
          return step == Attempt.Step.LINKED;
        }
      }
    }
  }

  private boolean isOurs(SocketChannel socket) {
    try {
      return Question.ask(socket.socket(), client.handshake().authenticates(), client.timeoutMillis());
    } catch (IOException e) {
      BlockLog.LOG.debug("{} does not answer as Spark does", this, e);
      return false;
    }
  }

  private ClientSession open(Linked linked) throws IOException {
    EngineStream stream = linked.stream();
    Link link = null;
    try {
      link = stream.link();
      stream.readTimeout(client.timeoutMillis()).writeTimeout(client.timeoutMillis());
      stream.interruptible(false); // a task that is killed must not take the session of all others with it
      long id = client.handshake().connect(stream);
      stream.configureBlocking(false);
      client.metrics().sessions.inc();
      upgrade().note("Blocks of " + this + " come over " + link);
      return new ClientSession(link, stream, id, linked, client);
    } catch (IOException | RuntimeException e) {
      stream.close();
      if (link != null) {
        link.close();
      }
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
      silent(current, timeoutNanos);
    } else if (current.idleness() > idleNanos) {
      dropIfIdle(idleNanos);
    } else {
      current.pump();
    }
  }

  private void silent(ClientSession current, long timeoutNanos) {
    String cause = "it has not answered for " + timeoutNanos / 1_000_000 + " ms";
    BlockLog.LOG.error("The link to {} is closed: {}", this, cause);
    try {
      current.link().disconnect();
      if (!upgrade().isRequired()) {
        withoutEngine(cause);
      }
    } catch (IOException e) {
      BlockLog.LOG.debug("closing the link to {}", this, e);
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

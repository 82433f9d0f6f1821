package org.apache.hadoop.hdfs.net;

import io.howdah.engine.EngineStream;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.Greeting;
import io.howdah.engine.Service;
import io.howdah.upgrade.Acceptor;
import io.howdah.upgrade.Failures;
import io.howdah.upgrade.Pairing;
import io.howdah.upgrade.Upgrade;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IOUtils;

/**
 * Accepts what comes to a DataNode: connections on its port, and streams over the links of those who greeted there. A
 * connection that is greeted on ends with the greeting; its streams are peers like any other.
 */
public final class RdmaPeerServer implements PeerServer, EventHandler, Pairing.Pairs<RdmaPeerServer.Guest> {
  private static final int WAITING = 1024;
  /** How often what waits for a greeting's end is looked through, in milliseconds. */
  private static final int HOUSEKEEPING = 1000;

  private final PeerServer tcp;
  private final RdmaHdfs rdma;
  private final EventQueue events;
  private final Service service;
  private final Thread acceptor;
  private final Thread poller;
  /** Null if they are not enabled. */
  private final RdmaStages stages;
  /** Links by where they were greeted from: that holds for all of a link's streams. */
  private final Pairing<Guest> guests;
  private final Acceptor greetings;
  /** Peers, and what accepting threw. */
  private final LinkedBlockingQueue<Object> ready = new LinkedBlockingQueue<>(WAITING);
  private boolean started;
  private volatile boolean closed;

  /** A client's address and the one that it came to, as of the socket that it greeted over. Immutable. */
  static final class Guest {
    final String remote;
    final String local;

    Guest(Peer connection) {
      remote = connection.getRemoteAddressString();
      local = connection.getLocalAddressString();
    }
  }

  private RdmaPeerServer(RdmaHdfs rdma, RdmaStages stages, PeerServer tcp, int port) throws IOException {
    this.rdma = rdma;
    this.stages = stages;
    this.tcp = tcp;
    guests = Pairing.byLink(rdma.upgrade(), this);
    events = rdma.engine().newQueue();
    try {
      service = rdma.engine().listen(Acceptor.newService("hadoop.hdfs." + port), events, this);
    } catch (IOException e) {
      events.close();
      throw e;
    }
    greetings = new Acceptor(rdma.upgrade(), service.name(), "DataNode greetings on " + port);
    // Made here and not by whoever accepts: DataNode counts the threads of that one's group as transfers.
    acceptor = thread(this::acceptConnections, "DataNode connections on " + port);
    poller = thread(this::acceptStreams, "DataNode streams on " + port);
  }

  private static Thread thread(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  /**
   * The server for a DataNode.
   *
   * @param tcp its own
   * @param port where that listens
   * @return the given one if the engine is switched off, or if it can't be used and need not be
   * @throws IOException if the configuration is not valid, or the engine is required and can't be used
   */
  public static PeerServer of(Configuration conf, PeerServer tcp, int port) throws IOException {
    RdmaHdfs rdma = RdmaHdfs.ofDaemon(conf);
    if (rdma.isOff()) {
      return tcp;
    }
    Upgrade upgrade = rdma.upgrade();
    upgrade.checkNames();
    RdmaStages stages = RdmaStages.of(upgrade);
    if (!upgrade.isUsable()) {
      return tcp;
    }
    try {
      return new RdmaPeerServer(rdma, stages, tcp, port);
    } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) {
      String cause = Failures.text(e);
      if (upgrade.isRequired()) {
        throw e;
      }
      String address = tcp.getListeningString();
      upgrade.fellBack(address, "The DataNode at " + address + " uses sockets", cause);
      return tcp;
    }
  }

  /**
   * Looks whether a connection begins with a greeting, and answers it. By the thread that serves the connection, as its
   * first deed.
   *
   * @param timeout longest wait for the first byte, in milliseconds
   * @return whether there is nothing else to do for it
   */
  public static boolean greets(Peer peer, int timeout) throws IOException {
    return peer instanceof RdmaGreetedPeer && ((RdmaGreetedPeer) peer).greet(timeout);
  }

  // Accepting.

  @Override
  public Peer accept() throws IOException {
    start();
    Object next;
    try {
      next = closed ? this : ready.take();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClosedByInterruptException();
    }
    if (next instanceof IOException) {
      throw (IOException) next;
    }
    if (next == this) {
      throw new AsynchronousCloseException();
    }
    return (Peer) next;
  }

  private synchronized void start() {
    if (!started && !closed) {
      started = true;
      acceptor.start();
      poller.start();
    }
  }

  private void acceptConnections() {
    while (!closed) {
      Object next;
      try {
        next = new RdmaGreetedPeer(this, tcp.accept());
      } catch (IOException e) {
        next = e;
      }
      try {
        ready.put(next);
      } catch (InterruptedException e) {
        discard(next);
      }
    }
    drain();
  }

  private void acceptStreams() {
    while (!closed) {
      try {
        events.poll(this, guests.isIdle() ? -1 : HOUSEKEEPING);
        guests.purge();
      } catch (IOException | RuntimeException e) {
        if (!closed && !rdma.engine().isOpen()) {
          RdmaHdfs.LOG.error("The DataNode at {} goes on with sockets only", tcp.getListeningString(), e);
          break;
        }
        if (!closed) {
          RdmaHdfs.LOG.warn("A stream to the DataNode at {} was lost", tcp.getListeningString(), e);
        }
      }
    }
    guests.close();
  }

  @Override
  public void accepted(EngineStream stream, Service of) throws IOException {
    guests.accepted(stream);
  }

  /** A stream has an address, and is a peer now. */
  @Override
  public void paired(EngineStream stream, Guest guest) throws IOException {
    RdmaPeer peer = new RdmaPeer(rdma, stream, guest.remote, guest.local, () -> { });
    peer.setStages(stages);
    if (closed || !ready.offer(peer)) {
      RdmaHdfs.LOG.info("Closing a stream from {}: {}", guest.remote, closed ? "the server stops" : "too many wait");
      peer.close();
      return;
    }
    RdmaMetrics.get().serverConnections().incr();
    if (closed) {
      drain();
    }
  }

  @Override
  public void abandoned(Guest guest, String cause) {
    RdmaHdfs.LOG.debug("Nothing comes from {} any more: {}", guest.remote, cause);
  }

  // Greetings.

  /**
   * Answers a greeting.
   *
   * @param first what was read of the connection
   * @param timeout longest wait for the client, in milliseconds
   * @return what the client has sent beyond it; null if it goes on over a link
   */
  ByteBuffer greet(Peer connection, SocketChannel socket, ByteBuffer first, int timeout) throws IOException {
    Greeting greeting = greetings.answerNow(socket, first, timeout);
    if (!greeting.isLinked()) {
      rdma.upgrade().note(connection.getRemoteAddressString() + " goes on over its socket: " + greeting.reason());
      return greeting.unread();
    }
    guests.greeted(greeting.link(), new Guest(connection));
    events.wakeup(); // there is something to keep house for
    return null;
  }

  // The end.

  private void drain() {
    for (Object left = ready.poll(); left != null; left = ready.poll()) {
      discard(left);
    }
    ready.offer(this); // wakes who accepts
  }

  private static void discard(Object left) {
    if (left instanceof Peer) {
      IOUtils.cleanup(null, (Peer) left);
    }
  }

  @Override
  public void close() throws IOException {
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
    }
    greetings.close();
    service.close();
    events.close();
    if (stages != null) {
      stages.close();
    }
    try {
      tcp.close();
    } finally {
      drain();
    }
  }

  // What is asked of a server.

  @Override
  public void setReceiveBufferSize(int size) throws IOException {
    tcp.setReceiveBufferSize(size);
  }

  @Override
  public int getReceiveBufferSize() throws IOException {
    return tcp.getReceiveBufferSize();
  }

  @Override
  public String getListeningString() {
    return tcp.getListeningString();
  }

  @Override
  public String toString() {
    return "RdmaPeerServer(" + getListeningString() + ")";
  }
}

package org.apache.hadoop.hdfs.net;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineStream;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.Greeting;
import io.howdah.engine.Link;
import io.howdah.engine.Service;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.SocketChannel;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IOUtils;

/**
 * Accepts what comes to a DataNode: connections on its port, and streams over the links of those who greeted there. A
 * connection that is greeted on ends with the greeting; its streams are peers like any other.
 */
public final class RdmaPeerServer implements PeerServer, EventHandler {
  private static final int WAITING = 1024;
  private static final AtomicInteger SERVERS = new AtomicInteger();
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
  private final RdmaGuests guests = new RdmaGuests();
  /** Peers, and what accepting threw. */
  private final LinkedBlockingQueue<Object> ready = new LinkedBlockingQueue<>(WAITING);
  private boolean started;
  private volatile boolean closed;

  private RdmaPeerServer(RdmaHdfs rdma, RdmaStages stages, PeerServer tcp, int port) throws IOException {
    this.rdma = rdma;
    this.stages = stages;
    this.tcp = tcp;
    Engine engine = rdma.engine();
    events = engine.newQueue();
    service = offer(engine, port);
    // Made here and not by whoever accepts: DataNode counts the threads of that one's group as transfers.
    acceptor = thread(this::acceptConnections, "DataNode connections on " + port);
    poller = thread(this::acceptStreams, "DataNode streams on " + port);
  }

  /**
   * Clients are told the name as they greet. It is no other server's, be it on another address or a DataNode that had
   * the port before: a stream would wait there for a greeting that was another's.
   */
  private Service offer(Engine engine, int port) throws IOException {
    try {
      return engine.listen("hadoop.hdfs." + port + "." + SERVERS.incrementAndGet(), events, this);
    } catch (IOException e) {
      events.close();
      throw e;
    }
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
   * @return the given one if the engine is not enabled
   * @throws IOException if the configuration is not valid, or the engine is required and can't be used
   */
  public static PeerServer of(Configuration conf, PeerServer tcp, int port) throws IOException {
    RdmaHdfs rdma = RdmaHdfs.of(conf);
    if (rdma == null) {
      return tcp;
    }
    RdmaHdfs.check(conf);
    return new RdmaPeerServer(rdma, RdmaStages.of(conf), tcp, port);
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
    try {
      RdmaGuests.Guest guest = guests.match(stream);
      if (guest != null) {
        admit(stream, guest);
      }
    } catch (IOException e) {
      RdmaHdfs.LOG.info("A stream was lost before it was served: {}", e.toString());
      stream.close();
    }
  }

  /** A stream has an address, and is a peer now. */
  private void admit(EngineStream stream, RdmaGuests.Guest guest) throws IOException {
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

  // Greetings.

  /**
   * Answers a greeting.
   *
   * @param first what was read of the connection
   * @param timeout longest wait for the client, in milliseconds
   * @return what the client has sent beyond it; null if it goes on over a link
   */
  ByteBuffer greet(Peer connection, SocketChannel socket, ByteBuffer first, int timeout) throws IOException {
    RdmaMetrics.get().serverGreetings().incr();
    Greeting greeting;
    try {
      greeting = rdma.engine().accept(socket, first, timeout, service.name());
    } catch (IOException e) {
      RdmaMetrics.get().serverGreetingsFailed().incr();
      throw e;
    }
    if (!greeting.isLinked()) {
      RdmaMetrics.get().serverGreetingsFailed().incr();
      RdmaHdfs.LOG.info("{} goes on over its socket: {}", connection.getRemoteAddressString(), greeting.reason());
      return greeting.unread();
    }
    RdmaGuests.Guest guest = new RdmaGuests.Guest(connection.getRemoteAddressString(),
        connection.getLocalAddressString());
    Link link = greeting.link();
    for (EngineStream stream : guests.arrive(link, guest)) {
      admit(stream, guest);
    }
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

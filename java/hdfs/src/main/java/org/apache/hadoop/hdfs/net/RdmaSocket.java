package org.apache.hadoop.hdfs.net;

import io.howdah.upgrade.Attempt;
import io.howdah.upgrade.Linked;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.net.NetUtils;

/**
 * A socket to a DataNode that goes over the engine if both ends can, and is an ordinary one if not. Which it is turns
 * out in {@link #connect}; from then on it stands for the one or the other. So it is enough that sockets for block data
 * are made here (DFSClient's factory, DataNode, Balancer).
 *
 * <p>The first connection to a DataNode greets on its ordinary port. As long as the link lives, later ones open a
 * stream on it, which costs no round trip.
 */
public final class RdmaSocket extends Socket {
  private static final int ADDRESSES_MOST = 10_000;
  /** DataNodes, "address:port", to which the last connection went over the engine. */
  private static final Set<String> LINKED = ConcurrentHashMap.newKeySet();

  /** Where ordinary sockets come from. */
  interface Maker {
    Socket make() throws IOException;
  }

  private final RdmaHdfs rdma;
  private final Maker maker;
  /** An ordinary socket, from when one is needed. */
  private Socket tcp;
  private SocketAddress bound;
  private int soTimeout;
  private boolean closed;
  /** Set by connecting over the engine. */
  private volatile RdmaStreamSocket stream;

  RdmaSocket(RdmaHdfs rdma, Maker maker) {
    this.rdma = rdma;
    this.maker = maker;
  }

  /**
   * Makes a socket as DataNode does: an ordinary one if the engine is switched off.
   *
   * @param hasChannel whether an ordinary one is to have a channel
   * @throws IOException if the configuration is not valid
   */
  public static Socket create(Configuration conf, boolean hasChannel) throws IOException {
    Maker maker = hasChannel ? () -> SocketChannel.open().socket() : Socket::new;
    RdmaHdfs rdma = RdmaHdfs.ofDaemon(conf);
    return rdma.isOff() ? maker.make() : new RdmaSocket(rdma, maker);
  }

  /** Whether the last connection to this DataNode, "address:port", went over the engine. */
  static boolean isLinked(String server) {
    return LINKED.contains(server);
  }

  /** The stream, or null if this is an ordinary socket. */
  RdmaPeer peer() {
    return stream == null ? null : stream.peer();
  }

  // Connecting.

  @Override
  public void connect(SocketAddress endpoint) throws IOException {
    connect(endpoint, 0);
  }

  @Override
  public void connect(SocketAddress endpoint, int timeout) throws IOException {
    if (stream != null || isClosed()) {
      throw new SocketException(stream != null ? "already connected" : "Socket is closed");
    }
    InetSocketAddress server = (InetSocketAddress) endpoint;
    if (server.isUnresolved()) {
      NetUtils.connect(tcp(), server, timeout); // says so in its own way
      return;
    }
    Attempt attempt = rdma.connector().attempt(server);
    Attempt.Step step = bound == null && attempt.reuse() ? Attempt.Step.LINKED : Attempt.Step.AGAIN;
    while (step == Attempt.Step.AGAIN) {
      NetUtils.connect(tcp(), server, timeout);
      step = isWilling(attempt, server, timeout) ? attempt.upgrade(tcp(), timeout) : Attempt.Step.AGAIN;
      if (step == Attempt.Step.AGAIN) {
        renew();
      }
    }
    settle(server, step == Attempt.Step.LINKED ? attempt.linked() : null);
  }

  /**
   * Asks the DataNode whether it takes greetings, unless it is not to be greeted anyhow.
   *
   * @return false if the connection can't be used any more
   * @throws IOException if it must go over the engine and can't
   */
  private boolean isWilling(Attempt attempt, InetSocketAddress server, int timeout) throws IOException {
    if (attempt.isPlain()) {
      return true;
    }
    long own = rdma.upgrade().greetingTimeout();
    long limit = timeout > 0 ? Math.min(timeout, own) : own;
    try {
      if (!RdmaProbe.ask(tcp(), (int) limit)) {
        attempt.refuse("it is no DataNode of Howdah, or has the engine switched off");
      }
      return true;
    } catch (SocketTimeoutException e) {
      attempt.refuse("it did not say in time whether it takes greetings");
    } catch (IOException e) {
      requireOpen();
      RdmaHdfs.LOG.debug("No answer of {}", server, e);
      attempt.refuse("it hung up on the question whether it takes greetings");
    }
    return false;
  }

  private void requireOpen() throws SocketException {
    if (isClosed()) {
      throw new SocketException("Socket is closed");
    }
  }

  private void settle(InetSocketAddress server, Linked linked) throws IOException {
    String name = server.getAddress().getHostAddress() + ":" + server.getPort();
    rdma.settled(linked != null);
    if (linked == null) {
      LINKED.remove(name);
      return;
    }
    if (LINKED.size() >= ADDRESSES_MOST) {
      LINKED.clear();
    }
    LINKED.add(name);
    RdmaStreamSocket opened = new RdmaStreamSocket(rdma, linked);
    opened.setSoTimeout(soTimeout);
    synchronized (this) {
      if (!closed) {
        stream = opened;
      }
    }
    renew(); // the engine keeps what it needs of the socket
    if (stream == null) {
      opened.close();
      throw new SocketException("Socket is closed");
    }
    RdmaMetrics.get().clientConnections().incr();
  }

  // The ordinary socket.

  private synchronized Socket tcp() throws IOException {
    requireOpen();
    if (tcp == null) {
      tcp = maker.make();
      tcp.setSoTimeout(soTimeout);
      if (bound != null) {
        tcp.bind(bound);
      }
    }
    return tcp;
  }

  private synchronized void renew() {
    if (tcp != null) {
      IOUtils.closeSocket(tcp);
      tcp = null;
    }
  }

  /** What this stands for. */
  private Socket socket() throws SocketException {
    if (stream != null) {
      return stream;
    }
    try {
      return tcp();
    } catch (SocketException e) {
      throw e;
    } catch (IOException e) {
      throw (SocketException) new SocketException(e.getMessage()).initCause(e);
    }
  }

  /** What this stands for, or null if it is not connected. */
  private Socket connected() {
    return stream != null ? stream : tcp;
  }

  @Override
  public void bind(SocketAddress address) throws IOException {
    tcp().bind(address);
    bound = address;
  }

  // What is asked of a socket.

  @Override
  public SocketChannel getChannel() {
    Socket plain = tcp;
    // Not before it is connected: NetUtils would connect the channel, past us.
    return stream != null || plain == null || !plain.isConnected() ? null : plain.getChannel();
  }

  @Override
  public InputStream getInputStream() throws IOException {
    return socket().getInputStream();
  }

  @Override
  public OutputStream getOutputStream() throws IOException {
    return socket().getOutputStream();
  }

  @Override
  public void setSoTimeout(int millis) throws SocketException {
    soTimeout = millis;
    Socket to = connected();
    if (to != null) {
      to.setSoTimeout(millis);
    }
  }

  @Override
  public int getSoTimeout() {
    return soTimeout;
  }

  @Override
  public void setTcpNoDelay(boolean value) throws SocketException {
    socket().setTcpNoDelay(value);
  }

  @Override
  public boolean getTcpNoDelay() throws SocketException {
    return socket().getTcpNoDelay();
  }

  @Override
  public void setKeepAlive(boolean value) throws SocketException {
    socket().setKeepAlive(value);
  }

  @Override
  public boolean getKeepAlive() throws SocketException {
    return socket().getKeepAlive();
  }

  @Override
  public void setSendBufferSize(int value) throws SocketException {
    socket().setSendBufferSize(value);
  }

  @Override
  public int getSendBufferSize() throws SocketException {
    return socket().getSendBufferSize();
  }

  @Override
  public void setReceiveBufferSize(int value) throws SocketException {
    socket().setReceiveBufferSize(value);
  }

  @Override
  public int getReceiveBufferSize() throws SocketException {
    return socket().getReceiveBufferSize();
  }

  @Override
  public InetAddress getInetAddress() {
    Socket to = connected();
    return to == null ? null : to.getInetAddress();
  }

  @Override
  public int getPort() {
    Socket to = connected();
    return to == null ? 0 : to.getPort();
  }

  @Override
  public SocketAddress getRemoteSocketAddress() {
    Socket to = connected();
    return to == null ? null : to.getRemoteSocketAddress();
  }

  @Override
  public InetAddress getLocalAddress() {
    Socket to = connected();
    return to == null ? super.getLocalAddress() : to.getLocalAddress();
  }

  @Override
  public int getLocalPort() {
    Socket to = connected();
    return to == null ? -1 : to.getLocalPort();
  }

  @Override
  public SocketAddress getLocalSocketAddress() {
    Socket to = connected();
    return to == null ? null : to.getLocalSocketAddress();
  }

  @Override
  public boolean isConnected() {
    Socket to = connected();
    return to != null && to.isConnected();
  }

  @Override
  public boolean isBound() {
    Socket to = connected();
    return to != null && to.isBound();
  }

  @Override
  public boolean isClosed() {
    return closed || stream != null && stream.isClosed();
  }

  @Override
  public void close() throws IOException {
    Socket plain;
    synchronized (this) {
      closed = true;
      plain = tcp;
    }
    try {
      if (stream != null) {
        stream.close();
      }
    } finally {
      if (plain != null) {
        plain.close();
      }
    }
  }

  @Override
  public String toString() {
    return "RdmaSocket[" + connected() + "]";
  }
}

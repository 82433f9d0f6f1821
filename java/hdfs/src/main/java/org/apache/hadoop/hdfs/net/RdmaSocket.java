package org.apache.hadoop.hdfs.net;

import io.howdah.engine.EngineClosedException;
import io.howdah.engine.Greeting;
import io.howdah.engine.Link;
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
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.net.NetUtils;

/**
 * A socket to a DataNode that connects over the engine if both ends can, and is an ordinary one if not. So whoever
 * makes sockets for block data (DFSClient's factory, DataNode, Balancer) makes these, and nobody else has to know.
 *
 * <p>The first connection to a DataNode greets on its ordinary port. As long as the link lives, later ones open a
 * stream on it, which costs no round trip.
 */
public final class RdmaSocket extends Socket {
  private static final int GREETINGS = 3;
  private static final int ADDRESSES_REMEMBERED = 10_000;

  /** DataNodes that we have greeted, by address. */
  private static final Map<String, Greeted> GREETED = new ConcurrentHashMap<>();

  /** What is known of a DataNode since we greeted it. */
  private static final class Greeted {
    /** Our address towards it. */
    final InetSocketAddress from;
    final String service;

    Greeted(InetSocketAddress from, String service) {
      this.from = from;
      this.service = service;
    }
  }

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
  private volatile RdmaPeer peer;
  private InetSocketAddress remote;
  private InetSocketAddress local;

  RdmaSocket(RdmaHdfs rdma, Maker maker) {
    this.rdma = rdma;
    this.maker = maker;
  }

  /**
   * Makes a socket as DataNode does: an ordinary one if the engine is not enabled.
   *
   * @param hasChannel whether an ordinary one is to have a channel
   * @throws IOException if the configuration is not valid, or the engine is required and can't be used
   */
  public static Socket create(Configuration conf, boolean hasChannel) throws IOException {
    Maker maker = hasChannel ? () -> SocketChannel.open().socket() : Socket::new;
    RdmaHdfs rdma = RdmaHdfs.of(conf);
    return rdma == null ? maker.make() : new RdmaSocket(rdma, maker);
  }

  /** The stream, or null if this is an ordinary socket. */
  RdmaPeer peer() {
    return peer;
  }

  // Connecting.

  @Override
  public void connect(SocketAddress endpoint) throws IOException {
    connect(endpoint, 0);
  }

  @Override
  public void connect(SocketAddress endpoint, int timeout) throws IOException {
    if (peer != null || isClosed()) {
      throw new SocketException(peer != null ? "already connected" : "Socket is closed");
    }
    InetSocketAddress server = (InetSocketAddress) endpoint;
    if (server.isUnresolved()) {
      NetUtils.connect(tcp(), server, timeout); // says so in its own way
      return;
    }
    String name = server.getAddress().getHostAddress() + ":" + server.getPort();
    if (!rdma.isRequired() && RdmaHdfs.isPlain(name)) {
      RdmaMetrics.get().clientFallbacks().incr();
      NetUtils.connect(tcp(), server, timeout);
      return;
    }
    for (int i = 1;; i++) {
      try {
        if (bound != null || !openOnKnownLink(server, name)) {
          NetUtils.connect(tcp(), server, timeout);
          greet(server, name, timeout);
        }
        return;
      } catch (EngineClosedException e) { // the link was retired meanwhile
        renew();
        if (i == GREETINGS) {
          throw new SocketException("the link to " + server + " was retired " + i + " times: " + e.getMessage());
        }
      }
    }
  }

  private boolean openOnKnownLink(InetSocketAddress server, String name) throws IOException {
    Greeted greeted = GREETED.get(name);
    Optional<Link> known = greeted == null ? Optional.empty() : rdma.engine().findLink(name);
    if (!known.isPresent()) {
      return false;
    }
    try (Link link = known.get()) {
      open(link, server, name, greeted);
    }
    return true;
  }

  private void greet(InetSocketAddress server, String name, int timeout) throws IOException {
    InetSocketAddress from = (InetSocketAddress) tcp.getLocalSocketAddress();
    Greeting greeting;
    try {
      greeting = rdma.engine().connect(tcp, name, timeout);
    } catch (EngineClosedException | SocketTimeoutException e) { // who says nothing at all is not stock's, but hung
      throw e;
    } catch (IOException e) { // a DataNode that knows nothing of us, and says so by hanging up
      hungUp(server, name, timeout, e);
      return;
    }
    if (!greeting.isLinked()) {
      fellBack(server, greeting.reason());
      return;
    }
    if (GREETED.size() >= ADDRESSES_REMEMBERED) {
      GREETED.clear();
    }
    Greeted greeted = new Greeted(from, greeting.service());
    GREETED.put(name, greeted);
    try (Link link = greeting.link()) {
      open(link, server, name, greeted);
    }
    IOUtils.closeSocket(tcp); // the engine keeps what it needs of it
  }

  private void open(Link link, InetSocketAddress server, String name, Greeted greeted) throws IOException {
    // A process may outlive its DataNode, and another may have the address then: it is greeted the next time.
    RdmaPeer opened = new RdmaPeer(rdma, link.open(greeted.service), server.toString(), greeted.from.toString(),
        () -> GREETED.remove(name, greeted));
    remote = server;
    local = greeted.from;
    opened.setReadTimeout(getSoTimeout());
    opened.setWriteTimeout(rdma.writeTimeout());
    synchronized (this) {
      if (!closed) {
        peer = opened;
      }
    }
    if (peer == null) {
      opened.close();
      throw new SocketException("Socket is closed");
    }
    RdmaMetrics.get().clientConnections().incr();
  }

  private void hungUp(InetSocketAddress server, String name, int timeout, IOException cause) throws IOException {
    fellBack(server, cause.getMessage());
    rdma.rememberPlain(name);
    renew();
    NetUtils.connect(tcp(), server, timeout);
  }

  private void fellBack(InetSocketAddress server, String cause) throws IOException {
    if (rdma.isRequired()) {
      throw new IOException("block data of " + server + " has to go over the engine and can't: " + cause);
    }
    RdmaMetrics.get().clientFallbacks().incr();
    RdmaHdfs.sayOnce(server.toString(), "Block data of " + server + " goes over a socket: " + cause);
  }

  // The ordinary socket.

  private synchronized Socket tcp() throws IOException {
    if (closed) {
      throw new SocketException("Socket is closed");
    }
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

  /** The ordinary socket for a setting that has a meaning there only; null if there is none to set. */
  private Socket settable() throws SocketException {
    if (peer != null) {
      return null;
    }
    try {
      return tcp();
    } catch (SocketException e) {
      throw e;
    } catch (IOException e) {
      throw (SocketException) new SocketException(e.getMessage()).initCause(e);
    }
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
    return peer != null || plain == null || !plain.isConnected() ? null : plain.getChannel();
  }

  @Override
  public InputStream getInputStream() throws IOException {
    return peer != null ? peer.getInputStream() : tcp().getInputStream();
  }

  @Override
  public OutputStream getOutputStream() throws IOException {
    return peer != null ? peer.getOutputStream() : tcp().getOutputStream();
  }

  @Override
  public void setSoTimeout(int millis) throws SocketException {
    soTimeout = millis;
    if (peer != null) {
      peer.setReadTimeout(millis);
    } else if (tcp != null) {
      tcp.setSoTimeout(millis);
    }
  }

  @Override
  public int getSoTimeout() {
    return soTimeout;
  }

  @Override
  public void setTcpNoDelay(boolean on) throws SocketException {
    Socket plain = settable();
    if (plain != null) {
      plain.setTcpNoDelay(on);
    }
  }

  @Override
  public boolean getTcpNoDelay() throws SocketException {
    Socket plain = settable();
    return plain == null || plain.getTcpNoDelay();
  }

  @Override
  public void setKeepAlive(boolean on) throws SocketException {
    Socket plain = settable();
    if (plain != null) {
      plain.setKeepAlive(on);
    }
  }

  @Override
  public boolean getKeepAlive() throws SocketException {
    Socket plain = settable();
    return plain == null || plain.getKeepAlive();
  }

  @Override
  public void setSendBufferSize(int size) throws SocketException {
    Socket plain = settable();
    if (plain != null) {
      plain.setSendBufferSize(size);
    }
  }

  @Override
  public int getSendBufferSize() throws SocketException {
    Socket plain = settable();
    return plain == null ? peer.getReceiveBufferSize() : plain.getSendBufferSize();
  }

  @Override
  public void setReceiveBufferSize(int size) throws SocketException {
    Socket plain = settable();
    if (plain != null) {
      plain.setReceiveBufferSize(size);
    }
  }

  @Override
  public int getReceiveBufferSize() throws SocketException {
    Socket plain = settable();
    return plain == null ? peer.getReceiveBufferSize() : plain.getReceiveBufferSize();
  }

  @Override
  public InetAddress getInetAddress() {
    return peer != null ? remote.getAddress() : tcp == null ? null : tcp.getInetAddress();
  }

  @Override
  public int getPort() {
    return peer != null ? remote.getPort() : tcp == null ? 0 : tcp.getPort();
  }

  @Override
  public SocketAddress getRemoteSocketAddress() {
    return peer != null ? remote : tcp == null ? null : tcp.getRemoteSocketAddress();
  }

  @Override
  public InetAddress getLocalAddress() {
    return peer != null ? local.getAddress() : tcp == null ? super.getLocalAddress() : tcp.getLocalAddress();
  }

  @Override
  public int getLocalPort() {
    return peer != null ? local.getPort() : tcp == null ? -1 : tcp.getLocalPort();
  }

  @Override
  public SocketAddress getLocalSocketAddress() {
    return peer != null ? local : tcp == null ? null : tcp.getLocalSocketAddress();
  }

  @Override
  public boolean isConnected() {
    return peer != null || tcp != null && tcp.isConnected();
  }

  @Override
  public boolean isBound() {
    return peer != null || tcp != null && tcp.isBound();
  }

  @Override
  public boolean isClosed() {
    return closed || peer != null && peer.isClosed();
  }

  @Override
  public void close() throws IOException {
    Socket plain;
    synchronized (this) {
      closed = true;
      plain = tcp;
    }
    try {
      if (peer != null) {
        peer.close();
      }
    } finally {
      if (plain != null) {
        plain.close();
      }
    }
  }

  @Override
  public String toString() {
    return "RdmaSocket[" + (peer != null ? peer : tcp) + "]";
  }
}

package org.apache.hadoop.hdfs.net;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import javax.net.SocketFactory;
import org.apache.hadoop.conf.Configuration;

/** Makes the sockets of DFSClient, from the factory that the site has chosen. Thread-safe. */
public final class RdmaSocketFactory extends SocketFactory {
  private final RdmaHdfs rdma;
  private final SocketFactory ordinary;

  private RdmaSocketFactory(RdmaHdfs rdma, SocketFactory ordinary) {
    this.rdma = rdma;
    this.ordinary = ordinary;
  }

  /**
   * The factory for a client.
   *
   * @return the given one if the engine is switched off
   * @throws IOException if the configuration is not valid
   */
  public static SocketFactory of(Configuration conf, SocketFactory ordinary) throws IOException {
    RdmaHdfs rdma = RdmaHdfs.of(conf);
    if (rdma.isOff()) {
      return ordinary;
    }
    rdma.upgrade().checkNames();
    return new RdmaSocketFactory(rdma, ordinary);
  }

  /** Bytes of a packet of a writer that fills them, from {@code dfs.rdma.packet.size}; 0: as over sockets. */
  public int packetSize() {
    return rdma.packetSize();
  }

  /** Whether the last connection to this DataNode, "address:port", went over the engine. */
  public static boolean isLinked(String server) {
    return RdmaSocket.isLinked(server);
  }

  /** Whether the last connection of this client went over the engine; true before the first one. */
  public boolean wasLinked() {
    return rdma.wasLinked();
  }

  @Override
  public Socket createSocket() {
    return new RdmaSocket(rdma, ordinary::createSocket);
  }

  @Override
  public Socket createSocket(String host, int port) throws IOException {
    return createSocket(InetAddress.getByName(host), port);
  }

  @Override
  public Socket createSocket(String host, int port, InetAddress localHost, int localPort) throws IOException {
    return createSocket(InetAddress.getByName(host), port, localHost, localPort);
  }

  @Override
  public Socket createSocket(InetAddress host, int port) throws IOException {
    Socket socket = createSocket();
    socket.connect(new InetSocketAddress(host, port));
    return socket;
  }

  @Override
  public Socket createSocket(InetAddress address, int port, InetAddress localAddress, int localPort)
      throws IOException {
    Socket socket = createSocket();
    socket.bind(new InetSocketAddress(localAddress, localPort));
    socket.connect(new InetSocketAddress(address, port));
    return socket;
  }
}

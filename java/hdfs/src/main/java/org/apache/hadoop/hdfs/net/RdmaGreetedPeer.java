package org.apache.hadoop.hdfs.net;

import io.howdah.upgrade.Acceptor;
import io.howdah.upgrade.FirstBytesInput;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.Channel;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SocketChannel;
import org.apache.hadoop.net.SocketInputStream;
import org.apache.hadoop.net.unix.DomainSocket;

/**
 * A connection on a DataNode's port that may begin with a greeting. If it does not, it is what it was, except that its
 * first bytes were read once already.
 */
final class RdmaGreetedPeer implements Peer {
  private final RdmaPeerServer server;
  private final Peer tcp;
  private final FirstBytesInput in;
  /** Null if it has none, and so cannot go over the engine. */
  private final SocketChannel socket;

  RdmaGreetedPeer(RdmaPeerServer server, Peer tcp) throws IOException {
    this.server = server;
    this.tcp = tcp;
    this.in = new FirstBytesInput(tcp.getInputStream());
    Channel channel = tcp.getInputStreamChannel();
    if (channel instanceof SocketInputStream) {
      channel = ((SocketInputStream) channel).getChannel();
    }
    socket = channel instanceof SocketChannel ? (SocketChannel) channel : null;
  }

  /** Waits for the first bytes and answers a greeting. @return whether there is nothing else to do */
  boolean greet(int timeout) throws IOException {
    if (socket != null) {
      ByteBuffer first;
      tcp.setReadTimeout(timeout);
      try {
        first = first();
      } catch (InterruptedIOException e) { // as DataXceiver: nothing came in time
        return true;
      }
      tcp.setReadTimeout(0); // as it was
      if (!first.hasRemaining()) {
        return true;
      }
      in.unread(first);
      if (Acceptor.isPossible(first) && greeted(first, timeout)) {
        return true;
      }
    }
    RdmaMetrics.get().serverSockets().incr();
    RdmaHdfs.LOG.debug("The connection from {} stays a socket", getRemoteAddressString());
    return false;
  }

  /** Reads what tells a greeting, and agrees to one if asked ({@link RdmaProbe}). @return nothing at the end */
  private ByteBuffer first() throws IOException {
    byte[] read = new byte[RdmaProbe.length()];
    int n = Math.max(0, in.read(read, 0, 1)); // a greeting's other bytes are the engine's to read
    while (n > 0 && RdmaProbe.isPrefix(read, n)) {
      if (n == read.length) {
        RdmaProbe.agree(tcp.getOutputStream());
        n = Math.max(0, in.read(read, 0, 1));
        break;
      }
      int more = in.read(read, n, read.length - n);
      if (more < 0) {
        break;
      }
      n += more;
    }
    return ByteBuffer.wrap(read, 0, n);
  }

  private boolean greeted(ByteBuffer first, int timeout) {
    try {
      ByteBuffer unread = server.greet(this, socket, first, timeout);
      if (unread == null) {
        return true;
      }
      in.unread(unread);
      return false;
    } catch (IOException e) {
      RdmaHdfs.LOG.info("Closing the connection from {}, whose greeting failed: {}", getRemoteAddressString(),
          e.toString());
      return true;
    }
  }

  @Override
  public InputStream getInputStream() {
    return in;
  }

  @Override
  public OutputStream getOutputStream() throws IOException {
    return tcp.getOutputStream();
  }

  @Override
  public ReadableByteChannel getInputStreamChannel() {
    return Channels.newChannel(in);
  }

  @Override
  public void setReadTimeout(int timeoutMs) throws IOException {
    tcp.setReadTimeout(timeoutMs);
  }

  @Override
  public void setWriteTimeout(int timeoutMs) throws IOException {
    tcp.setWriteTimeout(timeoutMs);
  }

  @Override
  public int getReceiveBufferSize() throws IOException {
    return tcp.getReceiveBufferSize();
  }

  @Override
  public boolean getTcpNoDelay() throws IOException {
    return tcp.getTcpNoDelay();
  }

  @Override
  public boolean isClosed() {
    return tcp.isClosed();
  }

  @Override
  public void close() throws IOException {
    tcp.close();
  }

  @Override
  public String getRemoteAddressString() {
    return tcp.getRemoteAddressString();
  }

  @Override
  public String getLocalAddressString() {
    return tcp.getLocalAddressString();
  }

  @Override
  public boolean isLocal() {
    return tcp.isLocal();
  }

  @Override
  public DomainSocket getDomainSocket() {
    return tcp.getDomainSocket();
  }

  @Override
  public boolean hasSecureChannel() {
    return tcp.hasSecureChannel();
  }

  @Override
  public String toString() {
    return tcp.toString();
  }
}

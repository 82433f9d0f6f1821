package org.apache.hadoop.hdfs.net;

import io.howdah.engine.Greeting;
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
 * first byte was read once already.
 */
final class RdmaGreetedPeer implements Peer {
  private final RdmaPeerServer server;
  private final Peer tcp;
  private final Input in;
  /** Null if it has none, and so cannot go over the engine. */
  private final SocketChannel socket;

  /** What was read before, then the rest. */
  private static final class Input extends InputStream {
    private final InputStream rest;
    private ByteBuffer first = ByteBuffer.allocate(0);

    Input(InputStream rest) {
      this.rest = rest;
    }

    @Override
    public int read() throws IOException {
      return first.hasRemaining() ? first.get() & 0xff : rest.read();
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
      if (!first.hasRemaining()) {
        return rest.read(to, offset, length);
      }
      int n = Math.min(length, first.remaining());
      first.get(to, offset, n);
      return n;
    }

    @Override
    public int available() throws IOException {
      return first.remaining() + rest.available();
    }

    @Override
    public void close() throws IOException {
      rest.close();
    }
  }

  RdmaGreetedPeer(RdmaPeerServer server, Peer tcp) throws IOException {
    this.server = server;
    this.tcp = tcp;
    this.in = new Input(tcp.getInputStream());
    Channel channel = tcp.getInputStreamChannel();
    if (channel instanceof SocketInputStream) {
      channel = ((SocketInputStream) channel).getChannel();
    }
    socket = channel instanceof SocketChannel ? (SocketChannel) channel : null;
  }

  /** Waits for the first byte and answers a greeting. @return whether there is nothing else to do */
  boolean greet(int timeout) throws IOException {
    if (socket != null) {
      int b;
      tcp.setReadTimeout(timeout);
      try {
        b = in.read();
      } catch (InterruptedIOException e) { // as DataXceiver: nothing came in time
        return true;
      }
      tcp.setReadTimeout(0); // as it was
      ByteBuffer first = ByteBuffer.wrap(new byte[] {(byte) b});
      in.first = first;
      if (b < 0 || Greeting.isPossible(first) && greeted(first, timeout)) {
        return true;
      }
    }
    RdmaMetrics.get().serverSockets().incr();
    RdmaHdfs.LOG.debug("The connection from {} stays a socket", getRemoteAddressString());
    return false;
  }

  private boolean greeted(ByteBuffer first, int timeout) {
    try {
      ByteBuffer unread = server.greet(this, socket, first, timeout);
      if (unread == null) {
        return true;
      }
      in.first = unread;
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

package io.howdah.upgrade;

import io.howdah.engine.EngineStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;

/**
 * A stream of the engine as a connected {@link Socket}: addresses, timeouts, half close. Interrupting a thread that
 * waits in it throws InterruptedIOException; nothing is lost and the stream goes on. A host with its own way to read
 * or write overrides {@link #newInput} or {@link #newOutput}. One thread may read while another writes.
 */
public class StreamSocket extends Socket {
  /** How often a sender that finds no room looks whether it was interrupted. */
  private static final int SEND_SLICE = 100;
  private static final int ROOM = 16 * 1024;
  /** What may be under way towards us is the engine's own matter; a plausible number. */
  private static final int BUFFER = 1 << 20;

  private final EngineStream stream;
  private final InetSocketAddress remote;
  private final InetSocketAddress local;
  private volatile int timeout;
  private volatile boolean inputShut;
  private volatile boolean outputShut;
  private InputStream input;
  private OutputStream output;

  /** A socket that a client got. */
  public StreamSocket(Linked linked) {
    this(linked.stream(), linked.remote(), linked.local());
  }

  /** A socket with these addresses, which owns the stream. */
  public StreamSocket(EngineStream stream, InetSocketAddress remote, InetSocketAddress local) {
    this.stream = stream;
    this.remote = remote;
    this.local = local;
    stream.interruptible(false).writeTimeout(SEND_SLICE);
  }

  /** The stream. */
  public final EngineStream stream() {
    return stream;
  }

  // Bytes.

  /** What {@link #getInputStream} gives, made once. */
  protected InputStream newInput() {
    return new Input();
  }

  /** What {@link #getOutputStream} gives, made once. */
  protected OutputStream newOutput() {
    return new Output();
  }

  @Override
  public final synchronized InputStream getInputStream() throws IOException {
    requireOpen();
    if (input == null) {
      input = newInput();
    }
    return input;
  }

  @Override
  public final synchronized OutputStream getOutputStream() throws IOException {
    requireOpen();
    if (output == null) {
      output = newOutput();
    }
    return output;
  }

  private void requireOpen() throws IOException {
    if (isClosed()) {
      throw new SocketException("Socket is closed");
    }
  }

  /** Thrown by a read that took longer than {@link #getSoTimeout}. */
  protected final SocketTimeoutException late() {
    return new SocketTimeoutException(timeout + " millis timeout while waiting for " + remote + " over the engine");
  }

  /** Thrown by a thread that was interrupted while it waited. */
  protected final InterruptedIOException interrupted() {
    return new InterruptedIOException("Interrupted while waiting for " + remote + " over the engine");
  }

  /** The bytes that came. */
  private final class Input extends InputStream {
    private final ByteBuffer bytes = ByteBuffer.allocateDirect(ROOM);

    Input() {
      bytes.limit(0);
    }

    @Override
    public int read() throws IOException {
      return fill() ? bytes.get() & 0xff : -1;
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      if (!bytes.hasRemaining() && length >= ROOM && !inputShut) {
        int n = stream.tryRead(to, offset, length); // what is there goes to its place in one copy
        if (n != 0) {
          return n;
        }
      }
      if (!fill()) {
        return -1;
      }
      int n = Math.min(length, bytes.remaining());
      bytes.get(to, offset, n);
      return n;
    }

    /** @return false at the end */
    private boolean fill() throws IOException {
      if (bytes.hasRemaining()) {
        return !inputShut;
      }
      int limit = timeout;
      long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limit);
      bytes.clear();
      try {
        while (!inputShut) {
          int n = stream.await(bytes, limit == 0 ? -1 : Math.max(1, deadline - System.nanoTime()));
          if (n != 0) {
            return n > 0;
          }
          if (Thread.currentThread().isInterrupted()) {
            throw interrupted();
          }
          if (limit != 0 && System.nanoTime() - deadline >= 0) {
            throw late();
          }
        }
        return false;
      } finally {
        bytes.flip();
      }
    }

    @Override
    public int available() throws IOException {
      return bytes.remaining() + stream.available();
    }

    @Override
    public void close() throws IOException {
      StreamSocket.this.close();
    }
  }

  /** Bytes to send. */
  private final class Output extends OutputStream {
    @Override
    public void write(int b) throws IOException {
      write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] from, int offset, int length) throws IOException {
      ByteBuffer bytes = ByteBuffer.wrap(from, offset, length);
      while (bytes.hasRemaining()) {
        try {
          stream.write(bytes);
        } catch (SocketTimeoutException e) { // no room yet
          if (Thread.currentThread().isInterrupted()) {
            throw interrupted();
          }
        }
      }
    }

    @Override
    public void close() throws IOException {
      StreamSocket.this.close();
    }
  }

  // The end.

  @Override
  public void shutdownOutput() throws IOException {
    requireOpen();
    outputShut = true;
    stream.shutdownOutput();
  }

  @Override
  public void shutdownInput() throws IOException {
    requireOpen();
    inputShut = true;
    stream.wakeup();
  }

  @Override
  public boolean isInputShutdown() {
    return inputShut;
  }

  @Override
  public boolean isOutputShutdown() {
    return outputShut;
  }

  @Override
  public boolean isClosed() {
    return !stream.isOpen();
  }

  @Override
  public void close() throws IOException {
    stream.close();
  }

  // What is asked of a socket.

  @Override
  public void setSoTimeout(int millis) {
    timeout = millis;
  }

  @Override
  public int getSoTimeout() {
    return timeout;
  }

  @Override
  public boolean isConnected() {
    return true;
  }

  @Override
  public boolean isBound() {
    return true;
  }

  @Override
  public InetAddress getInetAddress() {
    return remote.getAddress();
  }

  @Override
  public int getPort() {
    return remote.getPort();
  }

  @Override
  public SocketAddress getRemoteSocketAddress() {
    return remote;
  }

  @Override
  public InetAddress getLocalAddress() {
    return local.getAddress();
  }

  @Override
  public int getLocalPort() {
    return local.getPort();
  }

  @Override
  public SocketAddress getLocalSocketAddress() {
    return local;
  }

  @Override
  public void setTcpNoDelay(boolean on) {
    // Nothing is delayed.
  }

  @Override
  public boolean getTcpNoDelay() {
    return true;
  }

  @Override
  public void setKeepAlive(boolean on) {
    // The engine watches its links.
  }

  @Override
  public boolean getKeepAlive() {
    return true;
  }

  @Override
  public void setSendBufferSize(int size) {
    // stream.window of the peer decides.
  }

  @Override
  public int getSendBufferSize() {
    return BUFFER;
  }

  @Override
  public void setReceiveBufferSize(int size) {
    // stream.window decides.
  }

  @Override
  public int getReceiveBufferSize() {
    return BUFFER;
  }

  @Override
  public void setTrafficClass(int tc) {
    // verbs.traffic.class decides.
  }

  @Override
  public String toString() {
    return getClass().getSimpleName() + "[" + remote + "]";
  }
}

package org.apache.hadoop.ipc;

import io.howdah.engine.EngineStream;
import io.howdah.engine.LinkException;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import io.howdah.upgrade.Traffic;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Set;

/**
 * A stream of a client as the channel that Server's connection expects. Reading is for the thread that leads. Writing
 * never waits and never takes a part: what finds no room is kept, as the responder keeps it, and sent when there is.
 */
final class RdmaChannel extends SocketChannel {
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final RdmaServer server;
  private final EngineStream stream;
  private final Traffic traffic;
  private final InetSocketAddress local;
  private final InetSocketAddress remote;
  private final Key key = new Key();
  private final Socket socket = new Ends();

  // Reading, under `reading`.
  private final Object reading = new Object();
  private ByteBuffer rest = NOTHING;
  private RegisteredBuffer message;
  private boolean empty;
  /** The last call was large enough to be read in place; the next one is taken for one like it. */
  private boolean large;

  // Writing, under `delayed`.
  private final ArrayDeque<ByteBuffer> delayed = new ArrayDeque<>();
  private long delayedSince;

  RdmaChannel(RdmaServer server, EngineStream stream, SocketChannel tcp, Traffic traffic) throws IOException {
    super(SelectorProvider.provider());
    this.traffic = traffic;
    this.server = server;
    this.stream = stream;
    this.local = (InetSocketAddress) tcp.getLocalAddress();
    this.remote = (InetSocketAddress) tcp.getRemoteAddress();
    stream.configureBlocking(false).interruptible(false).deferred(true);
  }

  EngineStream stream() {
    return stream;
  }

  /** Counts of what comes over streams of this transport. */
  Traffic traffic() {
    return traffic;
  }

  /** By which Server's listener knows the connection. */
  SelectionKey key() {
    return key;
  }

  /** How many bytes Server reads or writes at once: `limit` of a socket, of a channel of ours all that there are. */
  static int piece(ReadableByteChannel from, WritableByteChannel to, int limit) {
    return from instanceof RdmaChannel || to instanceof RdmaChannel ? Integer.MAX_VALUE : limit;
  }

  // Reading.

  /** Whether the last read found nothing, after which the engine reports when there is something. */
  boolean isEmpty() {
    return empty;
  }

  @Override
  public int read(ByteBuffer to) throws IOException {
    synchronized (reading) {
      if (!isOpen()) {
        throw new ClosedChannelException();
      }
      if (!to.hasRemaining()) {
        return 0;
      }
      ByteBuffer from = rest;
      if (!from.hasRemaining()) {
        if (to.capacity() > Integer.BYTES) { // a call, not the length of one
          large = to.capacity() >= RdmaArrays.LEAST;
        }
        if (isLargeThere() && to.hasArray() && stream.isOffered()) {
          return readOffered(to);
        }
        from = next(to.remaining());
        if (from == null) {
          return -1;
        }
        empty = !from.hasRemaining();
      }
      int n = Math.min(from.remaining(), to.remaining());
      int limit = from.limit();
      from.limit(from.position() + n);
      to.put(from);
      from.limit(limit);
      return n;
    }
  }

  private boolean isLargeThere() throws IOException {
    return large && stream.available() >= RdmaArrays.LEAST;
  }

  /** From the client's memory to where it is wanted. */
  private int readOffered(ByteBuffer to) throws IOException {
    drop();
    int n = -1;
    try {
      n = stream.tryRead(to.array(), to.arrayOffset() + to.position(), to.remaining());
    } catch (LinkException e) {
      isGone(e);
    }
    empty = n == 0;
    to.position(to.position() + Math.max(0, n));
    return n;
  }

  /**
   * More bytes: of a large message in place, of one that is at the client as many as are wanted, else as many as the
   * leader's buffer holds. @return null at the end
   */
  private ByteBuffer next(int wanted) throws IOException {
    drop();
    if (isLargeThere()) {
      message = stream.tryReceive();
      if (message != null) {
        rest = message.buffer();
        return rest;
      }
    }
    ByteBuffer room = server.room();
    room.clear();
    if (large && stream.isOffered()) {
      room.limit(Math.min(wanted, room.capacity()));
    }
    int n = -1;
    try {
      n = stream.await(room, 0);
    } catch (LinkException e) {
      isGone(e);
    } finally {
      room.flip();
    }
    rest = room;
    return n < 0 ? null : room;
  }

  /** The engine has said so: an end, as the socket of a dead process has. */
  private void isGone(LinkException e) {
    RdmaRpc.LOG.debug("{} is gone", stream, e);
  }

  private void drop() {
    rest = NOTHING;
    if (message != null) {
      message.release();
      message = null;
    }
  }

  /** The leader goes on with another connection: its buffer must not have anything of ours. */
  void keepRest() {
    synchronized (reading) {
      if (!isOpen()) {
        drop();
      } else if (message == null && rest.hasRemaining() && rest.isDirect()) {
        ByteBuffer copy = ByteBuffer.allocate(rest.remaining());
        copy.put(rest).flip();
        rest = copy;
      } else if (message == null && !rest.hasRemaining()) {
        rest = NOTHING;
      }
    }
  }

  @Override
  public long read(ByteBuffer[] to, int offset, int length) throws IOException {
    throw new UnsupportedOperationException();
  }

  // Writing.

  @Override
  public int write(ByteBuffer response) throws IOException {
    int length = response.remaining();
    RdmaBuffer buffer = RdmaBuffer.holding(response);
    try {
      synchronized (delayed) {
        if (!delayed.isEmpty() || !send(buffer, response)) {
          delay(response);
        }
      }
    } finally {
      if (buffer != null) {
        buffer.done();
      }
    }
    response.position(response.limit());
    return length;
  }

  private boolean send(RdmaBuffer buffer, ByteBuffer response) throws IOException {
    try {
      return buffer != null ? buffer.sendOn(stream) : stream.send(response);
    } catch (MemoryLimitException e) {
      return false; // tried again when some was given back
    }
  }

  private void delay(ByteBuffer response) {
    RdmaMetrics.get().serverResponsesDelayed().incr();
    ByteBuffer copy = ByteBuffer.allocate(response.remaining());
    copy.put(response.duplicate()).flip();
    if (delayed.isEmpty()) {
      delayedSince = System.nanoTime();
      server.delayed(this);
    }
    delayed.add(copy);
  }

  /** Sends what was delayed, as far as there is room. @return whether all is sent */
  boolean flush() throws IOException {
    synchronized (delayed) {
      while (!delayed.isEmpty()) {
        if (!send(null, delayed.peek())) {
          return false;
        }
        delayed.remove();
        delayedSince = System.nanoTime();
      }
      return true;
    }
  }

  /** For how long the oldest response has been waiting, in nanoseconds. */
  long delay() {
    synchronized (delayed) {
      return delayed.isEmpty() ? 0 : System.nanoTime() - delayedSince;
    }
  }

  @Override
  public long write(ByteBuffer[] from, int offset, int length) throws IOException {
    throw new UnsupportedOperationException();
  }

  // The end.

  @Override
  protected void implCloseSelectableChannel() throws IOException {
    stream.close();
    server.closed(this);
    synchronized (delayed) {
      delayed.clear();
    }
    synchronized (reading) {
      drop();
    }
  }

  @Override
  protected void implConfigureBlocking(boolean block) {
    // It never blocks.
  }

  // Its ends.

  /** Where the client's connection came from. */
  private final class Ends extends Socket {
    @Override
    public InetAddress getInetAddress() {
      return remote.getAddress();
    }

    @Override
    public int getPort() {
      return remote.getPort();
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
    public SocketChannel getChannel() {
      return RdmaChannel.this;
    }

    @Override
    public void shutdownOutput() {
      // Closing says it.
    }

    @Override
    public synchronized void close() throws IOException {
      RdmaChannel.this.close();
    }
  }

  /** Carries the connection to Server's listener. */
  private final class Key extends SelectionKey {
    @Override
    public RdmaChannel channel() {
      return RdmaChannel.this;
    }

    @Override
    public Selector selector() {
      return null;
    }

    @Override
    public boolean isValid() {
      return isOpen();
    }

    @Override
    public void cancel() {
      // There is nothing that it is registered with.
    }

    @Override
    public int interestOps() {
      return OP_READ;
    }

    @Override
    public SelectionKey interestOps(int ops) {
      return this;
    }

    @Override
    public int readyOps() {
      return OP_READ;
    }
  }

  @Override
  public Socket socket() {
    return socket;
  }

  @Override
  public SocketAddress getLocalAddress() {
    return local;
  }

  @Override
  public SocketAddress getRemoteAddress() {
    return remote;
  }

  @Override
  public boolean isConnected() {
    return true;
  }

  @Override
  public boolean isConnectionPending() {
    return false;
  }

  @Override
  public boolean finishConnect() {
    return true;
  }

  @Override
  public boolean connect(SocketAddress address) {
    throw new UnsupportedOperationException();
  }

  @Override
  public SocketChannel bind(SocketAddress address) {
    throw new UnsupportedOperationException();
  }

  @Override
  public SocketChannel shutdownInput() {
    return this;
  }

  @Override
  public SocketChannel shutdownOutput() {
    return this;
  }

  @Override
  public <T> SocketChannel setOption(SocketOption<T> name, T value) {
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) {
    return null;
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return Collections.emptySet();
  }
}

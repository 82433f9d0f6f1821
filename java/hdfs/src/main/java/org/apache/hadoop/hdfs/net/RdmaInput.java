package org.apache.hadoop.hdfs.net;

import io.howdah.engine.EngineStream;
import io.howdah.engine.LinkException;
import io.howdah.engine.NoSuchServiceException;
import io.howdah.engine.RegisteredBuffer;
import io.howdah.upgrade.Traffic;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ReadableByteChannel;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;
import org.apache.hadoop.util.DirectBufferPool;

/**
 * The bytes that come over a stream, with a socket's timeout and interrupts. Large messages are read where they
 * arrived. One thread at a time reads; any may close.
 */
final class RdmaInput extends InputStream implements ReadableByteChannel {
  /** Less is read into a buffer of ours, which costs a copy; more is taken as the message that it is. */
  private static final int ROOM = 8192;
  /** ECONNRESET. */
  private static final int PEER_GONE = 104;
  private static final DirectBufferPool ROOMS = new DirectBufferPool();
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  /** Something that waits for so many nanoseconds, or for ever. */
  private interface Attempt {
    /** @return the number of bytes, 0 if none came, or -1 at the end */
    int run(long nanos) throws IOException;
  }

  private final EngineStream stream;
  private final String transport;
  private final String remote;
  private final Runnable gone;
  private final MutableCounterLong received = RdmaMetrics.get().bytesReceived();
  private ByteBuffer room;
  private RegisteredBuffer message;
  private ByteBuffer rest = NOTHING;
  private boolean closed;
  private volatile int timeout;
  /** Who may receive a block's packets ahead; null if nobody. */
  private volatile RdmaStages stages;

  /**
   * Takes the reading side.
   *
   * @param gone called if the peer turns out to have no such service any more
   */
  RdmaInput(EngineStream stream, String remote, Runnable gone) throws IOException {
    this.stream = stream;
    this.transport = stream.transport();
    this.remote = remote;
    this.gone = gone;
  }

  /** Longest wait for the next byte, in milliseconds; 0 waits for ever. */
  void setTimeout(int millis) {
    timeout = Math.max(0, millis);
  }

  int getTimeout() {
    return timeout;
  }

  void setStages(RdmaStages given) {
    stages = given;
  }

  RdmaStages stages() {
    return stages;
  }

  /** The counts of blocks that are written here. */
  Traffic writes() {
    return Traffic.of("hdfs.write", transport);
  }

  // Reading.

  @Override
  public synchronized int read() throws IOException {
    return fill() ? rest.get() & 0xff : -1;
  }

  @Override
  public synchronized int read(byte[] to, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (!fill()) {
      return -1;
    }
    int n = Math.min(length, rest.remaining());
    rest.get(to, offset, n);
    return n;
  }

  @Override
  public synchronized int read(ByteBuffer to) throws IOException {
    if (!to.hasRemaining()) {
      return 0;
    }
    if (!rest.hasRemaining() && to.isDirect() && to.remaining() >= ROOM) {
      drop();
      return await(to);
    }
    if (!fill()) {
      return -1;
    }
    ByteBuffer part = rest.duplicate();
    part.limit(part.position() + Math.min(to.remaining(), rest.remaining()));
    int n = part.remaining();
    to.put(part);
    rest.position(rest.position() + n);
    return n;
  }

  @Override
  public synchronized int available() throws IOException {
    return rest.remaining() + stream.available();
  }

  /**
   * Waits for the next message and takes it as it arrived. The caller releases it, or gives it back.
   *
   * @return null if something is left of the message before, or at the end
   */
  synchronized RegisteredBuffer take() throws IOException {
    if (rest.hasRemaining()) {
      return null;
    }
    drop();
    RegisteredBuffer[] taken = new RegisteredBuffer[1];
    persist(nanos -> {
      taken[0] = awaitMessage(nanos);
      return taken[0] != null ? taken[0].length() : stream.isEnded() ? -1 : 0;
    });
    return taken[0];
  }

  /** An empty message says nothing: a peer that sends those has us wait for a better one. */
  private RegisteredBuffer awaitMessage(long nanos) throws IOException {
    RegisteredBuffer next = stream.awaitMessage(nanos);
    if (next != null && next.length() == 0) {
      next.release();
      return null;
    }
    return next;
  }

  /** Has a message that was just taken read as bytes instead. */
  synchronized void giveBack(RegisteredBuffer taken) {
    message = taken;
    rest = taken.buffer();
    rest.clear();
  }

  /** Sees to it that there is something to read. @return false at the end */
  private boolean fill() throws IOException {
    if (rest.hasRemaining()) {
      return true;
    }
    drop();
    if (stream.available() >= ROOM) {
      message = stream.tryReceive();
      if (message != null && message.length() > 0) {
        rest = message.buffer();
        received.incr(message.length());
        return true;
      }
      drop();
    }
    if (closed) {
      throw new ClosedChannelException();
    }
    if (room == null) {
      room = ROOMS.getBuffer(ROOM);
    }
    room.clear();
    int n = await(room);
    room.flip();
    rest = room;
    return n > 0;
  }

  private void drop() {
    rest = NOTHING;
    if (message != null) {
      message.release();
      message = null;
    }
  }

  private int await(ByteBuffer to) throws IOException {
    return persist(nanos -> stream.await(to, nanos));
  }

  private int persist(Attempt attempt) throws IOException {
    long millis = timeout;
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    for (;;) {
      int n;
      try {
        n = attempt.run(millis == 0 ? -1 : Math.max(1, deadline - System.nanoTime()));
      } catch (NoSuchServiceException e) {
        gone.run();
        throw e;
      } catch (LinkException e) {
        if (e.errno() != PEER_GONE) {
          throw e;
        }
        RdmaHdfs.LOG.debug("The stream of {} ends", remote, e);
        return -1; // as a socket when the peer's process ends: who expects more will miss it
      }
      if (n != 0) {
        received.incr(Math.max(0, n));
        return n;
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new InterruptedIOException("Interrupted while waiting for " + remote + " over the engine");
      }
      if (millis != 0 && System.nanoTime() - deadline >= 0) {
        throw new SocketTimeoutException(millis + " millis timeout while waiting for " + remote + " over the engine");
      }
    }
  }

  // The end.

  @Override
  public boolean isOpen() {
    return stream.isOpen();
  }

  /** Closes the stream, both ways. */
  @Override
  public void close() throws IOException {
    stream.close(); // sends a reader away, so that the lock becomes free
    synchronized (this) {
      closed = true;
      drop();
      if (room != null) {
        ROOMS.returnBuffer(room);
        room = null;
      }
    }
  }
}

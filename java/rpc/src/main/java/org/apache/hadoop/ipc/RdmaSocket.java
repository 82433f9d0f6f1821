package org.apache.hadoop.ipc;

import io.howdah.engine.EngineStream;
import io.howdah.engine.RegisteredBuffer;
import io.howdah.upgrade.Linked;
import io.howdah.upgrade.StreamSocket;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.util.concurrent.TimeUnit;

/**
 * A client's stream as the socket that Client expects, so that SASL and whatever else stock Hadoop does before the
 * first call is done by stock Hadoop. One thread at a time reads.
 */
final class RdmaSocket extends StreamSocket {
  private static final int ROOM = 16 * 1024;

  /** Thrown when a thread that waits for somebody's response has a reason to stop: nothing was read. */
  static final class Left extends RuntimeException {
    private static final long serialVersionUID = 1;
    static final Left INSTANCE = new Left();

    private Left() {
      super("left", null, false, false);
    }
  }

  private final EngineStream stream;
  private final ByteBuffer in = ByteBuffer.allocateDirect(ROOM);
  private final Frame frame = new Frame();
  /** Guards the message that is read in place: whoever closes gives it back, and no reader may be in it then. */
  private final Object held = new Object();
  private RegisteredBuffer message;
  private boolean closed;
  private ByteBuffer rest = in;
  private volatile boolean wished;
  /** A reader may be sent away until the first byte of a response is there. */
  private boolean mayLeave;
  private long leaveAt;

  RdmaSocket(Linked linked) {
    super(linked);
    stream = linked.stream();
    in.limit(0);
  }

  @Override
  protected InputStream newInput() {
    return new Input();
  }

  // Reading.

  /** The next read throws {@link Left} instead of waiting when interrupted, woken, or at a time of nanoTime. */
  void mayLeave(long at) {
    mayLeave = true;
    leaveAt = at;
  }

  void mustStay() {
    mayLeave = false;
  }

  /** Sends a reader that may leave away. */
  void wakeReader() {
    wished = true;
    stream.wakeup();
  }

  /** Waits until something can be read. @return false at the end */
  private boolean fill(int want) throws IOException {
    if (rest.hasRemaining()) {
      return true;
    }
    drop();
    if (isLargeThere(want)) {
      RegisteredBuffer whole = stream.receive();
      if (whole == null) {
        return false;
      }
      hold(whole);
      return true;
    }
    in.clear();
    if (frame.isBorder() && frame.large) { // its length first, then the rest in place
      in.limit(Integer.BYTES);
    }
    try {
      return await() > 0;
    } finally {
      in.flip();
    }
  }

  private boolean isLargeThere(int want) throws IOException {
    return want >= RdmaArrays.LEAST && stream.available() >= RdmaArrays.LEAST;
  }

  /** Reads from the sender's memory if a large message is in there yet, and does not wait. @return 0 if none is */
  private int readOffered(byte[] to, int offset, int length) throws IOException {
    if (rest.hasRemaining() || !isLargeThere(length) || !stream.isOffered()) {
      return 0;
    }
    drop();
    return Math.max(0, stream.tryRead(to, offset, frame.limit(length)));
  }

  private void hold(RegisteredBuffer whole) throws IOException {
    synchronized (held) {
      if (closed) {
        whole.release();
        throw new ClosedChannelException();
      }
      message = whole;
      rest = whole.buffer();
    }
  }

  private void drop() {
    synchronized (held) {
      if (message != null) {
        rest = in;
        message.release();
        message = null;
      }
    }
  }

  private int await() throws IOException {
    long millis = getSoTimeout();
    long deadline = millis == 0 ? 0 : System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    boolean leaves = mayLeave && frame.isBorder();
    for (;;) {
      if (leaves) {
        leaveIfWished();
      }
      int n = stream.await(in, nanos(leaves, millis != 0, deadline));
      if (n != 0) {
        return n;
      }
      if (millis != 0 && System.nanoTime() - deadline >= 0) {
        throw late();
      }
      if (!mayLeave && Thread.currentThread().isInterrupted()) {
        throw interrupted();
      }
    }
  }

  private void leaveIfWished() {
    if (wished || Thread.currentThread().isInterrupted() || leaveAt != 0 && System.nanoTime() - leaveAt >= 0) {
      wished = false;
      throw Left.INSTANCE;
    }
  }

  private long nanos(boolean leaves, boolean limited, long deadline) {
    long left = limited ? Math.max(1, deadline - System.nanoTime()) : -1;
    if (leaves && leaveAt != 0) {
      long mine = Math.max(1, leaveAt - System.nanoTime());
      left = left < 0 ? mine : Math.min(left, mine);
    }
    return left;
  }

  /**
   * Where a response ends, so that buffers above get nothing of the next one: when one was read, they are empty, and a
   * thread may leave without taking something along.
   */
  private static final class Frame {
    private int seen;
    private int length;
    private int left;
    /** Whether the last response was worth reading in place. */
    private boolean large;

    boolean isBorder() {
      return seen == 0;
    }

    /** How many of so many bytes may be read in one go. */
    int limit(int count) {
      return Math.min(count, seen < Integer.BYTES ? Integer.BYTES - seen : left);
    }

    void pass(byte[] bytes, int offset, int count) {
      if (seen == Integer.BYTES) {
        left -= count;
        endIfWhole();
        return;
      }
      for (int i = 0; i < count; i++) {
        pass(bytes[offset + i] & 0xff);
      }
    }

    void pass(int b) {
      if (seen == Integer.BYTES) {
        left--;
      } else {
        length = length << Byte.SIZE | b;
        seen++;
        left = length >= 0 ? length : Integer.MAX_VALUE; // negative: of a server too old to go on with
      }
      endIfWhole();
    }

    private void endIfWhole() {
      if (seen == Integer.BYTES && left == 0) {
        large = length >= RdmaArrays.LEAST;
        seen = 0;
        length = 0;
      }
    }
  }

  /** The bytes that came. */
  private final class Input extends InputStream {
    @Override
    public int read() throws IOException {
      if (!fill(1)) {
        return -1;
      }
      int b;
      synchronized (held) {
        if (!rest.hasRemaining()) {
          throw new ClosedChannelException();
        }
        b = rest.get() & 0xff;
      }
      frame.pass(b);
      return b;
    }

    @Override
    public int read(byte[] to, int offset, int length) throws IOException {
      if (length == 0) {
        return 0;
      }
      int n = readOffered(to, offset, length);
      if (n > 0) {
        frame.pass(to, offset, n);
        return n;
      }
      if (!fill(length)) {
        return -1;
      }
      synchronized (held) {
        if (!rest.hasRemaining()) {
          throw new ClosedChannelException();
        }
        n = frame.limit(Math.min(length, rest.remaining()));
        rest.get(to, offset, n);
      }
      frame.pass(to, offset, n);
      return n;
    }

    @Override
    public int available() throws IOException {
      return rest.remaining() + stream.available();
    }

    @Override
    public void close() throws IOException {
      RdmaSocket.this.close();
    }
  }

  // Writing.

  /**
   * Sends a finished message.
   *
   * @throws InterruptedException if there was no room and the thread was interrupted; nothing was sent
   */
  void send(RdmaBuffer buffer) throws IOException, InterruptedException {
    for (;;) {
      try {
        if (buffer.sendOn(stream)) {
          return;
        }
      } catch (SocketTimeoutException e) {
        if (Thread.interrupted()) {
          throw new InterruptedException("interrupted while waiting for room to send to " + getRemoteSocketAddress());
        }
      }
    }
  }

  /** Ends the stream, and gives back the message that was being read: it would keep the link of a dead peer. */
  @Override
  public void close() throws IOException {
    synchronized (held) {
      closed = true;
      drop();
    }
    super.close();
  }
}

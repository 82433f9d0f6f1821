package org.apache.hadoop.hdfs.net;

import io.howdah.engine.EngineException;
import io.howdah.engine.EngineStream;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.NoSuchServiceException;
import io.howdah.engine.RegisteredBuffer;
import io.howdah.upgrade.Traffic;
import java.io.EOFException;
import java.io.IOException;
import java.io.FilterOutputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.WritableByteChannel;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;
import org.apache.hadoop.net.SocketOutputStream;
import org.apache.hadoop.util.DirectBufferPool;

/**
 * The bytes to send over a stream, with a socket's timeout and interrupts. It is a SocketOutputStream because
 * BlockSender gives those, and no others, whole parts of a block file to send: they go from the file straight into
 * memory that the peer can reach.
 */
final class RdmaOutput extends SocketOutputStream {
  /** From here on bytes are put into a registered buffer, to be sent without another copy. */
  static final int LARGE = 8192;
  /** What is held back at a time, at most: a small read's answer and bytes. */
  private static final int HELD = 16_384;
  private static final DirectBufferPool BUFFERS = new DirectBufferPool();
  /** How often a sender that finds no room looks whether it was interrupted. */
  private static final int SLICE = 100;

  private final EngineStream stream;
  private final RdmaHdfs rdma;
  private final String remote;
  private final Runnable gone;
  private final MutableCounterLong sent = RdmaMetrics.get().bytesSent();
  private volatile int timeout;
  /** The counts of blocks that are read here; null before the first one. */
  private Traffic reads;
  /** What goes with what follows; null if nothing is held back. */
  private ByteBuffer held;

  /** What SocketOutputStream wants to be made of. Never waited for: every method that would is overridden. */
  private static final class Channel extends AbstractSelectableChannel implements WritableByteChannel {
    private final EngineStream stream;

    Channel(EngineStream stream) {
      super(SelectorProvider.provider());
      this.stream = stream;
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
      return stream.write(from);
    }

    @Override
    public int validOps() {
      return SelectionKey.OP_WRITE;
    }

    @Override
    protected void implConfigureBlocking(boolean block) {
      assert !block; // nobody selects it
    }

    @Override
    protected void implCloseSelectableChannel() throws IOException {
      stream.close();
    }
  }

  private interface Attempt {
    /** @return whether all was sent */
    boolean send() throws IOException;
  }

  /**
   * Takes the writing side.
   *
   * @param gone called if the peer turns out to have no such service any more
   */
  RdmaOutput(RdmaHdfs rdma, EngineStream stream, String remote, Runnable gone) throws IOException {
    super(new Channel(stream), 0);
    this.rdma = rdma;
    this.stream = stream.interruptible(false).writeTimeout(SLICE);
    this.remote = remote;
    this.gone = gone;
  }

  /** Longest wait for room, in milliseconds; 0 waits for ever. */
  @Override
  public void setTimeout(int millis) {
    timeout = Math.max(0, millis);
  }

  // Writing.

  @Override
  public void write(int b) throws IOException {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public void write(byte[] from, int offset, int length) throws IOException {
    write(ByteBuffer.wrap(from, offset, length));
  }

  @Override
  public int write(ByteBuffer from) throws IOException {
    if (held == null) {
      return deliver(from);
    }
    if (from.remaining() > held.remaining()) {
      deliverHeld();
    }
    if (from.remaining() > held.remaining()) {
      return deliver(from);
    }
    int length = from.remaining();
    held.put(from);
    return length;
  }

  private int deliver(ByteBuffer from) throws IOException {
    int length = from.remaining();
    RegisteredBuffer buffer = length < LARGE ? null : allocate(length);
    if (buffer != null) {
      try {
        buffer.buffer().put(from);
        send(buffer, length);
      } finally {
        buffer.release();
      }
    } else if (length > 0) {
      persist(() -> {
        stream.write(from);
        return !from.hasRemaining();
      });
      count(length);
    }
    return length;
  }

  void send(RegisteredBuffer buffer, int length) throws IOException {
    persist(() -> stream.send(buffer, 0, length));
    count(length);
  }

  private void count(int length) {
    sent.incr(length);
    if (reads != null) {
      reads.bytes(length);
    }
  }

  /** A block is read from here: what is sent from now on is counted as such. */
  void beginRead() throws IOException {
    if (reads == null) {
      reads = Traffic.of("hdfs.read", stream.transport());
      reads.connection();
    }
    reads.call(0);
  }

  /** @return null at the limit of memory: then the bytes go the slow way, which waits for some */
  RegisteredBuffer allocate(int length) throws IOException {
    try {
      return rdma.engine().allocate(length);
    } catch (MemoryLimitException e) {
      return null;
    }
  }

  private void persist(Attempt attempt) throws IOException {
    long millis = timeout;
    long start = System.nanoTime();
    for (;;) {
      try {
        if (attempt.send()) {
          return;
        }
      } catch (SocketTimeoutException e) {
        RdmaHdfs.LOG.trace("{} takes nothing", remote, e);
      } catch (MemoryLimitException e) {
        throw e;
      } catch (EngineException e) {
        if (e instanceof NoSuchServiceException) {
          gone.run(); // within one process that is known at once, and nobody gets as far as to read it
        }
        // In the words that BlockSender knows a client by that has gone; others make it suspect the disk.
        throw new IOException("Broken pipe: " + e.getMessage(), e);
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new InterruptedIOException("Interrupted while waiting for room to send to " + remote);
      }
      if (millis != 0 && System.nanoTime() - start >= TimeUnit.MILLISECONDS.toNanos(millis)) {
        throw new SocketTimeoutException(millis + " millis timeout while waiting for room to send to " + remote);
      }
    }
  }

  // Holding back.

  /**
   * From now on what is small waits for what follows, until {@link #flush}: an answer, headers, checksums and data then
   * are one message, and wake the reader once.
   *
   * @return where to write what is to wait in any case: flushing that does nothing
   */
  OutputStream hold() {
    if (held == null) {
      held = BUFFERS.getBuffer(HELD);
      held.clear();
    }
    return new FilterOutputStream(this) {
      @Override
      public void write(byte[] from, int offset, int length) throws IOException {
        out.write(from, offset, length);
      }

      @Override
      public void flush() {
        // What follows does it.
      }
    };
  }

  private void deliverHeld() throws IOException {
    if (held.position() > 0) {
      held.flip();
      deliver(held);
      held.clear();
    }
  }

  @Override
  public void flush() throws IOException {
    if (held != null) {
      deliverHeld();
      BUFFERS.returnBuffer(held);
      held = null;
    }
  }

  // Files.

  @Override
  public void transferToFully(FileChannel file, long position, int count, LongWritable waitForWritableTime,
      LongWritable transferToTime) throws IOException {
    long start = System.nanoTime();
    long read = start;
    int before = held == null ? 0 : held.position();
    if (held != null && count <= held.remaining()) {
      held.limit(before + count);
      fill(held, file, position);
      held.limit(held.capacity());
      read = System.nanoTime();
    } else if (count > 0) {
      RegisteredBuffer buffer = allocate(before + count);
      if (buffer != null) {
        try {
          read = fillAndSend(buffer, file, position);
        } finally {
          buffer.release();
        }
      } else {
        ByteBuffer bytes = ByteBuffer.allocate(count);
        fill(bytes, file, position);
        bytes.flip();
        read = System.nanoTime();
        write(bytes);
      }
    }
    if (waitForWritableTime != null) {
      waitForWritableTime.set(System.nanoTime() - read);
    }
    if (transferToTime != null) {
      transferToTime.set(read - start);
    }
  }

  /** @return when the file was read */
  private long fillAndSend(RegisteredBuffer buffer, FileChannel file, long position) throws IOException {
    ByteBuffer bytes = buffer.buffer();
    if (held != null) {
      held.flip();
      bytes.put(held);
      held.clear();
    }
    fill(bytes, file, position);
    long read = System.nanoTime();
    send(buffer, bytes.position());
    return read;
  }

  /** Reads until the buffer is full. */
  private static void fill(ByteBuffer to, FileChannel file, long position) throws IOException {
    long at = position;
    while (to.hasRemaining()) {
      int n = file.read(to, at);
      if (n < 0) {
        throw new EOFException("EOF Reached. file size is " + file.size() + " and " + to.remaining()
            + " more bytes left to be transfered.");
      }
      at += n;
    }
  }

  @Override
  public void transferToFully(FileChannel file, long position, int count) throws IOException {
    transferToFully(file, position, count, null, null);
  }

  @Override
  public void waitForWritable() {
    // Each write waits for itself.
  }

  // The end.

  @Override
  public boolean isOpen() {
    return stream.isOpen();
  }
}

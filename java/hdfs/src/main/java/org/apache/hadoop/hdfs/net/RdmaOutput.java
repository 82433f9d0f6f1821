package org.apache.hadoop.hdfs.net;

import io.howdah.engine.EngineException;
import io.howdah.engine.EngineStream;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
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

/**
 * The bytes to send over a stream, with a socket's timeout and interrupts. It is a SocketOutputStream because
 * BlockSender gives those, and no others, whole parts of a block file to send: they go from the file straight into
 * memory that the peer can reach.
 */
final class RdmaOutput extends SocketOutputStream {
  /** From here on bytes are put into a registered buffer, to be sent without another copy. */
  static final int LARGE = 8192;
  /** How often a sender that finds no room looks whether it was interrupted. */
  private static final int SLICE = 100;

  private final EngineStream stream;
  private final RdmaHdfs rdma;
  private final String remote;
  private final MutableCounterLong sent = RdmaMetrics.get().bytesSent();
  private volatile int timeout;

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

  RdmaOutput(RdmaHdfs rdma, EngineStream stream, String remote) throws IOException {
    super(new Channel(stream), 0);
    this.rdma = rdma;
    this.stream = stream.interruptible(false).writeTimeout(SLICE);
    this.remote = remote;
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
      sent.incr(length);
    }
    return length;
  }

  void send(RegisteredBuffer buffer, int length) throws IOException {
    persist(() -> stream.send(buffer, 0, length));
    sent.incr(length);
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

  // Files.

  @Override
  public void transferToFully(FileChannel file, long position, int count, LongWritable waitForWritableTime,
      LongWritable transferToTime) throws IOException {
    long start = System.nanoTime();
    long read = start;
    RegisteredBuffer buffer = count == 0 ? null : allocate(count);
    if (buffer != null) {
      try {
        fill(buffer.buffer(), file, position);
        read = System.nanoTime();
        send(buffer, count);
      } finally {
        buffer.release();
      }
    } else if (count > 0) {
      ByteBuffer bytes = ByteBuffer.allocate(count);
      fill(bytes, file, position);
      read = System.nanoTime();
      write(bytes);
    }
    if (waitForWritableTime != null) {
      waitForWritableTime.set(System.nanoTime() - read);
    }
    if (transferToTime != null) {
      transferToTime.set(read - start);
    }
  }

  /** Reads until the buffer is full, and makes it ready to be read from. */
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
    to.flip();
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

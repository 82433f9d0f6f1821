package org.apache.hadoop.hdfs.net;

import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.util.DataChecksum;

/**
 * Packets of one block that follow each other: a thread of {@link RdmaStages} receives them, sends them on and verifies
 * them, while the block's own thread writes those before. It ends with the first message that is not a packet in
 * itself, which is the other thread's to read, and with the first failure.
 */
final class RdmaStage implements Runnable {
  /** In place of a packet: the block's thread reads on by itself, be it to find the end. */
  static final Object NOTHING = new Object();

  private final RdmaInput in;
  private final DataChecksum checksum;
  private final ArrayBlockingQueue<Object> queue;
  private final CountDownLatch over = new CountDownLatch(1);
  private final RdmaMetrics metrics = RdmaMetrics.get();
  private RdmaDataOutput mirror;
  private Thread thread;
  private boolean stopped;

  /**
   * The packets of a block.
   *
   * @param mirror the next DataNode, or null if there is none
   * @param checksum what they are to be verified with, or null if somebody else does
   * @param room how many may wait
   */
  RdmaStage(RdmaInput in, RdmaDataOutput mirror, DataChecksum checksum, int room) {
    this.in = in;
    this.mirror = mirror;
    // One of its own: it has a state.
    this.checksum = checksum == null ? null
        : DataChecksum.newDataChecksum(checksum.getChecksumType(), checksum.getBytesPerChecksum());
    this.queue = new ArrayBlockingQueue<>(room);
  }

  // The stage's thread.

  @Override
  public void run() {
    synchronized (this) {
      thread = Thread.currentThread();
      if (stopped) {
        thread.interrupt();
      }
    }
    metrics.stageHandlersBusy().incr();
    try {
      Object next = NOTHING;
      do {
        next = next();
      } while (hand(next) && next instanceof RdmaPacket);
    } finally {
      metrics.stageHandlersBusy().decr();
      synchronized (this) {
        thread = null;
        Thread.interrupted(); // that was meant for this block
      }
      over.countDown();
    }
  }

  /** A packet with which everything but the writing was done, or what the block's thread has to see to. */
  private Object next() {
    RegisteredBuffer message = null;
    try {
      message = in.take();
      if (message == null) {
        return NOTHING;
      }
      RdmaPacket packet = RdmaPacket.of(message);
      if (packet == null) {
        return message;
      }
      metrics.stagePackets().incr();
      forward(packet);
      verify(packet);
      return packet;
    } catch (IOException | RuntimeException e) {
      if (message != null) {
        return message; // whoever reads it finds the same
      }
      return e instanceof IOException ? e : new IOException(e);
    }
  }

  private void forward(RdmaPacket packet) {
    if (mirror == null) {
      return;
    }
    long start = System.nanoTime();
    try {
      mirror.send(packet.message);
      packet.forwarded = true;
    } catch (IOException | RuntimeException e) {
      // BlockReceiver hears of it, and does not ask for the next ones.
      packet.failure = e instanceof IOException ? (IOException) e : new IOException(e);
      mirror = null;
    }
    metrics.stageReplicateMicros().add(micros(start));
  }

  private void verify(RdmaPacket packet) {
    if (checksum == null || !packet.checksums.hasRemaining()) {
      return;
    }
    long start = System.nanoTime();
    try {
      checksum.verifyChunkedSums(packet.data, packet.checksumsInPlace, "", 0);
      packet.verified = true;
    } catch (ChecksumException | RuntimeException e) { // or fewer checksums than there should be
      RdmaHdfs.LOG.debug("A packet is damaged; BlockReceiver will say so", e);
    }
    metrics.stageProcessMicros().add(micros(start));
  }

  private static long micros(long start) {
    return TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - start);
  }

  /** @return false if nobody wants it any more */
  private boolean hand(Object next) {
    if (next instanceof RdmaPacket) {
      ((RdmaPacket) next).queuedAt = System.nanoTime();
      metrics.stageQueued().incr();
    }
    try {
      queue.put(next);
      return true;
    } catch (InterruptedException e) {
      discard(next);
      return false;
    }
  }

  private void discard(Object left) {
    if (left instanceof RdmaPacket) {
      metrics.stageQueued().decr();
      ((RdmaPacket) left).message.release();
    } else if (left instanceof RegisteredBuffer) {
      ((RegisteredBuffer) left).release();
    }
  }

  // The block's thread.

  /**
   * Waits for the next packet.
   *
   * @return an RdmaPacket; or, as the last thing, a message that is none, or {@link #NOTHING}
   * @throws IOException what receiving met, also as the last thing
   */
  Object take() throws IOException {
    Object next = null;
    try {
      while (next == null) {
        boolean last = over.getCount() == 0;
        next = queue.poll(1, TimeUnit.SECONDS);
        if (next == null && last) {
          throw new IOException("the thread that receives the block's packets has ended");
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw (IOException) new InterruptedIOException("Interrupted while waiting for a packet").initCause(e);
    }
    if (next instanceof RdmaPacket) {
      metrics.stageQueued().decr();
      metrics.stageWaitMicros().add(micros(((RdmaPacket) next).queuedAt));
    }
    if (next instanceof IOException) {
      throw (IOException) next;
    }
    return next;
  }

  /** Ends it, and waits until the streams are the caller's alone. */
  void stop() {
    synchronized (this) {
      stopped = true;
      if (thread != null) {
        thread.interrupt();
      }
    }
    boolean interrupted = false;
    for (;;) {
      try {
        over.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    for (Object left = queue.poll(); left != null; left = queue.poll()) {
      discard(left);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}

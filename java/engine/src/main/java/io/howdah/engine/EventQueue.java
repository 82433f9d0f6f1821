package io.howdah.engine;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Where asynchronous results arrive: streams and requests of peers, streams that can go on, fetches that ended. One
 * thread polls it, like a Selector, and serves any number of streams; events come in batches through direct memory.
 * Everything but {@link #poll} may be called by any thread.
 */
public final class EventQueue implements Closeable {
  // struct hd_event, checked in native/jni/engine.c
  private static final int TYPE = 0;
  private static final int STATUS = 4;
  private static final int USER = 8;
  private static final int STREAM = 16;
  private static final int FETCH = 24;
  private static final int SIZE = 32;

  private static final int TYPE_STREAM = 1;
  private static final int TYPE_READABLE = 2;
  private static final int TYPE_WRITABLE = 3;
  private static final int TYPE_FETCH = 4;

  private static final int BATCH = 256;

  private final EngineCore core;
  private final Handle handle;
  private final Slots slots = new Slots();
  private final ByteBuffer events = ByteBuffer.allocateDirect(BATCH * SIZE).order(ByteOrder.nativeOrder());
  private final ReentrantLock polling = new ReentrantLock();
  private Interruption interruption = new Interruption();

  /** Lets an interrupt wake the poll; java.nio offers that to channels only. Used up by an interrupt. */
  private final class Interruption extends AbstractInterruptibleChannel {
    void enter() {
      begin();
    }

    /** @return whether the thread was interrupted */
    boolean leave() {
      try {
        end(true);
        return false;
      } catch (AsynchronousCloseException e) {
        return true;
      }
    }

    @Override
    protected void implCloseChannel() {
      wakeup();
    }
  }

  EventQueue(EngineCore core) throws IOException {
    this.core = core;
    long engine = core.enter();
    long queue;
    try {
      queue = Native.queueCreate(engine);
    } finally {
      core.exit();
    }
    if (queue < 0) {
      throw Errno.failure(queue, null);
    }
    handle = new Handle(this, Handle.Kind.QUEUE, queue);
  }

  EngineCore core() {
    return core;
  }

  long add(Object member) {
    return slots.add(member);
  }

  boolean remove(long id) {
    return slots.remove(id) != null;
  }

  /** The native queue for a call; {@link #exit()} ends it. */
  long enter() throws EngineClosedException {
    if (!handle.enter()) {
      throw new EngineClosedException("the event queue was closed");
    }
    return handle.pointer;
  }

  void exit() {
    handle.exit();
  }

  /** Streams, services and unfinished fetches that report here. */
  public int members() {
    return slots.size();
  }

  /**
   * Waits until there are events and gives all that are there to the handler. The waiting thread drives the engine
   * while it spins. {@link #wakeup} and interrupts end the wait; the interrupt status stays set.
   *
   * @param timeoutMillis longest wait; 0 does not wait, negative waits for ever
   * @return events handled, 0 if there were none in time
   * @throws EngineClosedException if the queue or the engine is closed
   */
  public int poll(EventHandler handler, long timeoutMillis) throws IOException {
    if (polling.isHeldByCurrentThread() || !polling.tryLock()) {
      throw new IllegalStateException("one thread at a time polls a queue, and not from a handler");
    }
    try {
      int count = await(timeoutMillis == 0 ? 0 : Errno.nanos(Math.max(0, timeoutMillis)));
      dispatch(handler, count);
      return count;
    } finally {
      polling.unlock();
    }
  }

  private int await(long timeout) throws IOException {
    enter();
    int count;
    try {
      interruption.enter();
      try {
        count = Native.queueWait(handle.pointer, Memory.address(events), BATCH, timeout);
      } finally {
        if (interruption.leave()) {
          interruption = new Interruption();
        }
      }
    } finally {
      exit();
    }
    if (count >= 0) {
      return count;
    }
    if (!handle.isOpen()) {
      throw new EngineClosedException("the event queue was closed");
    }
    if (count == -Errno.EAGAIN || count == -Errno.ETIMEDOUT || count == -Errno.EINTR) {
      return 0;
    }
    throw Errno.failure(count, null);
  }

  private void dispatch(EventHandler handler, int count) throws IOException {
    Throwable failed = null;
    for (int i = 0; i < count; i++) {
      try {
        dispatchOne(handler, i * SIZE);
      } catch (Throwable e) { // the events behind it are owed to others
        if (failed == null) {
          failed = e;
        } else if (failed != e) {
          failed.addSuppressed(e);
        }
      }
    }
    if (failed instanceof IOException) {
      throw (IOException) failed;
    }
    if (failed instanceof Error) {
      throw (Error) failed;
    }
    if (failed != null) {
      throw (RuntimeException) failed;
    }
  }

  private void dispatchOne(EventHandler handler, int at) throws IOException {
    Object member = slots.get(events.getLong(at + USER));
    switch (events.getInt(at + TYPE)) {
      case TYPE_STREAM:
        accepted(handler, new EngineStream(core, events.getLong(at + STREAM)), (Service) member);
        break;
      case TYPE_READABLE:
        if (member != null) { // else it was closed while its event was on the way
          handler.readable((EngineStream) member);
        }
        break;
      case TYPE_WRITABLE:
        if (member != null) {
          handler.writable((EngineStream) member);
        }
        break;
      case TYPE_FETCH:
        requested(handler, new FetchRequest(core, events.getLong(at + FETCH)), (Service) member);
        break;
      default:
        if (member != null) {
          ((Fetch) member).ended(events.getInt(at + STATUS), events.getLong(at + FETCH));
        }
    }
  }

  private static void accepted(EventHandler handler, EngineStream stream, Service service) throws IOException {
    if (service == null) {
      stream.close();
    } else {
      handler.accepted(stream, service);
    }
  }

  private static void requested(EventHandler handler, FetchRequest request, Service service) throws IOException {
    if (service == null) {
      request.refuse(Errno.ENOENT, "the service was closed");
    } else {
      handler.requested(request, service);
    }
  }

  /** Makes the current or the next poll return. */
  public void wakeup() {
    if (handle.enter()) {
      try {
        Native.queueWake(handle.pointer);
      } finally {
        handle.exit();
      }
    }
  }

  public boolean isOpen() {
    return handle.isOpen();
  }

  /**
   * Ends the queue; a second call has no effect. Whoever polls gets an exception. Fetches that have not ended are
   * cancelled, and their listeners told by this thread. Streams stay open, services must be closed by their owners.
   */
  @Override
  public void close() {
    if (!handle.close(this)) {
      return;
    }
    for (Object member : slots.all()) {
      if (member instanceof Fetch) {
        ((Fetch) member).abandoned();
      }
    }
  }
}

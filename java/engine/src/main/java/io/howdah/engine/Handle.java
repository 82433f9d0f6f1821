package io.howdah.engine;

import java.lang.ref.PhantomReference;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A native object, kept alive by the calls that are in it. {@link #close} lets no new call in, wakes those that wait,
 * and whoever leaves last frees the object; so nothing is freed under a running call, and nothing waits for another
 * thread. It also watches over its owner: an owner that becomes garbage without closing is counted as a leak and
 * closed. Thread-safe.
 */
final class Handle extends PhantomReference<Object> {
  /** What a handle points to: how it is woken and freed. */
  enum Kind {
    ENGINE, QUEUE, LINK, STREAM, BUFFER, REQUEST;

    void wake(long pointer) {
      switch (this) {
        case ENGINE:
          Native.engineStop(pointer);
          break;
        case QUEUE:
          Native.queueWake(pointer);
          break;
        case STREAM:
          Native.streamWake(pointer);
          break;
        default: // nobody waits in the others
      }
    }

    void free(long pointer) {
      switch (this) {
        case ENGINE:
          Native.engineDestroy(pointer);
          break;
        case QUEUE:
          Native.queueDestroy(pointer);
          break;
        case LINK:
          Native.linkPut(pointer);
          break;
        case STREAM:
          Native.streamClose(pointer);
          break;
        case BUFFER:
          Native.bufRelease(pointer);
          break;
        default:
          Native.fetchReplyError(pointer, -Errno.EIO, "the service did not answer");
      }
    }
  }

  private static final AtomicIntegerFieldUpdater<Handle> STATE =
      AtomicIntegerFieldUpdater.newUpdater(Handle.class, "state");
  private static final int CLOSED = 1;
  private static final int CALL = 2;

  /** Is nobody's owner, which no compiler can know. */
  private static volatile Object nobody = new Object();

  final long pointer;
  private final Kind kind;
  private final Throwable origin;
  private volatile int state;
  private volatile Runnable whenFreed;

  /** Watches over `owner`, which must keep this handle. */
  Handle(Object owner, Kind kind, long pointer) {
    super(owner, Leaks.QUEUE);
    this.kind = kind;
    this.pointer = pointer;
    this.origin = Leaks.origin();
    Leaks.watch(this);
  }

  Kind kind() {
    return kind;
  }

  /** Where the owner was made, if that is recorded. */
  Throwable origin() {
    return origin;
  }

  /** Runs after the object was freed. To be set before anybody may close. */
  void whenFreed(Runnable action) {
    whenFreed = action;
  }

  /** Begins a call. False if the handle is closed; then there is nothing to leave. */
  boolean enter() {
    for (;;) {
      int seen = state;
      if ((seen & CLOSED) != 0) {
        return false;
      }
      if (STATE.compareAndSet(this, seen, seen + CALL)) {
        return true;
      }
    }
  }

  /** Ends a call. */
  void exit() {
    if ((state & CLOSED) != 0) {
      kind.wake(pointer); // a wake reaches one waiter; each that leaves passes it on
    }
    if (STATE.addAndGet(this, -CALL) == CLOSED) {
      kind.free(pointer);
      Runnable action = whenFreed;
      if (action != null) {
        action.run();
      }
    }
  }

  boolean isOpen() {
    return (state & CLOSED) == 0;
  }

  /** Ends the object's use, by its owner. @return false if that was done before */
  boolean close(Object owner) {
    boolean closed = end();
    keep(owner);
    return closed;
  }

  /**
   * The owner is in use up to here. Compiled code needs nothing of it but the handle from the moment that it has loaded
   * that; a collector at that moment takes the owner, and the housekeeping ends the handle before the owner does. (From
   * Java 9 on there is Reference.reachabilityFence.)
   */
  private static void keep(Object owner) {
    if (owner == nobody) {
      throw new AssertionError("nobody owns a handle");
    }
  }

  /** Ends the object's use for an owner that is gone. @return false if that was done before */
  boolean end() {
    for (;;) {
      int seen = state;
      if ((seen & CLOSED) != 0) {
        return false;
      }
      if (STATE.compareAndSet(this, seen, seen + CALL | CLOSED)) {
        break;
      }
    }
    Leaks.forget(this);
    clear();
    exit();
    return true;
  }

  /** Ends its owner's use of an object that somebody else has freed, or will. @return false if that was done before */
  boolean disown(Object owner) {
    boolean disowned = disown();
    keep(owner);
    return disowned;
  }

  private boolean disown() {
    for (;;) {
      int seen = state;
      if ((seen & CLOSED) != 0) {
        return false;
      }
      if (STATE.compareAndSet(this, seen, seen + CALL | CLOSED)) {
        Leaks.forget(this);
        clear();
        return true; // our own call never ends, so nobody frees
      }
    }
  }
}

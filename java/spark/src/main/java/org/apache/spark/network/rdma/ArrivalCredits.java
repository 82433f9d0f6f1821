package org.apache.spark.network.rdma;

import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Bounds the bytes of answers that are under way to this process. A request takes credit for its largest answer before
 * it starts and gives it back when the answer is settled. Sessions without credit wait in turn. Thread-safe.
 */
final class ArrivalCredits {
  /** A session that waits for credit. */
  interface Waiter {
    /** Credit was taken on behalf of the waiter, which uses it or gives it back. */
    void granted(long bytes);
  }

  private static final class Wait {
    final Waiter waiter;
    final long bytes;

    Wait(Waiter waiter, long bytes) {
      this.waiter = waiter;
      this.bytes = bytes;
    }
  }

  private final long most;
  private final ArrayDeque<Wait> waits = new ArrayDeque<>();
  private final AtomicInteger granting = new AtomicInteger();
  private long out;

  ArrivalCredits(long most) {
    this.most = most;
  }

  /** Takes credit, or has the waiter granted it later. @return whether it was taken now */
  synchronized boolean take(long bytes, Waiter waiter) {
    if (waits.isEmpty() && fits(bytes)) {
      out += bytes;
      return true;
    }
    waits.add(new Wait(waiter, bytes));
    return false;
  }

  /** One request alone may be larger than all credit. */
  private boolean fits(long bytes) {
    return out == 0 || out + bytes <= most;
  }

  /** Gives credit back. A waiter may be granted its own by this thread. */
  void give(long bytes) {
    synchronized (this) {
      out -= bytes;
    }
    if (granting.getAndIncrement() > 0) {
      return; // the thread that grants looks once more
    }
    int seen = 1;
    do {
      for (Wait next; (next = next()) != null;) {
        next.waiter.granted(next.bytes);
      }
      seen = granting.addAndGet(-seen);
    } while (seen > 0);
  }

  private synchronized Wait next() {
    Wait first = waits.peek();
    if (first == null || !fits(first.bytes)) {
      return null;
    }
    out += first.bytes;
    return waits.poll();
  }

  /** Credit that is out, in bytes. */
  synchronized long out() {
    return out;
  }
}

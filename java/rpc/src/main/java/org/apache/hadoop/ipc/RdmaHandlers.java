package org.apache.hadoop.ipc;

import io.howdah.engine.EventQueue;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Handlers that read for themselves. One that finds the call queue empty leads: it polls the engine, queues what comes
 * as a reader would, and takes a call as every handler does; the others are parked. So a call that comes alone is read,
 * handled and answered by one thread, which wakes nobody.
 *
 * <p>A leader who leaves for a call passes the lead on if calls take long, or wakes as many as there is work for. That
 * nobody leads while calls come is seen by the watch, a thread that looks every millisecond while there is traffic and
 * is parked otherwise. It leads itself if no handler is free, so that calls are queued, or sent away, as by readers.
 */
final class RdmaHandlers {
  private static final long TICK = TimeUnit.MILLISECONDS.toNanos(1);
  private static final long SLOW_TICK = TimeUnit.MILLISECONDS.toNanos(100);
  /** Quiet ticks after which the watch looks less often, and after which it parks. */
  private static final int QUIET = 50;
  /** Calls that take longer than a thread takes to wake are worth another leader at once. */
  private static final long LONG_CALL = TimeUnit.MICROSECONDS.toNanos(150);
  private static final long WATCH_POLL = 1000;
  private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

  private final RdmaServer server;
  private final ThreadLocal<Member> members = ThreadLocal.withInitial(Member::new);
  private Thread watch;

  // Under `this`.
  private final ArrayDeque<Member> parked = new ArrayDeque<>();
  private final ArrayDeque<Server.Call> overflow = new ArrayDeque<>();
  private int awake;
  private long resigned;

  private volatile Thread leader;
  private volatile int overflowed;
  private volatile boolean watching;
  private volatile boolean ended;
  private volatile long takes;
  private volatile long meanNanos;

  /** A handler. */
  private static final class Member {
    final Thread thread = Thread.currentThread();
    volatile boolean called;
    boolean known;
    long since;
  }

  RdmaHandlers(RdmaServer server) {
    this.server = server;
  }

  void start(EventQueue events, int port) {
    watch = new Thread(this::watchOver, "IPC Server watch on " + port);
    watch.setDaemon(true);
    watch.start();
  }

  void stop() {
    ended = true;
    watch.interrupt();
    server.wakePoll();
    synchronized (this) {
      parked.forEach(member -> LockSupport.unpark(member.thread));
    }
  }

  private boolean isEmpty() {
    return server.takes().isEmpty() && server.puts().isEmpty();
  }

  // Taking calls.

  Server.Call take(CallQueueManager<Server.Call> manager) throws InterruptedException {
    Member me = members.get();
    arrive(me);
    while (!ended) {
      Server.Call call = next(manager);
      if (call != null) {
        me.since = System.nanoTime();
        takes++; // a lost count does not matter: it only has to move
        return call;
      }
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (!lead()) {
        park(me);
        continue;
      }
      try {
        gather();
      } finally {
        resign();
      }
    }
    throw new InterruptedException("the server was stopped");
  }

  private void arrive(Member me) {
    if (!me.known) {
      me.known = true;
      synchronized (this) {
        awake++;
      }
    } else if (me.since != 0) {
      long took = System.nanoTime() - me.since;
      long mean = meanNanos;
      meanNanos = mean + (took - mean >> 3);
      me.since = 0;
    }
  }

  private Server.Call next(CallQueueManager<Server.Call> manager) throws InterruptedException {
    BlockingQueue<Server.Call> from = server.takes();
    Server.Call call = from.poll();
    if (overflowed > 0) {
      refill(manager);
      if (call == null) {
        call = from.poll();
      }
    }
    return call;
  }

  private synchronized void refill(CallQueueManager<Server.Call> manager) throws InterruptedException {
    while (!overflow.isEmpty() && manager.offer(overflow.peek())) {
      overflow.remove();
      overflowed--;
    }
  }

  /**
   * Whether the leader is to read no more. A handler stops when the queue is full, as it will make room itself at once;
   * the watch goes on and waits, or sends clients away, as readers do.
   */
  boolean isFull() {
    return overflowed > 0 || leader != watch && server.puts().remainingCapacity() == 0;
  }

  /**
   * Queues a call that a leading handler has read, without waiting: it may be the only one who would make room.
   *
   * @return false if the caller may wait
   */
  boolean keep(CallQueueManager<Server.Call> manager, Server.Call call) throws InterruptedException {
    Thread me = Thread.currentThread();
    if (leader != me || me == watch) {
      return false;
    }
    if (overflowed > 0 || !manager.offer(call)) {
      synchronized (this) {
        overflow.add(call);
        overflowed++;
      }
    }
    return true;
  }

  /** A call was queued. A handler that leads takes it itself; anybody else wakes somebody for it. */
  void queued() {
    Thread me = Thread.currentThread();
    if (leader == me && me != watch) {
      return;
    }
    Member member;
    boolean led;
    synchronized (this) {
      member = call();
      led = leader != null && leader != me;
    }
    if (member != null) {
      LockSupport.unpark(member.thread);
    } else if (led) {
      server.wakePoll();
    }
  }

  /** Under the lock: the one who was parked last, to be unparked outside of it. */
  private Member call() {
    Member member = parked.pollLast();
    if (member != null) {
      member.called = true;
      awake++;
    }
    return member;
  }

  // Leading.

  private synchronized boolean lead() {
    if (leader != null) {
      return false;
    }
    leader = Thread.currentThread();
    return true;
  }

  /** Polls until there is a call to take, or a reason to look elsewhere. */
  private void gather() {
    while (isEmpty() && overflowed == 0 && !ended && !Thread.currentThread().isInterrupted()) {
      poll(-1);
    }
  }

  private void poll(long timeoutMillis) {
    try {
      server.poll(timeoutMillis);
    } catch (IOException e) {
      if (!ended) {
        ended = true;
        server.fail(e);
      }
    } catch (RuntimeException e) { // of one connection, which is closed
      RdmaRpc.LOG.warn("Unexpected error reading calls", e);
    } catch (Error e) {
      server.die(e);
    }
  }

  /** Leaves the lead. Wakes whom the calls in the queue, or those to come, need. */
  private void resign() {
    int waiting = Math.max(0, server.takes().size() - 1);
    boolean slow = meanNanos > LONG_CALL;
    Member[] woken = null;
    synchronized (this) {
      leader = null;
      resigned = System.nanoTime();
      int wanted = slow ? waiting + 1 : Math.min(waiting, Math.max(0, PROCESSORS - awake));
      wanted = Math.min(wanted, parked.size());
      if (wanted > 0) {
        woken = new Member[wanted];
        for (int i = 0; i < wanted; i++) {
          woken[i] = call();
        }
      }
    }
    for (int i = 0; woken != null && i < woken.length; i++) {
      LockSupport.unpark(woken[i].thread);
    }
    watch();
  }

  private void park(Member me) {
    boolean watchLeads;
    synchronized (this) {
      if (leader == null) {
        return;
      }
      watchLeads = leader == watch;
      me.called = false;
      parked.add(me);
      awake--;
    }
    if (watchLeads) {
      server.wakePoll();
    }
    while (!me.called && isEmpty() && !ended && !me.thread.isInterrupted()) {
      LockSupport.park(this);
    }
    synchronized (this) {
      if (!me.called && parked.removeLastOccurrence(me)) {
        awake++;
      }
    }
  }

  // The watch.

  /** Has the watch look, if it sleeps. */
  void watch() {
    if (!watching) {
      watching = true;
      LockSupport.unpark(watch);
    }
  }

  private void watchOver() {
    int quiet = 0;
    long seen = 0;
    while (!ended) {
      LockSupport.parkNanos(this, quiet < QUIET ? TICK : SLOW_TICK);
      boolean moved = takes != seen;
      seen = takes;
      boolean rests = rests();
      if (!rests) {
        look(moved);
      }
      quiet = moved || !rests ? 0 : quiet + 1;
      if (quiet >= QUIET && server.housekeep()) {
        sleep();
        quiet = 0;
      }
    }
    server.end();
  }

  /** Whether a handler leads and there is nothing to take. */
  private boolean rests() {
    return leader != null && isEmpty() && overflowed == 0;
  }

  private void sleep() {
    watching = false;
    while (!watching && !ended && rests()) {
      LockSupport.park(this);
    }
    watching = true;
  }

  private void look(boolean moved) {
    ArrayDeque<Member> woken = new ArrayDeque<>();
    boolean mine = false;
    synchronized (this) {
      int wanted = moved ? 0 : server.takes().size();
      if (leader == null && System.nanoTime() - resigned > TICK) {
        wanted = Math.max(1, wanted);
        mine = parked.isEmpty();
        if (mine) {
          leader = watch;
        }
      }
      for (Member member = null; wanted > 0 && (member = call()) != null; wanted--) {
        woken.add(member);
      }
    }
    woken.forEach(member -> LockSupport.unpark(member.thread));
    if (mine) {
      leadForHandlers();
    }
  }

  /** As a reader does, while every handler has a call. */
  private void leadForHandlers() {
    try {
      while (!ended && !hasParked()) {
        poll(server.hasReady() ? 0 : WATCH_POLL);
      }
    } finally {
      Member member;
      synchronized (this) {
        leader = null;
        resigned = System.nanoTime();
        member = call();
      }
      if (member != null) {
        LockSupport.unpark(member.thread);
      }
    }
  }

  private synchronized boolean hasParked() {
    return !parked.isEmpty();
  }
}

package org.apache.spark.network.rdma;

import io.howdah.engine.Engine;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.upgrade.Connector;
import io.netty.buffer.ByteBufAllocator;
import java.io.Closeable;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.network.util.NettyUtils;
import org.apache.spark.network.util.TransportConf;

/**
 * Fetches blocks of other processes over the engine. One thread takes the answers; a few others copy those for which
 * the engine's memory has no room. Thread-safe.
 */
final class BlockClient implements Closeable {
  private static final long LOOK_MILLIS = 500;
  private static final long JOIN_MILLIS = 5000;
  private static final int COPIERS = Math.min(4, Runtime.getRuntime().availableProcessors());
  private static final int UNIT = 64 << 10;
  private static final EventHandler FETCHES_ONLY = new EventHandler() { };

  private final Engine engine;
  private final RdmaBlockTransferService of;
  private final Handshake handshake;
  private final Connector connector;
  private final EventQueue events;
  private final Map<String, Peer> peers = new ConcurrentHashMap<>();
  private final MemoryShares shares;
  private final ArrivalCredits credits;
  private final ThreadPoolExecutor copiers;
  private final ByteBufAllocator allocator;
  private final AtomicBoolean copies = new AtomicBoolean();
  private final Thread thread;
  private volatile boolean stopped;

  BlockClient(Engine engine, RdmaBlockTransferService of, TransportConf transport, Handshake handshake,
      MemoryShares shares) throws IOException {
    this.engine = engine;
    this.of = of;
    this.handshake = handshake;
    this.connector = of.options().upgrade().connector();
    this.shares = shares;
    this.credits = new ArrivalCredits(shares.arriving());
    this.allocator = NettyUtils.createPooledByteBufAllocator(transport.preferDirectBufs(), false, COPIERS);
    this.copiers = new ThreadPoolExecutor(COPIERS, COPIERS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
        work -> daemon(work, "rdma-block-copy")); // as much waits as there is credit for
    copiers.allowCoreThreadTimeOut(true);
    this.events = engine.newQueue();
    this.thread = daemon(this::run, "rdma-block-client");
    thread.start();
  }

  private static Thread daemon(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    return thread;
  }

  Engine engine() {
    return engine;
  }

  Connector connector() {
    return connector;
  }

  EventQueue events() {
    return events;
  }

  Handshake handshake() {
    return handshake;
  }

  MemoryShares shares() {
    return shares;
  }

  ArrivalCredits credits() {
    return credits;
  }

  Executor copiers() {
    return copiers;
  }

  /** Where answers are copied to: memory of the kind that Netty's client takes. */
  ByteBufAllocator allocator() {
    return allocator;
  }

  /** Most bytes of blocks in one answer; so small that eight answers may be under way. */
  int batchBytes() {
    return (int) Math.min(options().batchBytes(), shares.arriving() / 8);
  }

  /** Bytes of a piece of a large block; so small that four may be under way. */
  int pieceBytes() {
    return (int) Math.min(options().pieceBytes(), shares.arriving() / 4 / UNIT * UNIT);
  }

  /** Says once that the memory limit costs a copy. */
  void sayThatBlocksAreCopied() {
    if (copies.compareAndSet(false, true)) {
      BlockLog.LOG.info("Fetched blocks fill their share of the engine's memory; more are copied to the JVM's memory, "
          + "as over Netty. A larger {}memory.limit than {} bytes avoids the copy", RdmaBlockConf.PREFIX,
          shares.limit());
    }
  }

  RdmaBlockConf options() {
    return of.options();
  }

  RdmaBlockMetrics metrics() {
    return of.metrics();
  }

  int timeoutMillis() {
    return of.timeoutMillis();
  }

  Peer peer(String host, int port) throws IOException {
    if (stopped) {
      throw new IOException("the block transfer service is closed");
    }
    return peers.computeIfAbsent(host + ":" + port, address -> new Peer(this, host, port));
  }

  private void run() {
    long next = System.nanoTime();
    while (!stopped) {
      try {
        events.poll(FETCHES_ONLY, LOOK_MILLIS);
        if (System.nanoTime() - next >= 0) {
          next = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS);
          housekeep();
        }
      } catch (Throwable e) { // without this thread no answer would come and no timeout would end the wait
        if (!events.isOpen()) {
          return;
        }
        say(e);
      }
    }
  }

  private static void say(Throwable failure) {
    try {
      BlockLog.LOG.error("An event could not be handled", failure);
    } catch (Throwable e) {
      failure.addSuppressed(e); // no memory to say it with; whoever waits is told by the housekeeping
    }
  }

  private void housekeep() {
    long timeout = TimeUnit.MILLISECONDS.toNanos(timeoutMillis());
    for (Peer peer : peers.values()) {
      try {
        peer.housekeep(timeout, options().idleNanos());
      } catch (RuntimeException | Error e) {
        say(e);
      }
    }
  }

  @Override
  public void close() {
    stopped = true;
    peers.values().forEach(Peer::close);
    events.close(); // what is under way fails here
    copiers.shutdown();
    try {
      thread.join(JOIN_MILLIS);
      copiers.awaitTermination(JOIN_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}

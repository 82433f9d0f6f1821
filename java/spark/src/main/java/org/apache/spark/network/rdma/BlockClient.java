package org.apache.spark.network.rdma;

import io.howdah.engine.Engine;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import java.io.Closeable;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Fetches blocks of other processes over the engine. One thread takes the answers. Thread-safe. */
final class BlockClient implements Closeable {
  private static final long LOOK_MILLIS = 500;
  private static final long JOIN_MILLIS = 5000;
  private static final EventHandler FETCHES_ONLY = new EventHandler() { };

  private final Engine engine;
  private final RdmaBlockTransferService of;
  private final Handshake handshake;
  private final EventQueue events;
  private final Map<String, Peer> peers = new ConcurrentHashMap<>();
  private final Thread thread;
  private volatile boolean stopped;

  BlockClient(Engine engine, RdmaBlockTransferService of, Handshake handshake) throws IOException {
    this.engine = engine;
    this.of = of;
    this.handshake = handshake;
    this.events = engine.newQueue();
    this.thread = new Thread(this::run, "rdma-block-client");
    thread.setDaemon(true);
    thread.start();
  }

  Engine engine() {
    return engine;
  }

  EventQueue events() {
    return events;
  }

  Handshake handshake() {
    return handshake;
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
      } catch (IOException | RuntimeException e) {
        if (!events.isOpen()) {
          return;
        }
        BlockLog.LOG.warn("An event could not be handled", e);
      }
    }
  }

  private void housekeep() {
    long timeout = TimeUnit.MILLISECONDS.toNanos(timeoutMillis());
    for (Peer peer : peers.values()) {
      peer.housekeep(timeout, options().idleNanos());
    }
  }

  @Override
  public void close() {
    stopped = true;
    peers.values().forEach(Peer::close);
    events.close(); // what is under way fails here
    try {
      thread.join(JOIN_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}

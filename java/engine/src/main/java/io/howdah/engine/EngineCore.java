package io.howdah.engine;

import java.io.File;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** A running engine; one or several {@link Engine}s refer to it. Thread-safe. */
final class EngineCore {
  private final Handle handle;
  private final EngineConf conf;
  private volatile Map<String, String> options;
  private final CountDownLatch destroyed = new CountDownLatch(1);
  private volatile EngineMetrics metrics;

  /** No lambda: the first one of a process takes a tenth of a second, and a command may have no other. */
  private static final class Destroyed implements Runnable {
    private final CountDownLatch latch;

    Destroyed(CountDownLatch latch) {
      this.latch = latch;
    }

    @Override
    public void run() {
      latch.countDown();
    }
  }

  EngineCore(EngineConf conf) throws IOException {
    this.conf = conf;
    Leaks.startKeeper(); // before there is anything that it would have to look after
    long settings = 0;
    long pointer;
    try {
      settings = conf.toNative();
      options = resolve(settings);
      pointer = Native.engineCreate(settings, conf.name());
      if (pointer < 0) {
        throw new EngineException((int) -pointer, Native.lastError());
      }
    } finally {
      if (settings != 0) {
        Native.confDestroy(settings);
      }
    }
    handle = new Handle(this, Handle.Kind.ENGINE, pointer);
    handle.whenFreed(new Destroyed(destroyed));
    String file = Native.statsPath(pointer);
    if (!file.isEmpty()) {
      new File(file).deleteOnExit(); // for a JVM that ends without closing: nobody else would
    }
    show(conf);
  }

  private static Map<String, String> resolve(long settings) {
    Map<String, String> values = new LinkedHashMap<>();
    String[] row;
    for (int i = 0; (row = Native.optionAt(i)) != null; i++) {
      values.put(row[0], Native.confGet(settings, row[0])[0]);
    }
    return values;
  }

  /** Registers the counters with JMX if this user of the engine wants that and none did before. */
  void show(EngineConf user) {
    if (user.jmx() && metrics == null) {
      metrics = EngineMetrics.register(this, conf.name());
    }
  }

  /** Changes an option of the living engine. @throws EngineException if it can't be changed, or not any more */
  void set(String key, String value, String where) throws IOException {
    long pointer = enter();
    try {
      int err = Native.engineSet(pointer, key, value, where);
      if (err < 0) {
        throw new EngineException(-err, Native.lastError());
      }
    } finally {
      exit();
    }
    Map<String, String> changed = new LinkedHashMap<>(options);
    changed.put(key, value);
    options = changed;
  }

  /** Every option's value in force, by key. */
  Map<String, String> options() {
    return options;
  }

  boolean isOpen() {
    return handle.isOpen();
  }

  /** The engine for a call; {@link #exit()} ends it. */
  long enter() throws EngineClosedException {
    if (!handle.enter()) {
      throw new EngineClosedException("the engine was closed");
    }
    return handle.pointer;
  }

  void exit() {
    handle.exit();
  }

  /** Ends everything; returns when the last call has left and the engine is gone. */
  void close() {
    if (metrics != null) {
      metrics.unregister();
    }
    handle.close(this);
    boolean interrupted = false;
    for (boolean waiting = true; waiting;) {
      try {
        destroyed.await(); // calls are woken and leave within half a second, the engine takes two at most
        waiting = false;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}

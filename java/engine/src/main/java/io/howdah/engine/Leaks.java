package io.howdah.engine;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds what was dropped without being closed, and does the other housekeeping: the engine's log lines go to slf4j.
 * One daemon thread does both; it starts with the first native object.
 */
final class Leaks {
  static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();

  private static final Logger LOG = LoggerFactory.getLogger(Engine.class);
  private static final boolean ORIGINS = Boolean.getBoolean("io.howdah.leak.origins");
  private static final long PERIOD_MILLIS = 200;
  private static final int LOG_LINE = 1024;

  /** What is open; also what keeps the handles themselves from being garbage before their owners are. */
  private static final Set<Handle> OPEN = Collections.newSetFromMap(new ConcurrentHashMap<>());
  private static final AtomicLong FOUND = new AtomicLong();

  private static Thread keeper;

  private Leaks() {
  }

  static Throwable origin() {
    return ORIGINS ? new Throwable("made here") : null;
  }

  static void watch(Handle handle) {
    OPEN.add(handle);
  }

  static void forget(Handle handle) {
    OPEN.remove(handle);
  }

  static long found() {
    return FOUND.get();
  }

  /** Open native objects, of one kind or (null) of all. */
  static long open(Handle.Kind kind) {
    return kind == null ? OPEN.size() : OPEN.stream().filter(handle -> handle.kind() == kind).count();
  }

  /** No lambda, for a command's sake: {@link EngineCore} says why. */
  private static final class Keeper extends Thread {
    Keeper() {
      super("howdah-housekeeping");
    }

    @Override
    public void run() {
      keep();
    }
  }

  static synchronized void startKeeper() {
    if (keeper == null) {
      keeper = new Keeper();
      keeper.setDaemon(true);
      keeper.setContextClassLoader(null);
      keeper.start();
    }
  }

  private static void keep() {
    ByteBuffer line = null;
    for (;;) {
      try {
        Reference<?> reference = QUEUE.remove(PERIOD_MILLIS);
        if (reference != null) {
          report((Handle) reference);
        }
        if (line == null) {
          line = ByteBuffer.allocateDirect(LOG_LINE).order(java.nio.ByteOrder.nativeOrder());
        }
        drainLog(line);
      } catch (InterruptedException | RuntimeException e) {
        LOG.error("housekeeping goes on after", e);
      } catch (OutOfMemoryError e) { // no direct memory; the next turn tries again
        LOG.debug("the engine's log waits", e);
      }
    }
  }

  private static void report(Handle handle) {
    if (!handle.end()) {
      return;
    }
    FOUND.incrementAndGet();
    String kind = handle.kind().name().toLowerCase(Locale.ROOT);
    if (handle.kind() == Handle.Kind.STREAM && !ORIGINS) {
      // Most often a program's file that nobody closed, which sockets forgive without a word. It is counted as well.
      LOG.debug("LEAK: a {} was dropped without being closed", kind);
      return;
    }
    LOG.error("LEAK: a {} was dropped without being closed{}", kind,
        ORIGINS ? "" : "; -Dio.howdah.leak.origins=true shows where it was made", handle.origin());
  }

  private static void drainLog(ByteBuffer line) {
    for (;;) {
      int length = Native.logTake(Memory.address(line), line.capacity());
      if (length == 0) {
        return;
      }
      byte[] text = new byte[length - Integer.BYTES];
      line.clear();
      int level = line.getInt();
      line.get(text);
      log(level, new String(text, StandardCharsets.UTF_8));
    }
  }

  private static void log(int level, String text) {
    switch (level) {
      case 0:
        LOG.error(text);
        break;
      case 1:
        LOG.warn(text);
        break;
      case 2:
        LOG.info(text);
        break;
      default:
        LOG.debug(text);
    }
  }
}

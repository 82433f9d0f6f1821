package io.howdah.upgrade;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineException;
import io.howdah.engine.EngineUnavailableException;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The engines of this process. Components share one, whose options are merged as {@link Engine#acquire} has it. A
 * component that asks for another network than that one uses has an engine of its own. Thread-safe.
 */
final class Engines {
  /** How long a failure to make an engine is remembered; a missing library is, for ever. */
  private static final long RETRY = TimeUnit.SECONDS.toNanos(60);
  private static final int EBUSY = 16;
  private static final Map<Map<String, String>, Entry> ENTRIES = new HashMap<>();

  /** An engine, or why there is none. */
  private static final class Entry {
    Engine engine;
    int users;
    Throwable failure;
    long failed;
  }

  private Engines() {
  }

  /**
   * A use of the engine with these options; {@link #release} gives it up.
   *
   * @throws BadOptionException for values that are not valid
   * @throws Failure if the engine can't be had, whatever the cause
   */
  static Engine acquire(EngineSettings options, Settings settings) throws IOException, Failure {
    synchronized (ENTRIES) {
      Entry entry = ENTRIES.computeIfAbsent(options.values(), key -> new Entry());
      if (entry.engine == null || !entry.engine.isOpen()) {
        make(entry, options, settings);
      }
      entry.users++;
      return entry.engine;
    }
  }

  private static void make(Entry entry, EngineSettings options, Settings settings) throws IOException, Failure {
    if (entry.failure != null && (entry.failure instanceof EngineUnavailableException
        || System.nanoTime() - entry.failed < RETRY)) {
      throw new Failure(entry.failure);
    }
    entry.engine = null;
    entry.users = 0;
    try {
      Engine.ensureAvailable();
      options.check(settings);
      entry.engine = open(options.conf());
      entry.failure = null;
    } catch (BadOptionException e) {
      throw e;
    } catch (Throwable e) { // whatever it is, sockets are there
      Failures.text(e);
      entry.failure = e;
      entry.failed = System.nanoTime();
      throw new Failure(e);
    }
  }

  private static Engine open(EngineConf conf) throws IOException {
    try {
      return Engine.acquire(conf);
    } catch (EngineException e) {
      if (e.errno() != EBUSY) {
        throw e;
      }
      return Engine.create(conf); // the process's engine uses another network
    }
  }

  /** Ends a use; the last one ends the engine. */
  static void release(EngineSettings options, Engine engine) {
    synchronized (ENTRIES) {
      Entry entry = ENTRIES.get(options.values());
      if (entry == null || entry.engine != engine || --entry.users > 0) {
        return;
      }
      ENTRIES.remove(options.values());
    }
    engine.close();
  }

  /** There is no engine with these options now. */
  static final class Failure extends Exception {
    private static final long serialVersionUID = 1;

    Failure(Throwable cause) {
      super(Failures.text(cause), cause);
    }
  }
}

package io.howdah.engine;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Takes buffers and releases them while garbage is collected all the time and every processor is wanted; says how many
 * were taken for dropped. For a JVM of its own: {@link #OPTIONS} make the moment long in which only the handle is used.
 */
public final class BuffersInUse {
  /** What ends a handle is interpreted, and so slow, where what calls it is compiled. */
  static final String[] OPTIONS = {"-XX:+UseSerialGC", "-XX:CompileCommand=quiet",
      "-XX:CompileCommand=exclude,io/howdah/engine/Handle.end", "-XX:CompileCommand=exclude,"
          + "java/util/concurrent/atomic/AtomicIntegerFieldUpdater$AtomicIntegerFieldUpdaterImpl.*"};

  private static final int COMPILED = 30_000; // turns after which what can be is
  private static final int COLLECTIONS = 2000;
  private static final int BUSY = 3; // threads for each processor

  private BuffersInUse() {
  }

  /** Prints how many were. */
  public static void main(String[] arguments) throws Exception {
    try (Engine engine = Engine.create(Pair.conf("self"))) {
      for (int i = 0; i < COMPILED; i++) {
        use(engine);
      }
      for (int i = 0; i < BUSY * Runtime.getRuntime().availableProcessors(); i++) {
        Threads.start(BuffersInUse::beBusy);
      }
      AtomicInteger collections = new AtomicInteger();
      Threads.start(() -> {
        while (collections.incrementAndGet() < COLLECTIONS) {
          System.gc();
        }
      });
      while (collections.get() < COLLECTIONS) {
        use(engine);
      }
    }
    System.out.println(Engine.leaks() + " dropped");
  }

  private static void use(Engine engine) throws Exception {
    engine.allocate(1000).release();
  }

  private static void beBusy() {
    for (;;) {
      Thread.yield();
    }
  }
}

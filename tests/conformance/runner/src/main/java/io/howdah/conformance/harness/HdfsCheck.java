package io.howdah.conformance.harness;

import java.lang.reflect.Method;

/**
 * Whether the block data of a class went over the engine, told as one more test of it, as RpcCheck does for RPC.
 */
public final class HdfsCheck {
  /** The test's name. */
  public static final String NAME = "(engine)";
  private static final String METRICS = "org.apache.hadoop.hdfs.net.RdmaMetrics";

  private HdfsCheck() {
  }

  /**
   * Looks and tells.
   *
   * @param expected "engine": connections over the engine, none past it; "none": no connection of either kind; null: any
   * @param whole whether every test of the class ran; some tests alone may well make no connection
   */
  static void run(String expected, boolean whole, Events events) {
    if (expected == null) {
      return;
    }
    events.started(NAME);
    try {
      long over = counter("clientConnections") + counter("serverConnections");
      long past = counter("clientFallbacks") + counter("serverSockets");
      String wrong = judge(expected, whole, over, past);
      System.out.println("=== connections of block data over the engine, both ends: " + over + ", past it: " + past);
      if (wrong.isEmpty()) {
        events.passed(NAME);
      } else {
        events.failed(NAME, null, wrong);
      }
    } catch (ReflectiveOperationException e) {
      events.failed(NAME, e, "the jars under test have no counters of block data over the engine: " + e);
    }
  }

  private static String judge(String expected, boolean whole, long over, long past) {
    if (past != 0) {
      return past + " ends of connections for block data did not go over the engine, " + over + " did";
    }
    if (expected.equals("none") && over != 0) {
      return "listed as offline, but made connections for block data over the engine: " + over + " ends";
    }
    if (expected.equals("engine") && whole && over == 0) {
      return "no block data went over the engine";
    }
    return "";
  }

  private static long counter(String name) throws ReflectiveOperationException {
    Class<?> type = Class.forName(METRICS);
    Method get = type.getDeclaredMethod("get");
    get.setAccessible(true);
    Object metrics = get.invoke(null);
    Method accessor = type.getDeclaredMethod(name);
    accessor.setAccessible(true);
    Object counter = accessor.invoke(metrics);
    return ((Number) counter.getClass().getMethod("value").invoke(counter)).longValue();
  }
}

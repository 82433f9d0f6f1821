package io.howdah.conformance.harness;

import java.lang.reflect.Method;

/**
 * Whether the RPC of a class went over the engine, told as one more test of it. Without this a suite that forces the engine
 * would pass just as well if nothing used it. The counters are those that the engine's RPC keeps itself.
 */
public final class RpcCheck {
  /** The test's name. */
  public static final String NAME = "(engine)";
  private static final String METRICS = "org.apache.hadoop.ipc.RdmaMetrics";

  private RpcCheck() {
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
      long past = counter("clientFallbacks") + counter("clientSockets") + counter("serverSockets");
      String wrong = judge(expected, whole, over, past, Long.getLong("conformance.rpc.sockets", 0));
      System.out.println("=== RPC connections over the engine, both ends: " + over + ", past it: " + past);
      if (wrong.isEmpty()) {
        events.passed(NAME);
      } else {
        events.failed(NAME, null, wrong);
      }
    } catch (ReflectiveOperationException e) {
      events.failed(NAME, e, "the jars under test have no counters of RPC over the engine: " + e);
    }
  }

  private static String judge(String expected, boolean whole, long over, long past, long sockets) {
    // Of tests that open sockets to a server with their own hands: exactly so many, and fewer if only some tests ran.
    if (past > sockets || whole && past != sockets) {
      return past + " ends of RPC connections did not go over the engine, " + over + " did"
          + (sockets == 0 ? "" : "; listed are " + sockets);
    }
    if (expected.equals("none") && over != 0) {
      return "listed as offline, but made RPC connections over the engine: " + over + " ends";
    }
    if (expected.equals("engine") && whole && over == 0) {
      return "no RPC connection went over the engine";
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
    if (counter instanceof Number) {
      return ((Number) counter).longValue();
    }
    return ((Number) counter.getClass().getMethod("value").invoke(counter)).longValue();
  }
}

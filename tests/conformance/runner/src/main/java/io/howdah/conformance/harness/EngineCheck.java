package io.howdah.conformance.harness;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;

/**
 * Whether what a class sends went over the engine, told as one more test of it. Without this a suite that forces the
 * engine would pass just as well if nothing used it. The counters are those that the engine's users keep themselves.
 */
public final class EngineCheck {
  /** The test's name. */
  public static final String NAME = "(engine)";

  private static final List<String> OVER = Arrays.asList("clientConnections", "serverConnections");
  private static final List<EngineCheck> CHECKS = Arrays.asList(
      new EngineCheck("rpc", "RPC connection", "org.apache.hadoop.ipc.RdmaMetrics",
          "clientFallbacks", "clientSockets", "serverSockets"),
      new EngineCheck("hdfs", "block data connection", "org.apache.hadoop.hdfs.net.RdmaMetrics",
          "clientFallbacks", "serverSockets"));

  private final String property;
  private final String subject;
  private final String metrics;
  private final List<String> past;

  private EngineCheck(String name, String subject, String metrics, String... past) {
    this.property = "conformance." + name;
    this.subject = subject;
    this.metrics = metrics;
    this.past = Arrays.asList(past);
  }

  /** Does what the JVM's properties ask for. @param whole whether every test of the class ran */
  static void run(boolean whole, Events events) {
    for (EngineCheck check : CHECKS) {
      check.look(System.getProperty(check.property), whole, events);
    }
  }

  /**
   * Looks and tells.
   *
   * @param expected "engine": connections over the engine, none past it; "none": neither kind; null: any
   * @param whole whether every test of the class ran; some tests alone may well make no connection
   */
  private void look(String expected, boolean whole, Events events) {
    if (expected == null) {
      return;
    }
    events.started(NAME);
    try {
      long over = sum(OVER);
      long beside = sum(past);
      String wrong = judge(expected, whole, over, beside);
      System.out.println("=== " + subject + "s over the engine, both ends: " + over + ", past it: " + beside);
      if (wrong.isEmpty()) {
        events.passed(NAME);
      } else {
        events.failed(NAME, null, wrong);
      }
    } catch (ReflectiveOperationException e) {
      events.failed(NAME, e, "the jars under test have no counters of " + subject + "s over the engine: " + e);
    }
  }

  private String judge(String expected, boolean whole, long over, long beside) {
    // Of tests that open sockets to a server with their own hands; fewer if only some tests ran.
    long least = whole ? Long.getLong(property + ".sockets.least", 0) : 0;
    long most = Long.getLong(property + ".sockets.most", 0);
    if (beside < least || beside > most) {
      return beside + " ends of " + subject + "s did not go over the engine, " + over + " did"
          + (most == 0 ? "" : "; listed are " + (least < most ? least + " to " : "") + most);
    }
    if (expected.equals("none") && over != 0) {
      return "listed as offline, but made " + subject + "s over the engine: " + over + " ends";
    }
    if (expected.equals("engine") && whole && over == 0) {
      return "no " + subject + " went over the engine";
    }
    return "";
  }

  private long sum(List<String> counters) throws ReflectiveOperationException {
    long sum = 0;
    for (String counter : counters) {
      sum += counter(counter);
    }
    return sum;
  }

  private long counter(String name) throws ReflectiveOperationException {
    Class<?> type = Class.forName(metrics);
    Method get = type.getDeclaredMethod("get");
    get.setAccessible(true);
    Object instance = get.invoke(null);
    Method accessor = type.getDeclaredMethod(name);
    accessor.setAccessible(true);
    Object counter = accessor.invoke(instance);
    if (counter instanceof Number) {
      return ((Number) counter).longValue();
    }
    return ((Number) counter.getClass().getMethod("value").invoke(counter)).longValue();
  }
}

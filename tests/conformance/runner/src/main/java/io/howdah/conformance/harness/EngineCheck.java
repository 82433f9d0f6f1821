package io.howdah.conformance.harness;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Whether what a class sends went over the engine, told as one more test of it. Without this a suite that forces the
 * engine would pass just as well if nothing used it. The counters are those that the engine's users keep themselves.
 */
public final class EngineCheck {
  /** The test's name. */
  public static final String NAME = "(engine)";

  private static final List<EngineCheck> CHECKS = Arrays.asList(
      new EngineCheck("rpc", "RPC connection", new Metrics("org.apache.hadoop.ipc.RdmaMetrics",
          "clientFallbacks", "clientSockets", "serverSockets")),
      new EngineCheck("hdfs", "block data connection", new Metrics("org.apache.hadoop.hdfs.net.RdmaMetrics",
          "clientFallbacks", "serverSockets")),
      new EngineCheck("shuffle", "shuffled part", new Traffic("shuffle.server.")));

  private final String property;
  private final String subject;
  private final Counts counts;

  private EngineCheck(String name, String subject, Counts counts) {
    this.property = "conformance." + name;
    this.subject = subject;
    this.counts = counts;
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
      long over = counts.over();
      long beside = counts.past();
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

  /** What was counted in this process. */
  private interface Counts {
    long over() throws ReflectiveOperationException;

    long past() throws ReflectiveOperationException;
  }

  /** Counters of a metrics source. */
  private static final class Metrics implements Counts {
    private static final List<String> OVER = Arrays.asList("clientConnections", "serverConnections");

    private final String source;
    private final List<String> past;

    Metrics(String source, String... past) {
      this.source = source;
      this.past = Arrays.asList(past);
    }

    @Override
    public long over() throws ReflectiveOperationException {
      return sum(OVER);
    }

    @Override
    public long past() throws ReflectiveOperationException {
      return sum(past);
    }

    private long sum(List<String> counters) throws ReflectiveOperationException {
      long sum = 0;
      for (String counter : counters) {
        sum += counter(counter);
      }
      return sum;
    }

    private long counter(String name) throws ReflectiveOperationException {
      Class<?> type = Class.forName(source);
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

  /** Calls of one kind of traffic, by transport. */
  private static final class Traffic implements Counts {
    private static final String CALLS = ".calls";
    private static final String SOCKETS = "tcp" + CALLS;

    private final String kind;

    Traffic(String kind) {
      this.kind = kind;
    }

    @Override
    public long over() throws ReflectiveOperationException {
      long all = 0;
      for (Map.Entry<String, Long> count : counts().entrySet()) {
        if (count.getKey().startsWith(kind) && count.getKey().endsWith(CALLS)) {
          all += count.getValue();
        }
      }
      return all - past();
    }

    @Override
    public long past() throws ReflectiveOperationException {
      return counts().getOrDefault(kind + SOCKETS, 0L);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Long> counts() throws ReflectiveOperationException {
      return (Map<String, Long>) Class.forName("io.howdah.upgrade.Traffic").getMethod("counts").invoke(null);
    }
  }
}

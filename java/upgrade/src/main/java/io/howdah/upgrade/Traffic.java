package io.howdah.upgrade;

import java.lang.management.ManagementFactory;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Counts of one kind of traffic over one transport in this process. Counting allocates nothing and takes no lock. All
 * counts together are {@code io.howdah:type=Upgrade} in JMX, but in commands. Thread-safe.
 */
public final class Traffic {
  /** Transport name of sockets. */
  public static final String SOCKET = "tcp";

  private static final int REASONS_MOST = 200;
  private static final Map<String, Traffic> ALL = new ConcurrentHashMap<>();
  private static final Map<String, LongAdder> REASONS = new ConcurrentHashMap<>();
  private static final Map<String, String> STATES = new ConcurrentHashMap<>();
  private static boolean registered;

  private final LongAdder connections = new LongAdder();
  private final LongAdder calls = new LongAdder();
  private final LongAdder bytes = new LongAdder();

  private Traffic() {
  }

  /**
   * The counts of a kind of traffic. Look it up once for each connection, not for each call.
   *
   * @param kind component and what it does: "rpc.server", "hdfs.write"
   * @param transport of the link ("shm", "verbs"), or {@link #SOCKET}
   */
  public static Traffic of(String kind, String transport) {
    return ALL.computeIfAbsent(kind + "." + transport, key -> new Traffic());
  }

  /** A connection began. */
  public void connection() {
    connections.increment();
  }

  /** A call, block or request was carried, of so many bytes. */
  public void call(long size) {
    calls.increment();
    bytes.add(size);
  }

  /** So many bytes more were carried. */
  public void bytes(long size) {
    bytes.add(size);
  }

  /** Counts a fallback by its cause. Causes beyond a bound are counted together. */
  static void reason(Component component, String cause) {
    String key = component.id() + ": " + cause;
    if (!REASONS.containsKey(key) && REASONS.size() >= REASONS_MOST) {
      key = component.id() + ": other reasons";
    }
    REASONS.computeIfAbsent(key, any -> new LongAdder()).increment();
  }

  static void state(Component component, String text) {
    STATES.put(component.id(), text);
  }

  /** All counts now, by name. */
  public static Map<String, Long> counts() {
    Map<String, Long> counts = new TreeMap<>();
    ALL.forEach((name, traffic) -> {
      counts.put(name + ".connections", traffic.connections.sum());
      counts.put(name + ".calls", traffic.calls.sum());
      counts.put(name + ".bytes", traffic.bytes.sum());
    });
    return counts;
  }

  /** Fallbacks by component and cause. */
  public static Map<String, Long> reasons() {
    Map<String, Long> reasons = new TreeMap<>();
    REASONS.forEach((name, count) -> reasons.put(name, count.sum()));
    return reasons;
  }

  /** Each component's mode and state. */
  public static Map<String, String> states() {
    return new TreeMap<>(STATES);
  }

  /** Makes the counts visible in JMX, once. */
  static synchronized void publish() {
    if (registered) {
      return;
    }
    registered = true;
    try {
      ManagementFactory.getPlatformMBeanServer().registerMBean(new Bean(), new ObjectName("io.howdah:type=Upgrade"));
    } catch (JMException e) {
      Component.RPC.log().debug("io.howdah:type=Upgrade can't be registered", e); // by a second class loader's copy
    }
  }

  /** All of it, for JMX. */
  private static final class Bean implements TrafficMXBean {
    @Override
    public Map<String, Long> getCounts() {
      return counts();
    }

    @Override
    public Map<String, Long> getReasons() {
      return reasons();
    }

    @Override
    public Map<String, String> getStates() {
      return states();
    }
  }
}

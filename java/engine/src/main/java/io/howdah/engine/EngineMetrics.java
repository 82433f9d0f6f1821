package io.howdah.engine;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.JMException;
import javax.management.ObjectName;

/** The MXBean of an engine, registered for as long as the engine lives. */
final class EngineMetrics implements EngineMXBean {
  private static final AtomicLong NUMBERS = new AtomicLong();

  private final EngineCore core;
  private final ObjectName name;

  private EngineMetrics(EngineCore core, ObjectName name) {
    this.core = core;
    this.name = name;
  }

  static EngineMetrics register(EngineCore core, String engine) {
    try {
      ObjectName name = new ObjectName(
          "io.howdah:type=Engine,name=" + ObjectName.quote(engine) + ",id=" + NUMBERS.incrementAndGet());
      EngineMetrics metrics = new EngineMetrics(core, name);
      ManagementFactory.getPlatformMBeanServer().registerMBean(metrics, name);
      return metrics;
    } catch (JMException e) {
      throw new IllegalStateException("the engine's MBean can't be registered", e);
    }
  }

  void unregister() {
    try {
      ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
    } catch (JMException e) {
      throw new IllegalStateException("the engine's MBean can't be taken back", e);
    }
  }

  @Override
  public Map<String, Long> getCounters() {
    try {
      return Counters.of(core).asMap();
    } catch (IOException e) {
      return Collections.emptyMap();
    }
  }

  @Override
  public Map<String, String> getOptions() {
    return core.options();
  }

  @Override
  public long getLeaks() {
    return Leaks.found();
  }

  @Override
  public long getOpenObjects() {
    return Leaks.open(null);
  }
}

package io.howdah.bench.rpc;

import com.google.gson.Gson;
import com.sun.management.ThreadMXBean;
import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import javax.management.openmbean.CompositeData;
import javax.management.openmbean.TabularData;

/**
 * What a process has used until now; two of these, taken before and after, say what was used in between. Values by
 * name: nanos (a clock), cpu (ns, all threads, in steps of the system's clock tick), allocated (bytes of heap, by all
 * threads that lived at the time of a snapshot: what one allocates between the last snapshot and its end is not
 * seen), gcs, gcMillis, threads, descriptors, heap, direct (bytes), and each of the engine's counters as engine.NAME.
 */
final class ProcessStats {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final Map<Long, Long> ALLOCATED_BY = new HashMap<>();
  private static long allocatedByAll;

  private final Map<String, Long> values = new LinkedHashMap<>();

  private ProcessStats() {}

  static ProcessStats ofThisProcess() {
    ProcessStats stats = new ProcessStats();
    UnixOperatingSystemMXBean system =
        (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    stats.values.put("nanos", System.nanoTime());
    stats.values.put("cpu", system.getProcessCpuTime());
    stats.values.put("allocated", allocated());
    stats.values.put("descriptors", system.getOpenFileDescriptorCount());
    stats.values.put("threads", (long) THREADS.getThreadCount());
    stats.values.put("heap", ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed());
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      stats.values.merge("gcs", collector.getCollectionCount(), Long::sum);
      stats.values.merge("gcMillis", collector.getCollectionTime(), Long::sum);
    }
    for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
      stats.values.put(pool.getName(), pool.getMemoryUsed());
    }
    addEngines(stats.values);
    return stats;
  }

  /** The same after everything that can be collected has been. */
  static ProcessStats afterCollection() {
    for (int i = 0; i < 3; i++) {
      System.gc();
      System.runFinalization();
    }
    return ofThisProcess();
  }

  private static synchronized long allocated() {
    long[] ids = THREADS.getAllThreadIds();
    long[] bytes = THREADS.getThreadAllocatedBytes(ids);
    Map<Long, Long> alive = new HashMap<>();
    for (int i = 0; i < ids.length; i++) {
      if (bytes[i] >= 0) {
        allocatedByAll += bytes[i] - ALLOCATED_BY.getOrDefault(ids[i], 0L);
        alive.put(ids[i], bytes[i]);
      }
    }
    ALLOCATED_BY.clear();
    ALLOCATED_BY.putAll(alive);
    return allocatedByAll;
  }

  /** The sum over this process's engines, as their MXBeans show it; nothing where there is no engine. */
  private static void addEngines(Map<String, Long> values) {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    try {
      for (ObjectName name : beans.queryNames(new ObjectName("io.howdah:type=Engine,*"), null)) {
        TabularData counters = (TabularData) beans.getAttribute(name, "Counters");
        for (Object row : counters.values()) {
          CompositeData counter = (CompositeData) row;
          values.merge("engine." + counter.get("key"), (Long) counter.get("value"), Long::sum);
        }
      }
    } catch (JMException e) {
      throw new IllegalStateException("the engine's counters can't be read", e);
    }
  }

  Map<String, Long> values() {
    return values;
  }

  String json() {
    return new Gson().toJson(values);
  }
}

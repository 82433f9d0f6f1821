package org.apache.hadoop.mapred;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import org.apache.hadoop.mapreduce.MRJobConfig;

/**
 * Tells whether a task's heap has room for more map output than {@code mapreduce.task.io.sort.mb}. The rest of the heap
 * is left to the mapper: what is in use may become 60 % of the heap, or of the container if that is smaller. Objects in
 * the eden space count as garbage, except for the output itself. Not thread-safe.
 */
final class SpareHeap {
  private static final double SHARE = 0.6;

  private final long limit;
  private final MemoryPoolMXBean eden;
  private long collections = -1;
  /** Bytes of output when it was last asked for, and when the garbage was last collected, at least. */
  private long lastHeld;
  private long collected;

  /** The heap of this process, as a job's map. */
  SpareHeap(JobConf job) {
    this((long) (SHARE * Math.min(Runtime.getRuntime().maxMemory(), container(job))));
  }

  /** With a limit in bytes. */
  SpareHeap(long limit) {
    this.limit = limit;
    MemoryPoolMXBean found = null;
    for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
      if (pool.getName().contains("Eden")) {
        found = pool;
      }
    }
    eden = found;
  }

  private static long container(JobConf job) {
    long megabytes = job.getLong(MRJobConfig.MAP_MEMORY_MB, MRJobConfig.DEFAULT_MAP_MEMORY_MB);
    return megabytes > 0 ? megabytes << 20 : Long.MAX_VALUE;
  }

  /** Whether there is room. @param held bytes of output that are in the heap @param more bytes */
  boolean hasRoom(long held, long more) {
    long now = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      now += collector.getCollectionCount();
    }
    if (now != collections) {
      collections = now;
      collected = lastHeld;
    }
    lastHeld = held;
    Runtime runtime = Runtime.getRuntime();
    long used = runtime.totalMemory() - runtime.freeMemory();
    long young = eden == null ? 0 : Math.min(used, eden.getUsage().getUsed());
    long fresh = eden == null ? 0 : Math.min(young, Math.max(0, held - Math.min(held, collected)));
    return used - young + fresh + more <= limit;
  }
}

package io.howdah.bench.rpc;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Where this process's time goes, as the JVM itself can say everywhere: the processor time of each kind of thread,
 * which is exact, and the stacks of threads looked at every few milliseconds, which the JVM shows at its safepoints
 * only, so that what a compiled loop does inside is put down to the frame around it. Threads that wait are left out.
 */
final class Profile {
  private static final long EVERY_MILLIS = 2;
  private static final int DEPTH = 14;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  private final Map<Long, Long> cpuBefore = cpuByThread();
  private final Map<String, Integer> frames = new HashMap<>();
  private final Map<String, Integer> stacks = new HashMap<>();
  private final Thread sampler = new Thread(this::sample, "profile");
  private int samples;
  private volatile boolean stopping;

  Profile() {
    sampler.setDaemon(true);
    sampler.start();
  }

  private static Map<Long, Long> cpuByThread() {
    Map<Long, Long> cpu = new HashMap<>();
    for (long id : THREADS.getAllThreadIds()) {
      cpu.put(id, THREADS.getThreadCpuTime(id));
    }
    return cpu;
  }

  private void sample() {
    while (!stopping) {
      for (Map.Entry<Thread, StackTraceElement[]> entry : Thread.getAllStackTraces().entrySet()) {
        StackTraceElement[] stack = entry.getValue();
        boolean runs = entry.getKey().getState() == Thread.State.RUNNABLE && entry.getKey() != sampler;
        if (runs && stack.length > 0 && !waits(stack[0])) {
          samples++;
          frames.merge(text(stack[0]), 1, Integer::sum);
          stacks.merge(kind(entry.getKey().getName()) + ": " + text(stack), 1, Integer::sum);
        }
      }
      try {
        Thread.sleep(EVERY_MILLIS);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  /** Calls of the system that the JVM shows as running although the thread sleeps in them. */
  private static boolean waits(StackTraceElement top) {
    String method = top.getMethodName();
    return top.isNativeMethod() && (method.equals("epollWait") || method.equals("accept0") || method.equals("poll")
        || method.equals("poll0") || method.equals("park") || method.equals("wait") || method.equals("readBytes"));
  }

  private static String text(StackTraceElement frame) {
    String name = frame.getClassName();
    return name.substring(name.lastIndexOf('.') + 1) + "." + frame.getMethodName();
  }

  private static String text(StackTraceElement[] stack) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < stack.length && i < DEPTH; i++) {
      names.add(text(stack[i]));
    }
    return String.join(" < ", names);
  }

  /** A thread's name without its number: what threads of one kind share. */
  private static String kind(String name) {
    return name.replaceAll("[0-9]+", "N");
  }

  /** Ends; gives cpu (ms by kind of thread), and frames and stacks (percent of samples), the greatest first. */
  Map<String, Object> end(int top) throws InterruptedException {
    stopping = true;
    sampler.join();
    Map<String, Integer> cpu = new TreeMap<>();
    for (Map.Entry<Long, Long> thread : cpuByThread().entrySet()) {
      java.lang.management.ThreadInfo info = THREADS.getThreadInfo(thread.getKey());
      long used = thread.getValue() - cpuBefore.getOrDefault(thread.getKey(), 0L);
      if (info != null) {
        cpu.merge(kind(info.getThreadName()), (int) (used / 1000000), Integer::sum);
      }
    }
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("samples", samples);
    result.put("cpu", greatest(cpu, top, 1, " ms"));
    result.put("frames", greatest(frames, top, 100.0 / Math.max(1, samples), " %"));
    result.put("stacks", greatest(stacks, top, 100.0 / Math.max(1, samples), " %"));
    return result;
  }

  private static Map<String, String> greatest(Map<String, Integer> counts, int top, double factor, String unit) {
    Map<String, String> result = new LinkedHashMap<>();
    counts.entrySet().stream()
        .filter(entry -> entry.getValue() > 0)
        .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
        .limit(top)
        .forEach(entry -> result.put(
            entry.getKey(), String.format(Locale.ROOT, "%.1f%s", entry.getValue() * factor, unit)));
    return result;
  }
}

package io.howdah.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;

/**
 * Executors of Spark for a machine: how many on each NUMA node, of which cores and memory, with which heap and
 * collector, and why. All executors are alike, as Spark asks for one shape. Immutable.
 */
final class SparkPlan {
  /** Cores of an executor at most: larger JVMs collect garbage for longer. */
  static final int CORES = 5;
  /** Threads of a core that run tasks, unless asked for more: what has been measured for Spark. */
  static final int THREADS = 2;
  /** MB of the largest heap whose references take four bytes. */
  static final long HEAP = 31000;
  private static final long LEAST_HEAP = 1024;
  /** Spark's own rule for memory beside the heap. */
  private static final long LEAST_OVERHEAD = 384;
  /** MB of an executor from which on map output has a part of its own; below, heaps are small already. */
  private static final long LEAST_WITH_OUTPUT = 4096;
  /** Of an executor's memory, what is for map output: a fifth, more where the heap takes no more. */
  private static final int OUTPUT = 5;
  /** Share of the engine's memory that map output may take, where it has a part of its own. */
  private static final String OUTPUT_SHARE = "0.8";
  /** MB below which there is no executor. */
  private static final long LEAST_MEMORY = LEAST_HEAP / 2 + LEAST_OVERHEAD;

  /** A NUMA node with the number of its executors. */
  static final class Share {
    private final Topology.Node node;
    private final int executors;

    Share(Topology.Node node, int executors) {
      this.node = node;
      this.executors = executors;
    }

    Topology.Node node() {
      return node;
    }

    int executors() {
      return executors;
    }
  }

  private final Topology topology;
  private final long memoryMb;
  private final List<Share> shares = new ArrayList<>();
  private final int threads;
  private int cores;
  private long eachMb;

  private SparkPlan(Topology topology, long memoryMb, int threads) {
    this.topology = topology;
    this.memoryMb = memoryMb;
    this.threads = Math.min(topology.smt(), threads);
  }

  /**
   * Plans for a machine.
   *
   * @param memoryMb what executors may have, in MB; divided among NUMA nodes by their memory
   * @param threads SMT threads of a core that run tasks, at most
   * @throws ClusterException if the memory is too little for one executor
   */
  static SparkPlan of(Topology topology, long memoryMb, int threads) {
    SparkPlan plan = new SparkPlan(topology, memoryMb, threads);
    plan.chooseShape();
    for (Topology.Node node : topology.nodes()) {
      long fitting = plan.memoryOf(node) / (plan.heapMb() + plan.overheadMb() + plan.outputMb());
      plan.shares.add(new Share(node, (int) Math.min(fitting, node.cores().size() / plan.cores)));
    }
    return plan;
  }

  /** The smallest node has the say over cores; the others have more executors, if the heap stays large enough. */
  private void chooseShape() {
    List<Topology.Node> nodes = new ArrayList<>(topology.nodes());
    nodes.removeIf(node -> memoryOf(node) < LEAST_MEMORY); // their cores have to do with memory of others
    if (nodes.isEmpty()) {
      throw new ClusterException(memoryMb + " MB are too few for an executor on a NUMA node",
          "give " + topology.nodes().size() * LEAST_MEMORY + " MB at least (--memory)");
    }
    cores = nodes.stream().mapToInt(node -> Math.min(CORES, node.cores().size() / executorsOf(node))).min().orElse(1);
    eachMb = smallestPart(nodes, node -> node.cores().size() / cores);
    if (heapMb() < LEAST_HEAP) {
      eachMb = smallestPart(nodes, this::executorsOf);
    }
  }

  private long smallestPart(List<Topology.Node> nodes, ToIntFunction<Topology.Node> executors) {
    return nodes.stream().mapToLong(node -> memoryOf(node) / executors.applyAsInt(node)).min().orElse(0);
  }

  /** As many as its cores want; more where the memory is more than their heaps take, fewer where it is less. */
  private int executorsOf(Topology.Node node) {
    int size = node.cores().size();
    int executors = (size + CORES - 1) / CORES;
    while (executors < size / 2 && heap(memoryOf(node) / executors) == HEAP) {
      executors++;
    }
    while (executors > 1 && heap(memoryOf(node) / executors) < LEAST_HEAP) {
      executors--;
    }
    return executors;
  }

  private long memoryOf(Topology.Node node) {
    long all = topology.memoryMb();
    return all == 0 ? memoryMb / topology.nodes().size() : (long) ((double) memoryMb * node.memoryMb() / all);
  }

  private static long heap(long memory) {
    long rest = memory - output(memory);
    return Math.min(HEAP, Math.min(rest * 10 / 11, rest - LEAST_OVERHEAD));
  }

  private static long output(long memory) {
    long more = Math.min(memory / 2, memory - HEAP * 11 / 10);
    return memory < LEAST_WITH_OUTPUT ? 0 : Math.max(memory / OUTPUT, more);
  }

  List<Share> shares() {
    return shares;
  }

  /** Executors on all NUMA nodes. */
  int executors() {
    return shares.stream().mapToInt(Share::executors).sum();
  }

  /** Cores of an executor. */
  int cores() {
    return cores;
  }

  /** Tasks that an executor runs at a time, which Spark calls its cores. */
  int tasks() {
    return cores * threads;
  }

  long heapMb() {
    return heap(eachMb);
  }

  /** MB beside the heap, as Spark takes them by default; a third is the engine's. */
  long overheadMb() {
    return Math.max(LEAST_OVERHEAD, heapMb() / 10);
  }

  /** MB beside both for map output that stays in memory, 0 where executors are too small. */
  long outputMb() {
    return output(eachMb);
  }

  /** MB of the engine's memory of an executor, 0 for what it takes by default. */
  long engineMb() {
    return outputMb() == 0 ? 0 : outputMb() + overheadMb() / 3;
  }

  /** Settings of spark-defaults.conf, for so many machines like this one. */
  List<String> settings(int machines) {
    List<String> lines = new ArrayList<>();
    lines.add("spark.executor.cores " + tasks());
    lines.add("spark.executor.memory " + heapMb() + "m");
    lines.add("spark.executor.instances " + executors() * machines);
    lines.add("spark.executor.extraJavaOptions -XX:+UseParallelGC -XX:ParallelGCThreads=" + tasks());
    if (engineMb() > 0) {
      lines.add("spark.shuffle.rdma.memory.limit " + engineMb() + "m");
      lines.add("spark.shuffle.rdma.memory.fraction " + OUTPUT_SHARE);
    }
    return lines;
  }

  /**
   * For each NUMA node with executors, for scripts: its number ({@code -} if there is one only), its threads, its
   * executors, and the tasks at a time, the heap in MB and the engine's memory in MB (0: the default) of each executor.
   */
  List<String> fields() {
    List<String> lines = new ArrayList<>();
    for (Share share : withExecutors()) {
      lines.add(String.format(Locale.ROOT, "%s %s %d %d %d %d", isOneNode() ? "-" : share.node().number(),
          Topology.text(share.node().threads()), share.executors(), tasks(), heapMb(), engineMb()));
    }
    return lines;
  }

  private boolean isOneNode() {
    return topology.nodes().size() == 1;
  }

  private List<Share> withExecutors() {
    return shares.stream().filter(share -> share.executors() > 0).collect(Collectors.toList());
  }

  /** For each NUMA node the command that starts a standalone worker on it; its executors stay there. */
  List<String> workers() {
    List<String> lines = new ArrayList<>();
    int port = 8081;
    for (Share share : withExecutors()) {
      String binding = isOneNode() ? "" : String.format(Locale.ROOT,
          "numactl --physcpubind=%s --membind=%d ", Topology.text(share.node().threads()), share.node().number());
      lines.add(binding + String.format(Locale.ROOT,
          "spark-class org.apache.spark.deploy.worker.Worker --cores %d --memory %dm --webui-port %d"
              + " spark://MASTER:7077", share.executors() * tasks(), share.executors() * heapMb(), port++));
    }
    return lines;
  }

  /** Why it is so, a sentence each. */
  List<String> reasons() {
    List<String> reasons = new ArrayList<>();
    reasons.add("Several small executors collect garbage for less time than a large one: " + CORES
        + " cores each at most.");
    if (heapMb() == HEAP) {
      reasons.add("A heap stays below 32 GB, where references take 4 bytes; other memory is left to map output and the"
          + " page cache.");
    }
    if (outputMb() > 0) {
      reasons.add("Map output that stays in memory makes shuffles a third shorter; what does not fit goes to files.");
    }
    if (topology.nodes().size() > 1) {
      reasons.add("No executor is larger than a NUMA node: bound to it, its memory is local. YARN 2.8 binds no"
          + " containers; workers that are started as below are bound, with their executors.");
    }
    if (topology.smt() > 1) {
      reasons.add(threads + " of " + topology.smt() + " SMT threads of a core run tasks: they hide waits for memory"
          + (threads < topology.smt() ? "; more have not been measured with Spark (--smt)." : "."));
    }
    reasons.add("The parallel collector was the fastest in studies of Spark; by itself each JVM starts as many of its"
        + " threads as the machine has.");
    int idle = topology.nodes().stream().mapToInt(node -> node.cores().size()).sum() - executors() * cores;
    if (idle > 0) {
      reasons.add(idle + (idle == 1 ? " core is" : " cores are") + " left to daemons and the system.");
    }
    reasons.add("Prefetchers of the next and the adjacent line may slow Spark down; firmware sets them, not Howdah.");
    return reasons;
  }
}

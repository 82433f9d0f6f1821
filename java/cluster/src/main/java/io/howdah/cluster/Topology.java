package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * NUMA nodes of a machine that have cores which may be used, their memory and these cores. Numbers are the system's.
 * Immutable.
 */
final class Topology {
  /** A core: the SMT threads of it that may be used. */
  static final class Core {
    private final BitSet threads;

    Core(BitSet threads) {
      this.threads = threads;
    }

    /** Numbers of the threads. */
    BitSet threads() {
      return threads;
    }
  }

  /** A NUMA node. */
  static final class Node {
    private final int number;
    private final long memoryMb;
    private final List<Core> cores;

    Node(int number, long memoryMb, List<Core> cores) {
      this.number = number;
      this.memoryMb = memoryMb;
      this.cores = Collections.unmodifiableList(cores);
    }

    int number() {
      return number;
    }

    long memoryMb() {
      return memoryMb;
    }

    List<Core> cores() {
      return cores;
    }

    /** Numbers of the threads of all its cores. */
    BitSet threads() {
      BitSet all = new BitSet();
      cores.forEach(core -> all.or(core.threads()));
      return all;
    }
  }

  private final String source;
  private final List<Node> nodes;

  /**
   * A machine.
   *
   * @param source what says so, for messages
   * @throws ClusterException if no node is left
   */
  Topology(String source, List<Node> nodes) {
    this.source = source;
    this.nodes = nodes.stream().filter(node -> !node.cores().isEmpty()).collect(Collectors.toList());
    if (this.nodes.isEmpty()) {
      throw new ClusterException(source + " has no core that may be used");
    }
  }

  String source() {
    return source;
  }

  List<Node> nodes() {
    return nodes;
  }

  /** Memory of all nodes, in MB. */
  long memoryMb() {
    return nodes.stream().mapToLong(Node::memoryMb).sum();
  }

  /** Most threads that a core has. */
  int smt() {
    return nodes.stream().flatMap(node -> node.cores().stream()).mapToInt(core -> core.threads().cardinality()).max()
        .orElse(1);
  }

  /**
   * This machine, as far as this process may use it.
   *
   * @param root the folder that /sys and /proc are in
   */
  static Topology ofSystem(Path root) {
    String status = read(root.resolve("proc/self/status"));
    BitSet allowed = numbers(field(status, "Cpus_allowed_list:"));
    Path system = root.resolve("sys/devices/system");
    List<Node> nodes = new ArrayList<>();
    for (int number : numbersOfNodes(system.resolve("node"))) {
      Path node = system.resolve("node/node" + number);
      nodes.add(new Node(number, kilobytes(read(node.resolve("meminfo")), "MemTotal:") / 1024,
          coresOf(system, and(numbers(read(node.resolve("cpulist"))), allowed))));
    }
    if (nodes.isEmpty()) { // a kernel without NUMA
      nodes.add(new Node(0, kilobytes(read(root.resolve("proc/meminfo")), "MemTotal:") / 1024,
          coresOf(system, and(numbers(read(system.resolve("cpu/online"))), allowed))));
    }
    return new Topology("this machine", nodes);
  }

  private static TreeSet<Integer> numbersOfNodes(Path folder) {
    TreeSet<Integer> found = new TreeSet<>();
    if (Files.isDirectory(folder)) {
      try (Stream<Path> entries = Files.list(folder)) {
        entries.map(entry -> entry.getFileName().toString()).filter(name -> name.matches("node[0-9]{1,6}"))
            .forEach(name -> found.add(Integer.parseInt(name.substring(4))));
      } catch (IOException e) {
        throw new ClusterException(folder + " can't be read: " + ClusterDir.reason(e));
      }
    }
    return found;
  }

  private static List<Core> coresOf(Path system, BitSet threads) {
    List<Core> cores = new ArrayList<>();
    BitSet left = (BitSet) threads.clone();
    for (int thread = left.nextSetBit(0); thread >= 0; thread = left.nextSetBit(thread + 1)) {
      BitSet siblings = numbers(read(system.resolve("cpu/cpu" + thread + "/topology/thread_siblings_list")));
      siblings.set(thread); // where the system does not say
      cores.add(new Core(and(siblings, threads)));
      left.andNot(siblings);
    }
    return cores;
  }

  private static BitSet and(BitSet one, BitSet other) {
    BitSet both = (BitSet) one.clone();
    both.and(other);
    return both;
  }

  /** Reads "0-3,8", as the kernel writes it. */
  static BitSet numbers(String text) {
    BitSet set = new BitSet();
    for (String part : text.trim().split(",")) {
      String[] ends = part.trim().split("-");
      if (ends[0].matches("[0-9]{1,6}")) {
        set.set(Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]) + 1);
      }
    }
    return set;
  }

  /** Writes it. */
  static String text(BitSet set) {
    List<String> parts = new ArrayList<>();
    for (int first = set.nextSetBit(0); first >= 0; first = set.nextSetBit(set.nextClearBit(first))) {
      int last = set.nextClearBit(first) - 1;
      parts.add(first == last ? String.valueOf(first) : first + "-" + last);
    }
    return String.join(",", parts);
  }

  private static String field(String text, String name) {
    for (String line : text.split("\n")) {
      if (line.startsWith(name)) {
        return line.substring(name.length()).trim();
      }
    }
    return "";
  }

  private static long kilobytes(String text, String name) {
    for (String line : text.split("\n")) {
      int at = line.indexOf(name);
      if (at >= 0) {
        return Long.parseLong(line.substring(at + name.length()).replaceAll("[^0-9]", ""));
      }
    }
    return 0;
  }

  private static String read(Path file) {
    try {
      return new String(Files.readAllBytes(file), StandardCharsets.US_ASCII);
    } catch (IOException e) {
      return ""; // what a kernel does not say
    }
  }
}

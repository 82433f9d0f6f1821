package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SparkPlanTest {
  @TempDir
  Path folder;

  private static Topology topology(String name) {
    try {
      return TopologyFile.read(Paths.get(SparkPlanTest.class.getResource("/topologies/" + name + ".xml").toURI()));
    } catch (java.net.URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static SparkPlan plan(String name) {
    Topology topology = topology(name);
    return SparkPlan.of(topology, topology.memoryMb() * 15 / 16, SparkPlan.THREADS);
  }

  private static List<Integer> executors(SparkPlan plan) {
    return plan.shares().stream().map(SparkPlan.Share::executors).collect(Collectors.toList());
  }

  @Test
  void severalSmallExecutorsOnEachNode() {
    SparkPlan plan = plan("x86-2x12");
    assertThat(executors(plan)).containsExactly(3, 3);
    assertThat(plan.cores()).isEqualTo(4);
    assertThat(plan.tasks()).isEqualTo(8);
    assertThat(plan.heapMb()).isEqualTo(7447);
    assertThat(plan.settings(2)).containsExactly("spark.executor.cores 8", "spark.executor.memory 7447m",
        "spark.executor.instances 12", "spark.executor.extraJavaOptions -XX:+UseParallelGC -XX:ParallelGCThreads=8",
        "spark.shuffle.rdma.memory.limit 2296m", "spark.shuffle.rdma.memory.fraction 0.8");
    assertThat(plan.workers()).hasSize(2);
    assertThat(plan.workers().get(1)).startsWith("numactl --physcpubind=12-23,36-47 --membind=1 ")
        .contains("--cores 24 --memory 22341m --webui-port 8082");
    assertThat(plan.fields()).containsExactly("0 0-11,24-35 3 8 7447 2296", "1 12-23,36-47 3 8 7447 2296");
  }

  @Test
  void heapsStayBelow32GigabytesAndTwoOfEightThreadsWork() {
    SparkPlan plan = plan("power8-2x4-smt8");
    assertThat(executors(plan)).containsExactly(2, 2);
    assertThat(plan.tasks()).isEqualTo(4);
    assertThat(plan.heapMb()).isEqualTo(SparkPlan.HEAP);
    assertThat(plan.workers().get(1)).startsWith("numactl --physcpubind=32-63 --membind=8 ");
    assertThat(String.join("\n", plan.reasons())).contains("below 32 GB").contains("2 of 8 SMT threads");
    Topology topology = topology("power8-2x4-smt8");
    assertThat(SparkPlan.of(topology, topology.memoryMb(), 8).tasks()).isEqualTo(16);
  }

  @Test
  void highBandwidthMemoryBesideANodeIsNoNode() {
    SparkPlan plan = plan("x86-split-hbm");
    assertThat(plan.shares()).extracting(share -> share.node().number()).containsExactly(0, 1);
    assertThat(executors(plan)).containsExactly(2, 2);
    assertThat(plan.cores()).isEqualTo(3);
    assertThat(plan.heapMb()).isEqualTo(16756);
  }

  @Test
  void ofAJobOnlyItsCoresCountAndTheSmallestNodeHasTheSay() {
    SparkPlan plan = plan("x86-2x4-job");
    assertThat(plan.shares()).extracting(share -> Topology.text(share.node().threads()))
        .containsExactly("0-2,8-9", "4,12");
    assertThat(executors(plan)).containsExactly(3, 1);
    assertThat(plan.cores()).isEqualTo(1);
  }

  @Test
  void aFileOfHwloc1AndAMachineWithOneNodeThatNeedsNoBinding() {
    SparkPlan plan = plan("hwloc1-1x4");
    assertThat(executors(plan)).containsExactly(1);
    assertThat(plan.tasks()).isEqualTo(4);
    assertThat(plan.heapMb()).isEqualTo(5585);
    assertThat(plan.workers()).hasSize(1);
    assertThat(plan.workers().get(0)).startsWith("spark-class ");
    assertThat(String.join("\n", plan.reasons())).doesNotContain("NUMA").doesNotContain("SMT");
  }

  @Test
  void tooLittleMemoryIsRefusedWithWhatIsNeeded() {
    assertThatThrownBy(() -> SparkPlan.of(topology("x86-2x12"), 500, 2)).isInstanceOf(ClusterException.class)
        .hasMessageContaining("500 MB are too few")
        .satisfies(e -> assertThat(((ClusterException) e).remedy()).contains("1792 MB"));
    assertThat(SparkPlan.of(topology("x86-2x12"), 1792, 2).executors()).isEqualTo(2);
  }

  /** Nodes with so many cores of two threads each, and MB. */
  private static Topology machine(int[] cores, long[] memory) {
    List<Topology.Node> nodes = new ArrayList<>();
    int thread = 0;
    for (int i = 0; i < cores.length; i++) {
      List<Topology.Core> own = new ArrayList<>();
      for (int core = 0; core < cores[i]; core++) {
        BitSet threads = new BitSet();
        threads.set(thread, thread + 2);
        thread += 2;
        own.add(new Topology.Core(threads));
      }
      nodes.add(new Topology.Node(i, memory[i], own));
    }
    return new Topology("a machine", nodes);
  }

  @Test
  void noNodeGivesMoreThanItHas() {
    for (int first = 1; first <= 40; first++) {
      for (int second = 1; second <= 40; second += 3) {
        for (long memory : new long[] {1200, 3000, 16000, 250_000, 2_000_000}) {
          Topology topology = machine(new int[] {first, second}, new long[] {memory, memory + memory / 3});
          SparkPlan plan = SparkPlan.of(topology, topology.memoryMb(), 2);
          assertThat(plan.executors()).as("%d and %d cores, %d MB", first, second, memory).isPositive();
          assertThat(plan.heapMb()).isBetween(512L, SparkPlan.HEAP);
          for (SparkPlan.Share share : plan.shares()) {
            assertThat(share.executors() * plan.cores()).isLessThanOrEqualTo(share.node().cores().size());
            assertThat(share.executors() * (plan.heapMb() + plan.overheadMb() + plan.outputMb()))
                .isLessThanOrEqualTo(share.node().memoryMb() + 1); // MB are rounded
          }
        }
      }
    }
  }

  @Test
  void aNodeWithoutMemoryHasNoExecutor() {
    SparkPlan plan = SparkPlan.of(machine(new int[] {4, 4}, new long[] {16000, 0}), 16000, 2);
    assertThat(executors(plan)).containsExactly(1, 0);
    assertThat(plan.workers()).hasSize(1);
    assertThat(String.join("\n", plan.reasons())).contains("4 cores are left");
  }

  private void write(String file, String text) throws IOException {
    Path path = folder.resolve(file);
    Files.createDirectories(path.getParent());
    Files.write(path, text.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
  }

  @Test
  void thisMachineAsFarAsTheProcessMayUseIt() throws IOException {
    write("proc/self/status", "Name:\tjava\nCpus_allowed_list:\t0-2,4-6\n");
    for (int node = 0; node < 2; node++) {
      write("sys/devices/system/node/node" + node + "/cpulist", node == 0 ? "0-1,4-5\n" : "2-3,6-7\n");
      write("sys/devices/system/node/node" + node + "/meminfo", "Node " + node + " MemTotal:       8388608 kB\n");
    }
    for (int thread = 0; thread < 8; thread++) {
      write("sys/devices/system/cpu/cpu" + thread + "/topology/thread_siblings_list",
          thread % 4 + "," + (thread % 4 + 4) + "\n");
    }
    Topology topology = Topology.ofSystem(folder);
    assertThat(topology.nodes()).extracting(Topology.Node::memoryMb).containsExactly(8192L, 8192L);
    assertThat(topology.nodes()).extracting(node -> node.cores().size()).containsExactly(2, 1);
    assertThat(topology.nodes()).extracting(node -> Topology.text(node.threads())).containsExactly("0-1,4-5", "2,6");
    assertThat(topology.smt()).isEqualTo(2);
  }

  @Test
  void aKernelWithoutNumaIsOneNode() throws IOException {
    write("proc/self/status", "Cpus_allowed_list:\t0-3\n");
    write("proc/meminfo", "MemTotal:        4194304 kB\n");
    write("sys/devices/system/cpu/online", "0-3\n");
    Topology topology = Topology.ofSystem(folder);
    assertThat(topology.memoryMb()).isEqualTo(4096);
    assertThat(topology.nodes().get(0).cores()).hasSize(4);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "<topology/>", "<html><object type=\"Machine\"/></html>",
      "<topology><object type=\"Machine\" cpuset=\"none\"/></topology>",
      "<topology><object type=\"Machine\" cpuset=\"0x1\"/></topology>"})
  void whatIsNoTopologyIsNamed(String text) throws IOException {
    write("machine.xml", text);
    assertThatThrownBy(() -> TopologyFile.read(folder.resolve("machine.xml"))).isInstanceOf(ClusterException.class)
        .hasMessageContaining("machine.xml");
  }

  @Test
  void numbersAreAsTheKernelWritesThem() {
    assertThat(Topology.text(Topology.numbers("0-3,8,10-11\n"))).isEqualTo("0-3,8,10-11");
    assertThat(Topology.numbers("\n").isEmpty()).isTrue();
  }
}

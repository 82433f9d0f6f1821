package io.howdah.cluster;

import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** howdah spark: advice for Spark on a machine. */
@Command(name = "howdah spark", mixinStandardHelpOptions = true, scope = CommandLine.ScopeType.INHERIT,
    synopsisSubcommandLabel = "COMMAND", description = "Advice for Spark on a machine.",
    subcommands = SparkCommand.PlanCommand.class)
public final class SparkCommand implements Callable<Integer> {
  @CommandLine.Spec
  private CommandLine.Model.CommandSpec spec;

  private SparkCommand() {
  }

  /** Runs the command and exits with its code: 0 done, 1 failed, 2 wrong usage. */
  public static void main(String[] arguments) {
    System.exit(ClusterCommand.run(new SparkCommand(), arguments));
  }

  @Override
  public Integer call() {
    spec.commandLine().usage(System.err);
    return 2;
  }

  /** howdah spark plan. */
  @Command(name = "plan", description = "Prints executors for a machine: how many, their cores, memory, NUMA node, "
      + "heap and collector, and why. Nothing is changed.")
  static final class PlanCommand implements Callable<Integer> {
    /** Of memory, what stays for the system and daemons: a sixteenth. */
    private static final int FREE = 16;

    @Option(names = "--xml", paramLabel = "FILE",
        description = "a machine's topology, written by lstopo FILE.xml, instead of this machine")
    private Path xml;

    @Option(names = "--memory", paramLabel = "SIZE",
        description = "what executors may have of the machine, as 48g (default: 15/16 of its memory)")
    private String memory;

    @Option(names = "--smt", paramLabel = "N", defaultValue = "" + SparkPlan.THREADS,
        description = "SMT threads of a core that run tasks, at most (default: ${DEFAULT-VALUE})")
    private int smt;

    @Option(names = "--machines", paramLabel = "N", defaultValue = "1",
        description = "how many machines like this one the cluster has (default: ${DEFAULT-VALUE})")
    private int machines;

    @Option(names = "--conf", description = "print lines for spark-defaults.conf only")
    private boolean conf;

    @Option(names = "--workers", description = {
        "print lines for scripts only, one for each NUMA node that has a worker:",
        "its number (- where there is one), threads, executors, and of an executor tasks, heap in MB and",
        "the engine's memory in MB (0: the default).",
        "Memory of NUMA nodes without a core of this process is left out"})
    private boolean workers;

    @Override
    public Integer call() {
      require("--smt", smt, 8);
      require("--machines", machines, 100_000);
      SparkPlan plan = plan();
      if (workers) {
        plan.fields().forEach(System.out::println);
      } else if (conf) {
        plan.settings(machines).forEach(System.out::println);
      } else {
        print(plan);
      }
      return 0;
    }

    private static void require(String option, int value, int most) {
      if (value < 1 || value > most) {
        throw new ClusterException(option + " " + value + " is out of range", "give 1 to " + most);
      }
    }

    private SparkPlan plan() {
      Topology topology = xml == null ? Topology.ofSystem(Paths.get("/")) : TopologyFile.read(xml);
      long all = topology.memoryMb();
      if (xml == null) {
        all = all == 0 ? Machine.memoryMb() : Math.min(all, Machine.memoryMb());
      }
      long given = memory == null ? all - all / FREE : Sizes.parse("--memory", memory) >> 20;
      if (workers && all > 0 && given > all) {
        System.err.println("howdah spark: warning: " + (given - all) + " of " + given + " MB are not on NUMA nodes "
            + "with cores of this process; executors do without");
        given = all;
      } else if (memory != null && all > 0 && given > all) {
        throw new ClusterException("--memory " + memory + " is more than " + topology.source() + " has: " + all + " MB",
            "give less, or leave it out");
      }
      if (given == 0) {
        throw new ClusterException(topology.source() + " does not say how much memory there is", "add --memory SIZE");
      }
      return SparkPlan.of(topology, given, smt);
    }

    private void print(SparkPlan plan) {
      Table table = new Table("NUMA node", "cores", "threads", "MB", "executors");
      for (SparkPlan.Share share : plan.shares()) {
        Topology.Node node = share.node();
        table.row(node.number(), node.cores().size(), Topology.text(node.threads()), node.memoryMb(),
            share.executors());
      }
      System.out.print(table);
      System.out.printf("%nEach executor: %d cores, %d tasks at a time, a heap of %d MB and %d MB beside it, "
          + "%d MB for map output.%n",
          plan.cores(), plan.tasks(), plan.heapMb(), plan.overheadMb(), plan.outputMb());
      section("Why:", plan.reasons());
      section("spark-defaults.conf:", plan.settings(machines));
      section("Workers of Spark's own master, by NUMA node:", plan.workers());
    }

    private static void section(String title, Iterable<String> lines) {
      System.out.printf("%n%s%n", title);
      lines.forEach(line -> System.out.println("  " + line));
    }
  }
}

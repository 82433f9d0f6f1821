package io.howdah.bench.spark;

import io.howdah.bench.rpc.BenchException;
import io.howdah.bench.rpc.Machine;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code howdah bench spark}; docs/guide/bench.md has it from the user's side. */
@Command(name = "spark", sortOptions = false, abbreviateSynopsis = true,
    description = "Measures Spark's shuffles over the engine and over Netty in turn, in clusters on this host.")
public final class SparkBench implements Callable<Integer> {
  private static final String ENABLED = "spark.shuffle.rdma.enabled=";

  /** What blocks of this tree's side go over. */
  enum Transport {
    AUTO, SHM, VERBS, UDAPL;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @Spec private CommandSpec spec;

  @Option(names = "--transport", paramLabel = "NAME", defaultValue = "auto",
      description = "${COMPLETION-CANDIDATES}: what blocks go over (default: ${DEFAULT-VALUE}). A named transport is "
          + "never replaced by another: where it isn't to be had, or blocks went elsewhere, the benchmark fails.")
  private Transport transport;

  @Option(names = "--against", paramLabel = "TREE",
      description = "The tree to compare with, for instance the unpatched one (default: this one, over Netty).")
  private File against;

  @Option(names = "--rounds", defaultValue = "5",
      description = "How often each job is run by each application (default: 5).")
  private int rounds;

  @Option(names = "--applications", defaultValue = "1",
      description = "Applications of each side, one after the other, each of which runs all jobs in all rounds: what "
          + "luck a JVM has with its compiler lasts as long as it lives (default: 1). An even number, so that either "
          + "side starts first as often.")
  private int applications;

  @Option(names = "--warm-up", paramLabel = "ROUNDS", defaultValue = "1",
      description = "Rounds of each application before those, which count nothing; at least one (default: 1). In the "
          + "first few the JVM's compilers take as much of the processors as a short shuffle.")
  private int warmUp;

  @Option(names = "--jobs", split = ",", paramLabel = "JOB", defaultValue = "shuffles",
      description = "Jobs by name, or shuffles (GroupBy, SortBy, TeraSort), workloads (the batch jobs), all "
          + "(default: shuffles).")
  private List<String> jobs;

  @Option(names = "--executors", split = ",", paramLabel = "N", defaultValue = "2",
      description = "Executors that share cores and memory; several numbers, as in 1,2,4, are measured each "
          + "(default: 2).")
  private List<Integer> executors;

  @Option(names = "--bind", paramLabel = "COMMAND",
      description = "Runs workers, and so executors, by this command, as in 'numactl --physcpubind=0-7 --membind=0'; "
          + "repeated: the workers of either side by each in turn. Fewer workers than commands are not bound.")
  private List<String> bindings = new ArrayList<>();

  @Option(names = "--cores", description = "Cores of all executors together, which share them evenly (default: this "
      + "machine's, or as many more as there are to be executors).")
  private int cores;

  @Option(names = "--memory", paramLabel = "MB", defaultValue = "4096",
      description = "Heap of all executors together (default: 4096).")
  private int memory;

  @Option(names = "--maps", defaultValue = "32", description = "Map tasks (default: 32).")
  private int maps;

  @Option(names = "--pairs", defaultValue = "4096", description = "Pairs of key and value of each (default: 4096).")
  private int pairs;

  @Option(names = "--value", paramLabel = "BYTES", defaultValue = "4092",
      description = "Length of a value (default: 4092).")
  private int value;

  @Option(names = "--reducers", defaultValue = "32", description = "Reduce tasks (default: 32).")
  private int reducers;

  @Option(names = "--scale", paramLabel = "FACTOR", defaultValue = "1",
      description = "Size of all jobs but GroupBy and SortBy; 1 keeps two cores busy for some seconds (default: 1).")
  private double scale;

  @Option(names = "--partitions", defaultValue = "8", description = "Partitions of their data (default: 8).")
  private int partitions;

  @Option(names = "--address", defaultValue = "127.0.0.1",
      description = "Address of all processes; for verbs and uDAPL one that the adapter has (default: 127.0.0.1).")
  private String address;

  @Option(names = "--dir", paramLabel = "DIR", description = "Where shuffle files go (default: the system's for "
      + "temporary files).")
  private File folder = new File(System.getProperty("java.io.tmpdir"));

  @Option(names = {"-c", "--conf"}, paramLabel = "NAME=VALUE", description = "Spark's configuration, for both sides.")
  private List<String> settings = new ArrayList<>();

  @Option(names = "--ours-conf", paramLabel = "NAME=VALUE",
      description = "Spark's configuration for the engine's side only, as spark.shuffle.manager=rdma.")
  private List<String> ourSettings = new ArrayList<>();

  @Option(names = "--json", paramLabel = "FILE", description = "Where to write all figures and conditions.")
  private File json;

  @Option(names = {"-h", "--help"}, usageHelp = true, description = "This text.")
  private boolean help;

  @Override
  public Integer call() throws IOException, InterruptedException {
    File home = new File(System.getProperty("howdah.home"));
    SparkPlan plan = plan(home);
    List<SparkSide> sides = Arrays.asList(engine(home), reference(home));
    Map<String, Object> conditions = new Machine().conditions(); // before the load
    conditions.put("transport", transport.toString());
    conditions.put("jdk", System.getProperty("java.runtime.version"));
    conditions.put("reference", against == null ? "this tree over Netty" : against.getPath());
    conditions.put("ours_conf", String.join(" ", ourSettings));
    conditions.putAll(plan.conditions());
    SparkRounds run = new SparkRounds(plan, sides, System.err);
    System.err.printf("%d rounds of %d jobs; GroupBy and SortBy move %.0f MB%n", applications * rounds,
        plan.jobs.size() * executors.size() * sides.size(), plan.shuffledMegabytes());
    run.run();
    conditions.put("run_again", run.undisturbed().again());
    conditions.put("disturbed", run.undisturbed().disturbed());
    SparkReport report = new SparkReport(plan, sides, conditions, run.samples());
    report.print(System.out);
    if (json != null) {
      Files.write(json.toPath(), (report.json() + "\n").getBytes(StandardCharsets.UTF_8));
    }
    return 0;
  }

  private SparkSide engine(File home) {
    List<String> conf = new ArrayList<>(Collections.singletonList(ENABLED + true));
    if (transport != Transport.AUTO) {
      conf.add("spark.shuffle.rdma.transport=" + transport);
    }
    conf.addAll(ourSettings);
    return new SparkSide("ours", home, conf, true, transport != Transport.AUTO);
  }

  private SparkSide reference(File home) {
    return against == null ? new SparkSide("netty", home, Collections.singletonList(ENABLED + false), false, false)
        : new SparkSide("reference", against, Collections.emptyList(), false, false);
  }

  private void checkSettings(String option, List<String> settings) {
    for (String setting : settings) {
      if (setting.indexOf('=') < 1) {
        throw wrong(option + " takes NAME=VALUE, not: " + setting);
      }
    }
  }

  private SparkPlan plan(File home) {
    SparkPlan plan = new SparkPlan();
    plan.applications = atLeastOne("--applications", applications);
    plan.rounds = atLeastOne("--rounds", rounds);
    plan.warmUp = atLeastOne("--warm-up", warmUp);
    try {
      plan.jobs = SparkJobs.named(jobs);
    } catch (IllegalArgumentException e) {
      throw wrong(e.getMessage());
    }
    executors.forEach(count -> atLeastOne("--executors", count));
    if (bindings.stream().anyMatch(words -> words.trim().isEmpty())) {
      throw new BenchException("--bind has no command");
    }
    plan.executors = executors;
    plan.cores = cores(Collections.max(executors));
    executors.forEach(count -> {
      if (plan.cores % count != 0) {
        throw wrong(plan.cores + " cores can't be shared evenly by " + count + " executors: see --cores");
      }
    });
    plan.memory = atLeastOne("--memory", memory);
    plan.maps = atLeastOne("--maps", maps);
    plan.pairs = atLeastOne("--pairs", pairs);
    plan.valueBytes = atLeastOne("--value", value);
    plan.reducers = atLeastOne("--reducers", reducers);
    plan.partitions = atLeastOne("--partitions", partitions);
    if (!(scale > 0 && scale <= 1000)) {
      throw wrong("--scale is above 0, at most 1000, not " + scale);
    }
    plan.scale = scale;
    if (memory / Collections.max(executors) < 512) {
      throw wrong("--memory " + memory + " is less than 512 MB for each executor");
    }
    checkSettings("--conf", settings);
    checkSettings("--ours-conf", ourSettings);
    if (!folder.isDirectory()) {
      throw wrong("--dir " + folder + " is not a folder");
    }
    plan.settings = settings;
    plan.bindings = bindings;
    plan.address = address;
    plan.folder = folder;
    plan.examples = examples(home);
    return plan;
  }

  private static File examples(File home) {
    File[] found = new File(home, "share/howdah").listFiles((dir, name) -> name.matches("howdah-examples-.*\\.jar"));
    if (found == null || found.length != 1) {
      throw new BenchException("the jobs are missing: there is no share/howdah/howdah-examples-*.jar in " + home);
    }
    return found[0];
  }

  /** What was asked for; else this machine's cores, and at least one for each executor. */
  private int cores(int most) {
    if (spec.commandLine().getParseResult().hasMatchedOption("--cores")) {
      return atLeastOne("--cores", cores);
    }
    int here = Runtime.getRuntime().availableProcessors();
    return (here + most - 1) / most * most;
  }

  private int atLeastOne(String option, int number) {
    if (number < 1) {
      throw wrong(option + " must be at least 1, not " + number);
    }
    return number;
  }

  private ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}

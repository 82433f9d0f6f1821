package io.howdah.bench.rpc;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code howdah bench rpc}; docs/guide/bench.md has it from the user's side. */
@Command(name = "rpc", sortOptions = false, abbreviateSynopsis = true,
    description = "Measures Hadoop RPC between processes of this host, or with a server on another one.")
public final class RpcBench implements Callable<Integer> {
  /** What makes every call of a side go over one transport, or none. */
  enum Transport {
    CONFIGURED, TCP, SHM, VERBS, UDAPL;

    List<String> settings() {
      switch (this) {
        case CONFIGURED:
          return Collections.emptyList();
        case TCP:
          return Collections.singletonList("hadoop.rdma.rpc.enabled=false");
        default:
          return Arrays.asList("hadoop.rdma.rpc.enabled=true", "hadoop.rdma.transport=" + this);
      }
    }

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }

    boolean overEngine() {
      return this != CONFIGURED && this != TCP;
    }
  }

  @Spec private CommandSpec spec;

  @Option(names = "--transport", paramLabel = "NAME", defaultValue = "configured",
      description = "${COMPLETION-CANDIDATES}: what the calls go over (default: ${DEFAULT-VALUE}). A named transport "
          + "is never replaced by another: where it isn't to be had the benchmark fails.")
  private Transport transport;

  @Option(names = "--against", paramLabel = "TREE",
      description = "Another tree, measured in turn with this one over sockets, for instance the unpatched one.")
  private File against;

  @Option(names = "--measure", split = ",", paramLabel = "WHAT", defaultValue = "latency,types,throughput",
      description = "latency, types, throughput (default: all).")
  private List<String> measures;

  @Option(names = "--rounds", defaultValue = "5", description = "Rounds, each with fresh processes (default: 5).")
  private int rounds;

  @Option(names = "--type", defaultValue = "protobuf",
      description = "protobuf, listing, bytes, text or longs: what calls carry (default: protobuf).")
  private String type;

  @Option(names = "--sizes", split = ",", defaultValue = "1,4,16,64,256,1k,4k,16k,64k,256k,1m,4m",
      description = "Payloads for latency (default: powers of four from 1 to 4m).")
  private List<String> sizes;

  @Option(names = "--iterations", defaultValue = "20000",
      description = "Calls of a size, of which the first half warms up (default: 20000; as few as carry 1 GiB where "
          + "sizes are large).")
  private int iterations;

  @Option(names = "--types", split = ",", defaultValue = "protobuf,listing,bytes,text,longs",
      description = "Types to compare (default: all), with 512 bytes each.")
  private List<String> types;

  @Option(names = "--clients", split = ",", defaultValue = "1,4,16,64",
      description = "Clients for throughput, each with a connection (default: 1,4,16,64).")
  private List<Integer> clients;

  @Option(names = "--handlers", split = ",", defaultValue = "8,1,16",
      description = "Handlers of the server; the first is for everything, the others for throughput with the most "
          + "clients (default: 8,1,16).")
  private List<Integer> handlers;

  @Option(names = "--throughput-sizes", split = ",", defaultValue = "512,32k",
      description = "Payloads for throughput (default: 512,32k).")
  private List<String> loadSizes;

  @Option(names = "--settle", paramLabel = "SECONDS", defaultValue = "5",
      description = "Calls before the first case of a round, so that its fresh JVMs have compiled what all calls run "
          + "through (default: 5).")
  private double settle;

  @Option(names = "--seconds", defaultValue = "2", description = "How long a load is measured (default: 2).")
  private double seconds;

  @Option(names = "--warm-up", defaultValue = "1",
      description = "Seconds before that, and before latencies are taken at least (default: 1).")
  private double warmUp;

  @Option(names = "--processes", defaultValue = "1",
      description = "Processes that the clients of a load are spread over (default: 1).")
  private int processes;

  @Option(names = "--address", defaultValue = "127.0.0.1",
      description = "Address that the server binds to, and clients ask (default: 127.0.0.1).")
  private String address;

  @Option(names = "--listen", paramLabel = "PORT",
      description = "Only serve, on this port of --address, until the input ends.")
  private Integer listen;

  @Option(names = "--connect", paramLabel = "HOST:PORT", description = "Ask a server that --listen started elsewhere.")
  private String connect;

  @Option(names = "--jvm-options", defaultValue = RpcPlan.JVM_OPTIONS,
      description = "For each process that is measured (default: ${DEFAULT-VALUE}).")
  private String jvmOptions;

  @Option(names = {"-D", "--setting"}, paramLabel = "NAME=VALUE",
      description = "Hadoop's configuration, for all sides.")
  private List<String> settings = new ArrayList<>();

  @Option(names = "--profile", description = "Show where the time goes, in the last round.")
  private boolean profile;

  @Option(names = "--json", paramLabel = "FILE", description = "Where to write all figures and conditions.")
  private File json;

  @Option(names = "--html", paramLabel = "FILE", description = "Where to write a page with plots.")
  private File html;

  @Option(names = {"-h", "--help"}, usageHelp = true, description = "This text.")
  private boolean help;

  @Override
  public Integer call() throws IOException, InterruptedException {
    File home = new File(System.getProperty("howdah.home"));
    RpcPlan plan = plan();
    File log = File.createTempFile("howdah-bench-rpc-", ".log");
    List<String> own = new ArrayList<>(settings);
    own.addAll(transport.settings());
    List<Side> sides = new ArrayList<>();
    sides.add(new Side(against == null ? "this" : "ours", home, own, plan, log));
    if (listen != null) {
      return serve(sides.get(0), home, own);
    }
    if (against != null) {
      sides.add(new Side("reference", against, settings, plan, log));
    }
    RpcReport report = new RpcReport(plan, transport, new Machine().conditions());
    RpcRounds run = new RpcRounds(plan, sides, System.err);
    System.err.printf("%d cases a round; what the processes log is in %s%n", RpcRounds.cases(plan).size(), log);
    run.run(() -> {
      report.take(run);
      if (transport.overEngine()) {
        report.checkOverEngine(sides.get(0).name());
      }
      write(report); // who stops a long run has the rounds that were complete
    });
    report.print(System.out);
    if (html != null) {
      Files.write(html.toPath(), new RpcPage(report).html().getBytes(StandardCharsets.UTF_8));
    }
    if (log.length() == 0) {
      Files.delete(log.toPath());
    }
    return 0;
  }

  private void write(RpcReport report) throws IOException {
    if (json != null) {
      Files.write(json.toPath(), (report.json() + "\n").getBytes(StandardCharsets.UTF_8));
    }
  }

  private int serve(Side side, File home, List<String> own) throws IOException {
    try (Side serving = side) {
      serving.start();
      int port = serving.server().ask("serve", address, listen, handlers.get(0)).get("port").getAsInt();
      System.out.println("serving on " + address + ":" + port + " until the input ends");
      while (System.in.read() >= 0) {
        continue;
      }
    }
    return 0;
  }

  private RpcPlan plan() {
    RpcPlan plan = new RpcPlan();
    plan.type = named(type);
    plan.rounds = atLeastOne("--rounds", rounds);
    plan.iterations = atLeastOne("--iterations", iterations);
    plan.processes = atLeastOne("--processes", processes);
    handlers.forEach(count -> atLeastOne("--handlers", count));
    clients.forEach(count -> atLeastOne("--clients", count));
    plan.handlers = handlers;
    plan.settleSeconds = settle;
    plan.seconds = seconds;
    plan.warmSeconds = warmUp;
    plan.address = address;
    plan.remote = connect;
    plan.jvmOptions = jvmOptions;
    plan.profile = profile;
    for (String measure : measures) {
      switch (measure) {
        case "latency":
          plan.sizes = bytes(sizes);
          break;
        case "types":
          types.forEach(name -> plan.types = with(plan.types, named(name)));
          break;
        case "throughput":
          plan.clients = clients;
          plan.loadSizes = bytes(loadSizes);
          break;
        default:
          throw wrong("--measure takes latency, types and throughput, not: " + measure);
      }
    }
    checkTogether();
    return plan;
  }

  private void checkTogether() {
    if (connect != null && (against != null || listen != null)) {
      throw wrong("--connect goes with neither --against nor --listen: there is one server, and it runs already");
    }
    if (connect != null && !connect.matches("[^:\\s]+:[0-9]+")) {
      throw wrong("--connect takes HOST:PORT, not: " + connect);
    }
    if (connect != null && handlers.size() > 1 && spec.commandLine().getParseResult().hasMatchedOption("--handlers")) {
      throw wrong("with --connect the server's handlers are those that it was started with");
    }
    if (!(seconds > 0) || !(warmUp >= 0) || !(settle >= 0)) {
      throw wrong("--seconds must be above 0, --warm-up and --settle not below");
    }
    if (connect != null) {
      handlers = handlers.subList(0, 1);
    }
  }

  private static <T> List<T> with(List<T> list, T more) {
    List<T> result = new ArrayList<>(list);
    result.add(more);
    return result;
  }

  private int atLeastOne(String option, int value) {
    if (value < 1) {
      throw wrong(option + " must be at least 1, not " + value);
    }
    return value;
  }

  private DataType named(String name) {
    try {
      return DataType.named(name);
    } catch (IllegalArgumentException e) {
      String all = Arrays.toString(DataType.values()).toLowerCase(Locale.ROOT);
      throw wrong("there is no type " + name + "; there are " + all);
    }
  }

  private List<Integer> bytes(List<String> words) {
    List<Integer> result = new ArrayList<>();
    for (String word : words) {
      if (!word.matches("[0-9]{1,7}[kKmM]?")) {
        throw wrong("not a size in bytes (1, 64k, 4m): " + word);
      }
      String digits = word.replaceAll("[kKmM]$", "");
      int shift = word.length() == digits.length() ? 0 : word.matches(".*[kK]") ? 10 : 20;
      long size = Long.parseLong(digits) << shift;
      if (size < 1 || size > 32 << 20) {
        throw wrong("a size is from 1 byte to 32m, not " + word);
      }
      result.add((int) size);
    }
    return result;
  }

  private ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }
}

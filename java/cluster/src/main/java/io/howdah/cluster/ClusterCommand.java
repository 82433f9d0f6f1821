package io.howdah.cluster;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** howdah cluster: a real small cluster on this machine. */
@Command(name = "howdah cluster", mixinStandardHelpOptions = true, scope = CommandLine.ScopeType.INHERIT,
    synopsisSubcommandLabel = "COMMAND",
    description = "A real small cluster on this machine: HDFS, YARN and history server, each daemon a process.",
    subcommands = {StartCommand.class, ClusterCommand.StatusCommand.class, ClusterCommand.StopCommand.class,
        ClusterCommand.EnvCommand.class, ClusterCommand.LogsCommand.class})
public final class ClusterCommand implements Callable<Integer> {
  @CommandLine.Spec
  private CommandLine.Model.CommandSpec spec;

  private ClusterCommand() {
  }

  /** Runs the command and exits with its code: 0 done, 1 failed, 2 wrong usage. */
  public static void main(String[] arguments) {
    System.exit(run(new ClusterCommand(), arguments));
  }

  /** Runs a command; a failure becomes one message with its remedy. */
  static int run(Object command, String... arguments) {
    return new CommandLine(command).setExecutionExceptionHandler((e, line, parsed) -> report(e)).execute(arguments);
  }

  static int report(Exception e) {
    if (!(e instanceof ClusterException)) {
      e.printStackTrace();
    }
    System.err.println("howdah: error: " + (e.getMessage() == null ? e : e.getMessage()));
    if (e instanceof ClusterException && ((ClusterException) e).remedy() != null) {
      System.err.println("howdah:        " + ((ClusterException) e).remedy());
    }
    return 1;
  }

  @Override
  public Integer call() {
    spec.commandLine().usage(System.err);
    return 2;
  }

  /** howdah cluster status. */
  @Command(name = "status", description = {"Shows each daemon: state, pid, ports.",
      "Exit code: 0 all of it is at work, 3 stopped, 4 something is missing."})
  static final class StatusCommand implements Callable<Integer> {
    @Mixin
    private Selection selection;

    @Option(names = "--json", description = "as JSON")
    private boolean json;

    @Override
    public Integer call() {
      Status status = new Status(selection.cluster());
      System.out.println(json ? status.json() : status.toString());
      return status.exitCode();
    }
  }

  /** howdah cluster stop. */
  @Command(name = "stop", description = "Stops the cluster; its data stays.")
  static final class StopCommand implements Callable<Integer> {
    @Mixin
    private Selection selection;

    @Override
    public Integer call() {
      Progress progress = new Progress(System.out);
      int stopped = selection.cluster().stop(progress);
      progress.say(stopped == 0 ? "nothing was running" : "%d daemons stopped", stopped);
      return 0;
    }
  }

  /** howdah cluster env. */
  @Command(name = "env", description = {"Prints what points a shell's hadoop, hdfs, yarn and spark commands here:",
      "eval \"$$(howdah cluster env)\""})
  static final class EnvCommand implements Callable<Integer> {
    @Mixin
    private Selection selection;

    @Override
    public Integer call() {
      Cluster cluster = selection.cluster();
      cluster.spec();
      cluster.environment()
          .forEach((name, value) -> System.out.println("export " + name + "=" + Shell.quote(value)));
      return 0;
    }
  }

  /** howdah cluster logs. */
  @Command(name = "logs", description = "Shows the end of a daemon's log, or lists the logs.")
  static final class LogsCommand implements Callable<Integer> {
    @Mixin
    private Selection selection;

    @Parameters(arity = "0..1", paramLabel = "DAEMON", description = "such as namenode or datanode-2")
    private String daemon;

    @Option(names = {"-n", "--lines"}, paramLabel = "N", defaultValue = "50",
        description = "how many lines (default: ${DEFAULT-VALUE})")
    private int lines;

    @Option(names = {"-f", "--follow"}, description = "go on as the log grows, until interrupted")
    private boolean follow;

    @Override
    public Integer call() throws Exception {
      Cluster cluster = selection.cluster();
      List<DaemonId> daemons = cluster.spec().daemons();
      if (daemon == null) {
        daemons.forEach(id -> System.out.println(cluster.dir().log(id)));
        return 0;
      }
      DaemonId wanted = daemons.stream().filter(id -> id.toString().equals(daemon)).findFirst()
          .orElseThrow(() -> new ClusterException("the cluster has no daemon called " + daemon, "it has: "
              + daemons.stream().map(DaemonId::toString).collect(Collectors.joining(" "))));
      Path log = cluster.dir().log(wanted);
      if (!Files.exists(log)) {
        throw new ClusterException("there is no log " + log + " yet", "start the cluster: howdah cluster start");
      }
      List<String> tail = new ArrayList<>();
      tail.add("tail");
      tail.add("-n");
      tail.add(Integer.toString(lines));
      if (follow) {
        tail.add("-F");
      }
      tail.add(log.toString());
      return new ProcessBuilder(tail).inheritIO().start().waitFor();
    }
  }
}

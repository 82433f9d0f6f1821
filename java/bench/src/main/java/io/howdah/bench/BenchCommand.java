package io.howdah.bench;

import io.howdah.bench.hdfs.HdfsBench;
import io.howdah.bench.rpc.RpcBench;
import io.howdah.bench.spark.SparkBench;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code howdah bench}: benchmarks of what this distribution changes. */
@Command(name = "howdah bench", description = "Measures what this distribution changes.",
    subcommands = {HdfsBench.class, RpcBench.class, SparkBench.class}, synopsisSubcommandLabel = "BENCHMARK")
public final class BenchCommand {
  private BenchCommand() {}

  /** Runs the benchmark that the arguments name. Exit status: 0 measured, 1 failed, 2 wrong arguments. */
  public static void main(String[] args) {
    CommandLine command = new CommandLine(new BenchCommand());
    command.setCaseInsensitiveEnumValuesAllowed(true).setUsageHelpAutoWidth(true);
    command.setExecutionExceptionHandler((failure, where, parsed) -> {
      System.err.println("howdah bench: error: " + failure.getMessage());
      if (System.getenv("HOWDAH_DEBUG") != null) {
        failure.printStackTrace();
      }
      return 1;
    });
    System.exit(command.execute(args));
  }
}

package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import picocli.CommandLine;

class ClusterCommandTest {
  /** The completion for bash asks each for it. */
  @Test
  void everySubcommandExplainsItself() {
    CommandLine command = new CommandLine(ClusterCommand.class);
    assertThat(command.getSubcommands()).containsKeys("start", "status", "stop", "env", "logs");
    command.getSubcommands().forEach((name, subcommand) ->
        assertThat(subcommand.getUsageMessage()).as(name).contains("howdah cluster " + name).contains("--help"));
  }
}

package io.howdah.cluster;

import java.nio.file.Path;
import java.nio.file.Paths;
import picocli.CommandLine.Option;

/** Which cluster a command is about. */
final class Selection {
  @Option(names = "--name", paramLabel = "NAME",
      description = "the cluster of this name, in $XDG_STATE_HOME/howdah (default: default)")
  private String named;

  @Option(names = "--dir", paramLabel = "DIR", description = "the cluster in this folder, instead of a name")
  private Path dir;

  /** Whether the command line says which. */
  boolean isExplicit() {
    return named != null || dir != null;
  }

  private String name() {
    return named == null ? "default" : named;
  }

  Cluster cluster() {
    String name = name();
    if (dir != null) {
      return new Cluster(dir);
    }
    if (!name.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")) {
      throw new ClusterException("--name " + name + " is not a name", "use letters, digits, dot, dash and underscore");
    }
    String state = System.getenv("XDG_STATE_HOME");
    Path base = state != null && !state.isEmpty() ? Paths.get(state)
        : Paths.get(System.getProperty("user.home"), ".local", "state");
    return new Cluster(base.resolve("howdah").resolve(name));
  }

  /** The options that choose the same cluster again, for messages. */
  String options() {
    return dir != null ? " --dir " + Shell.quote(dir.toString()) : "default".equals(name()) ? "" : " --name " + named;
  }
}

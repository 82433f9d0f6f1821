package io.howdah.cluster;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** howdah stat without a process: the traffic of a cluster. */
@Command(name = "howdah stat", mixinStandardHelpOptions = true, description = {
    "Shows how many calls, bytes and connections of a cluster's daemons went over which transport, and why over "
        + "sockets: of the local cluster that --name or --dir says, else of the one that HADOOP_CONF_DIR names.",
    "howdah stat PID|FILE|--all shows the engine's counters of processes of this host instead."})
public final class StatCommand implements Callable<Integer> {
  @Mixin
  private Selection selection;

  @Option(names = "--json", description = "as JSON")
  private boolean json;

  private final Traffic traffic = new Traffic();
  private final Map<String, String> states = new TreeMap<>();

  private StatCommand() {
  }

  /** Runs the command and exits with its code: 0 shown, 1 nothing answered, 2 wrong usage. */
  public static void main(String[] arguments) {
    System.exit(ClusterCommand.run(new StatCommand(), arguments));
  }

  @Override
  public Integer call() {
    int answered = servers().ask((name, counts) -> {
      traffic.add(counts);
      counts.states().forEach((component, state) ->
          states.merge(component + ": " + state, name, (names, more) -> names + ", " + more));
    });
    if (answered == 0) {
      throw new ClusterException("no daemon of the cluster answers", "is it running?  howdah cluster status");
    }
    if (json) {
      JsonObject all = traffic.json();
      JsonObject modes = new JsonObject();
      states.forEach(modes::addProperty);
      all.add("states", modes);
      System.out.println(new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create().toJson(all));
    } else {
      System.out.print(traffic);
      states.forEach((state, daemons) -> System.out.println(state + " (" + daemons + ")"));
    }
    return 0;
  }

  private WebServers servers() {
    String conf = System.getenv("HADOOP_CONF_DIR");
    if (!selection.isExplicit() && conf != null) {
      Path folder = Paths.get(conf);
      if (SiteFiles.read(folder).file("core-site.xml").properties().containsKey("fs.defaultFS")) {
        return WebServers.of(folder);
      }
    }
    Cluster cluster = selection.cluster();
    cluster.spec();
    return WebServers.of(cluster);
  }
}

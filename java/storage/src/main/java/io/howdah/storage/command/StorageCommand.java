package io.howdah.storage.command;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorageReport;
import org.apache.hadoop.hdfs.server.protocol.StorageReport;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** howdah storage. */
@Command(name = "howdah storage", mixinStandardHelpOptions = true, subcommands = {
    StorageCommand.StatusCommand.class, StorageCommand.GcCommand.class, StorageCommand.ImportCommand.class},
    description = "Asks a cluster in a storage mode.")
public final class StorageCommand implements Callable<Integer> {
  private static final String[] SHOWN = {"Mode", "RamCapacity", "RamFilled", "RamLowMark", "CopiesInRam",
      "CopiesInRamBytes", "MovesInFlight", "CreatedInRam", "CreatedElsewhere", "Reads", "ReadsFromRam", "Moves",
      "MovedBytes", "Copies", "CopiedBytes", "Persisted", "PersistedBytes", "Unpersisted", "UnpersistedBytes",
      "Shared", "SharedBytes", "Unshared", "UnsharedBytes", "SharedOnly", "Kept", "KeptOwners", "SharedPathSilence",
      "Failures"};

  @Spec
  private CommandSpec spec;

  private StorageCommand() {
  }

  /** Runs the command and exits with its code: 0 shown, 1 failed, 2 wrong usage. */
  public static void main(String[] arguments) {
    System.exit(Hdfs.run(new StorageCommand(), arguments));
  }

  @Override
  public Integer call() {
    spec.commandLine().usage(System.err);
    return 2;
  }

  /** howdah storage status. */
  @Command(name = "status", mixinStandardHelpOptions = true, description = {
      "Shows the tiers of each live DataNode: what they may hold, what they hold, and what was moved. Needs the "
          + "superuser."})
  static final class StatusCommand implements Callable<Integer> {
    @Option(names = "--json", description = "as JSON")
    private boolean json;

    @Option(names = "--unpersisted", description = "only the blocks of the mode HHH-M, a line each, that no DataNode "
        + "has on SSD or disk: a power failure now would lose them. Blocks that are being written are among them")
    private boolean unpersisted;

    @Override
    public Integer call() throws IOException {
      if (unpersisted) {
        Unpersisted.print(Hdfs.of(null).getDataNodeStats(DatanodeReportType.LIVE), json);
        return 0;
      }
      JsonArray nodes = new JsonArray();
      for (DatanodeStorageReport report
          : Hdfs.of(null).getClient().getDatanodeStorageReport(DatanodeReportType.LIVE)) {
        nodes.add(node(report));
      }
      if (json) {
        System.out.println(new GsonBuilder().setPrettyPrinting().create().toJson(nodes));
      } else {
        nodes.forEach(node -> print(node.getAsJsonObject()));
      }
      return 0;
    }
  }

  /** howdah storage gc. */
  @Command(name = "gc", mixinStandardHelpOptions = true, description = {
      "Lists the blocks that DataNodes which are gone have left on the shared path (mode HHH-L): unknown to the "
          + "NameNode, elsewhere as well, needed, or young; and those that one which is there has and does not list. "
          + "--delete removes the unknown ones, and of DataNodes that are gone those that are elsewhere. Run it as the "
          + "user of the DataNodes, on a node that has the path."})
  static final class GcCommand implements Callable<Integer> {
    @Option(names = "--delete", description = "removes what nobody needs")
    private boolean delete;

    @Option(names = "--age", paramLabel = "HOURS", defaultValue = "24", description = "a DataNode is gone after so "
        + "many hours without a sign of life, and files are left alone that are younger (${DEFAULT-VALUE}; at least 1)")
    private int age;

    @Override
    public Integer call() throws IOException {
      if (age < 1) {
        throw new IOException("--age " + age + ": at least 1 hour");
      }
      DistributedFileSystem fs = Hdfs.of(null);
      Path path = SharedImport.settings(fs.getConf()).path();
      new SharedGc(fs, path, TimeUnit.HOURS.toMillis(age), System.out).run(delete);
      return 0;
    }
  }

  /** howdah storage import. */
  @Command(name = "import", mixinStandardHelpOptions = true, description = {
      "Copies what this node's DataNode has on the shared path only (mode HHH-L) to its folders on SSD and disk, where "
          + "stock Hadoop finds it too. The DataNode must not run. Run it as its user, with its configuration."})
  static final class ImportCommand implements Callable<Integer> {
    @Override
    public Integer call() throws IOException {
      return new SharedImport(new HdfsConfiguration(), System.out).run() == 0 ? 0 : 1;
    }
  }

  private static JsonObject node(DatanodeStorageReport report) {
    JsonObject node = new JsonObject();
    node.addProperty("datanode", report.getDatanodeInfo().getHostName() + ":" + report.getDatanodeInfo().getXferPort());
    Map<StorageType, long[]> sums = new EnumMap<>(StorageType.class);
    for (StorageReport storage : report.getStorageReports()) {
      long[] sum = sums.computeIfAbsent(storage.getStorage().getStorageType(), type -> new long[3]);
      sum[0] += storage.getCapacity();
      sum[1] += storage.getDfsUsed();
      sum[2] += storage.getRemaining();
    }
    JsonObject tiers = new JsonObject();
    sums.forEach((type, sum) -> {
      JsonObject tier = new JsonObject();
      tier.addProperty("capacity", sum[0]);
      tier.addProperty("used", sum[1]);
      tier.addProperty("remaining", sum[2]);
      tiers.add(type.name(), tier);
    });
    node.add("tiers", tiers);
    try {
      JsonObject status = DataNodeJmx.status(report.getDatanodeInfo());
      for (String name : SHOWN) {
        if (status != null && status.has(name)) {
          node.add(Character.toLowerCase(name.charAt(0)) + name.substring(1), status.get(name));
        }
      }
    } catch (IOException e) {
      node.addProperty("error", "its web server does not answer: " + Words.reason(e));
    }
    return node;
  }

  /** Prints what is known of a DataNode. */
  static void print(JsonObject node) {
    System.out.println(node.get("datanode").getAsString() + "  " + (node.has("mode") ? node.get("mode").getAsString()
        : node.has("error") ? "(" + node.get("error").getAsString() + ")" : "no storage mode"));
    node.getAsJsonObject("tiers").entrySet().forEach(entry -> {
      JsonObject tier = entry.getValue().getAsJsonObject();
      System.out.printf("  %-9s used %s of %s, %s free%n", entry.getKey(), size(tier, "used"), size(tier, "capacity"),
          size(tier, "remaining"));
    });
    if (node.has("mode")) {
      System.out.printf("  in RAM    %s of %s filled, down to %s; %s (%s); served %s of %s%n",
          size(node, "ramFilled"), size(node, "ramCapacity"), size(node, "ramLowMark"),
          node.get("copiesInRam").getAsLong() == 1 ? "1 copy" : node.get("copiesInRam") + " copies",
          size(node, "copiesInRamBytes"), node.get("readsFromRam"), count(node, "reads", "read"));
      System.out.printf("  moved     %s (%s), %s in flight, %s%n", count(node, "moves", "replica"),
          size(node, "movedBytes"), node.get("movesInFlight"), count(node, "failures", "failure"));
      if (node.get("mode").getAsString().equals("HHH-M")) {
        System.out.printf("  persisted %s (%s); %s (%s) not yet%n", count(node, "persisted", "replica"),
            size(node, "persistedBytes"), node.get("unpersisted"), size(node, "unpersistedBytes"));
      } else if (node.get("mode").getAsString().equals("HHH-L")) {
        System.out.printf("  shared    %s (%s), %s of them there only; %s (%s) not yet; serves %s of %s; "
            + "the path answered %d s ago%n", count(node, "shared", "block"), size(node, "sharedBytes"),
            node.get("sharedOnly"), node.get("unshared"), size(node, "unsharedBytes"), count(node, "kept", "block"),
            count(node, "keptOwners", "other DataNode"), node.get("sharedPathSilence").getAsLong() / 1000);
      }
    }
  }

  private static String count(JsonObject of, String name, String noun) {
    return Words.count(of.get(name).getAsLong(), noun);
  }

  private static String size(JsonObject of, String name) {
    long bytes = of.get(name).getAsLong();
    return bytes < 10 << 20 ? (bytes >> 10) + " KB" : (bytes >> 20) + " MB";
  }
}

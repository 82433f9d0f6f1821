package io.howdah.storage.command;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.howdah.storage.BlockIds;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** howdah blocks. */
@Command(name = "howdah blocks", mixinStandardHelpOptions = true, description = {
    "Shows the replicas of a file's blocks, or of one block: on which tier each is, on which it was wanted, why, and "
        + "what happened since. Of a block by its name all DataNodes are asked, which needs the superuser."})
public final class BlocksCommand implements Callable<Integer> {
  @Parameters(paramLabel = "PATH|blk_N", description = "a file, or a block")
  private String what;

  @Option(names = "--json", description = "as JSON")
  private boolean json;

  private BlocksCommand() {
  }

  /** Runs the command and exits with its code: 0 shown, 1 failed, 2 wrong usage. */
  public static void main(String[] arguments) {
    System.exit(Hdfs.run(new BlocksCommand(), arguments));
  }

  @Override
  public Integer call() throws IOException {
    JsonArray blocks = what.matches("blk_" + BlockIds.REGEX + "(_\\d+)?") ? blockByName() : blocksOfFile();
    if (json) {
      System.out.println(new GsonBuilder().setPrettyPrinting().create().toJson(blocks));
    } else {
      blocks.forEach(block -> print(block.getAsJsonObject()));
    }
    return 0;
  }

  private JsonArray blocksOfFile() throws IOException {
    Path path = new Path(what);
    DistributedFileSystem fs = Hdfs.of(path);
    String name = fs.makeQualified(path).toUri().getPath();
    JsonArray blocks = new JsonArray();
    if (!fs.getFileStatus(path).isFile()) {
      throw new IOException(what + " is a folder: name a file");
    }
    for (LocatedBlock located : fs.getClient().getLocatedBlocks(name, 0, Long.MAX_VALUE).getLocatedBlocks()) {
      JsonArray replicas = new JsonArray();
      DatanodeInfo[] nodes = located.getLocations();
      StorageType[] types = located.getStorageTypes();
      for (int i = 0; i < nodes.length; i++) {
        String type = types != null && i < types.length ? String.valueOf(types[i]) : null;
        replicas.add(replica(nodes[i], "blk_" + located.getBlock().getBlockId(), type, names(nodes)));
      }
      blocks.add(block("blk_" + located.getBlock().getBlockId(), located.getBlockSize(), replicas));
    }
    return blocks;
  }

  private JsonArray blockByName() throws IOException {
    String name = what.replaceFirst("(blk_-?\\d+)_\\d+", "$1");
    JsonArray replicas = new JsonArray();
    DatanodeInfo[] nodes = Hdfs.of(null).getDataNodeStats(DatanodeReportType.LIVE);
    for (DatanodeInfo node : nodes) {
      JsonObject replica = replica(node, name, null, names(nodes));
      if (replica.has("type") || replica.has("error")) {
        replicas.add(replica);
      }
    }
    if (replicas.size() == 0) {
      throw new IOException("no live DataNode in a storage mode has " + name);
    }
    JsonArray blocks = new JsonArray();
    blocks.add(block(name, null, replicas));
    return blocks;
  }

  private static JsonObject block(String name, Long bytes, JsonArray replicas) {
    JsonObject block = new JsonObject();
    block.addProperty("block", name);
    if (bytes != null) {
      block.addProperty("bytes", bytes);
    }
    block.add("replicas", replicas);
    return block;
  }

  private static String name(DatanodeInfo node) {
    return node.getHostName() + ":" + node.getXferPort();
  }

  /** Hosts and ports of DataNodes, by uuid. */
  private static Map<String, String> names(DatanodeInfo[] nodes) {
    return Stream.of(nodes).collect(Collectors.toMap(DatanodeInfo::getDatanodeUuid, BlocksCommand::name, (a, b) -> a));
  }

  /**
   * A replica as the NameNode (its type, if it is known) and its DataNode have it.
   *
   * @param names of the DataNodes that it may serve the copy of
   */
  private static JsonObject replica(DatanodeInfo node, String block, String type, Map<String, String> names) {
    JsonObject replica = new JsonObject();
    replica.addProperty("datanode", name(node));
    if (type != null) {
      replica.addProperty("type", type);
    }
    try {
      List<String> lines = DataNodeJmx.block(node, block);
      if (lines == null) {
        replica.addProperty("note", "the DataNode has no storage mode");
      } else {
        describe(replica, lines, names);
      }
    } catch (IOException e) {
      replica.addProperty("error", "its web server does not answer: " + Words.reason(e));
    }
    return replica;
  }

  /** Adds what a DataNode says of a replica. */
  static void describe(JsonObject replica, List<String> lines, Map<String, String> names) {
    JsonArray events = new JsonArray();
    for (String line : lines) {
      String[] words = line.split("\t");
      if (words.length == 4) {
        replica.addProperty("state", words[1]);
        replica.addProperty("type", words[2]);
        replica.addProperty("copyInRam", words[3].equals("copy-in-ram"));
        replica.addProperty("shadow", words[3].equals("shadow"));
        replica.addProperty("shared", words[3].equals("shared"));
      } else if (words.length == 2 && words[0].equals("serves")) {
        replica.addProperty("servesCopyOf", names.getOrDefault(words[1], words[1]));
      } else if (words.length == 5) {
        JsonObject event = new JsonObject();
        event.addProperty("time", words[0]);
        event.addProperty("event", words[1]);
        event.addProperty("from", words[2]);
        event.addProperty("to", words[3]);
        event.addProperty("reason", words[4]);
        events.add(event);
      }
    }
    replica.add("events", events);
  }

  /** Prints a block and its replicas. */
  static void print(JsonObject block) {
    System.out.println(block.get("block").getAsString()
        + (block.has("bytes") ? "  " + Words.count(block.get("bytes").getAsLong(), "byte") : ""));
    block.getAsJsonArray("replicas").forEach(element -> {
      JsonObject replica = element.getAsJsonObject();
      System.out.println("  " + replica.get("datanode").getAsString()
          + (replica.has("type") ? "  " + replica.get("type").getAsString() : "")
          + (replica.has("copyInRam") && replica.get("copyInRam").getAsBoolean() ? ", copy in RAM" : "")
          + (replica.has("shadow") && replica.get("shadow").getAsBoolean() ? ", persisted" : "")
          + (replica.has("shared") && replica.get("shared").getAsBoolean() ? ", copy on the shared path" : "")
          + (replica.has("servesCopyOf") ? ", serves the copy of " + replica.get("servesCopyOf").getAsString() : "")
          + (replica.has("note") ? "  (" + replica.get("note").getAsString() + ")" : "")
          + (replica.has("error") ? "  (" + replica.get("error").getAsString() + ")" : ""));
      if (replica.has("events")) {
        replica.getAsJsonArray("events").forEach(event -> print(event.getAsJsonObject(), "event"));
      }
    });
  }

  private static void print(JsonObject event, String kind) {
    System.out.printf("    %s  %s: %s -> %s, %s%n", event.get("time").getAsString(), event.get(kind).getAsString(),
        event.get("from").getAsString(), event.get("to").getAsString(), event.get("reason").getAsString());
  }
}

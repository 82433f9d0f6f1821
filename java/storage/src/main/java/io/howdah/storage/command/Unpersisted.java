package io.howdah.storage.command;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;

/** The blocks that are in RAM only, on all DataNodes that have them. */
final class Unpersisted {
  /** Blocks in one question; their names have to fit into a URL. */
  private static final int BATCH = 100;

  private Unpersisted() {
  }

  /** Prints their names: a line each, or a list in JSON. Says on the error stream why there are none. */
  static void print(DatanodeInfo[] nodes, boolean isJson) throws IOException {
    Set<String> blocks = of(nodes);
    if (isJson) {
      System.out.println(new GsonBuilder().setPrettyPrinting().create().toJson(blocks));
    } else {
      blocks.forEach(System.out::println);
    }
    if (blocks.isEmpty()) {
      System.err.println("howdah: " + (isInMode(nodes) ? "nothing is unpersisted"
          : "no live DataNode is in the storage mode HHH-M: blocks are unpersisted in that mode only"));
    }
  }

  private static boolean isInMode(DatanodeInfo[] nodes) throws IOException {
    for (DatanodeInfo node : nodes) {
      JsonObject status = DataNodeJmx.status(node);
      if (status != null && status.get("Mode").getAsString().equals("HHH-M")) {
        return true;
      }
    }
    return false;
  }

  /**
   * Their names.
   *
   * @throws IOException if a DataNode does not answer: without it there is no telling
   */
  static Set<String> of(DatanodeInfo[] nodes) throws IOException {
    Set<String> blocks = new TreeSet<>();
    for (DatanodeInfo node : nodes) {
      blocks.addAll(DataNodeJmx.unpersisted(node));
    }
    for (DatanodeInfo node : nodes) {
      List<String> left = new ArrayList<>(blocks);
      for (int i = 0; i < left.size(); i += BATCH) {
        blocks.removeAll(DataNodeJmx.persisted(node, left.subList(i, Math.min(i + BATCH, left.size()))));
      }
    }
    return blocks;
  }
}

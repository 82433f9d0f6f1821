package io.howdah.storage.command;

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

package io.howdah.storage.command;

import io.howdah.storage.shared.Leftovers;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.DatanodeReportType;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;

/** Lists what DataNodes have left on the shared path or have there without knowing, and removes what nobody needs. */
final class SharedGc {
  private final DistributedFileSystem fs;
  private final Path path;
  private final long age;
  private final PrintStream out;
  private int removable;
  private long removableBytes;
  private int needed;

  /** Of a path; what is younger than an age in milliseconds is left alone. */
  SharedGc(DistributedFileSystem fs, Path path, long age, PrintStream out) {
    this.fs = fs;
    this.path = path;
    this.age = age;
    this.out = out;
  }

  /**
   * Lists, and removes if that is asked for.
   *
   * @throws IOException if it cannot be told what is needed: nothing is removed then
   */
  void run(boolean isDeleting) throws IOException {
    KnownBlocks known = new KnownBlocks(fs);
    Set<String> live = live();
    String pool = known.pool();
    Leftovers leftovers = new Leftovers(path, pool, live, age);
    if (!poolIsThere(pool)) {
      return;
    }
    for (Leftovers.Gone gone : leftovers.find()) {
      out.printf("DataNode %s is gone, and has left %s%n", gone.uuid(), Words.count(gone.blocks().size(), "block"));
      List<Leftovers.Left> removed = judge(leftovers, gone.blocks(), known, true);
      if (isDeleting && (!removed.isEmpty() || gone.blocks().isEmpty())) {
        leftovers.remove(gone, removed);
      }
    }
    for (Map.Entry<String, Collection<Leftovers.Left>> strays : leftovers.strays().entrySet()) {
      out.printf("DataNode %s has %s not in its list%n", strays.getKey(),
          Words.count(strays.getValue().size(), "block"));
      List<Leftovers.Left> removed = judge(leftovers, strays.getValue(), known, false);
      if (isDeleting) {
        leftovers.removeFiles(removed);
      }
    }
    if (isDeleting) {
      leftovers.finish();
    }
    out.printf("%s: %s, %s, that nobody needs%s%n", path.resolve(pool), Words.count(removable, "block"),
        Words.count(removableBytes, "byte"),
        isDeleting ? removable == 1 ? " was removed" : " were removed"
            : removable == 0 ? "" : "; --delete removes " + (removable == 1 ? "it" : "them"));
    if (needed > 0) {
      out.printf("%s kept: %s there%n", Words.count(needed, "block"),
          needed == 1 ? "it is the only copy" : "they are the only copies");
    }
  }

  private Set<String> live() throws IOException {
    if (fs.setSafeMode(SafeModeAction.SAFEMODE_GET)) {
      throw new IOException("the NameNode is in safe mode: ask again when it has left it");
    }
    Set<String> live = new HashSet<>();
    for (DatanodeInfo node : fs.getDataNodeStats(DatanodeReportType.LIVE)) {
      live.add(node.getDatanodeUuid());
    }
    if (live.isEmpty()) {
      throw new IOException("the NameNode has no live DataNode: start them, and ask again");
    }
    return live;
  }

  private boolean poolIsThere(String pool) throws IOException {
    if (!Files.isDirectory(path)) {
      throw new IOException(path + " is not a folder on this node: run this where the shared file system is mounted");
    }
    Set<String> pools = Leftovers.pools(path);
    for (String other : pools) {
      if (!other.equals(pool)) {
        out.println(path.resolve(other) + " is of another NameNode, and left alone");
      }
    }
    if (!pools.contains(pool)) {
      out.println(path + " has nothing of this NameNode (" + pool + ")");
      return false;
    }
    return true;
  }

  /**
   * Says of each of a DataNode's blocks what becomes of it; returns those that nobody needs. A DataNode that is not
   * gone keeps one that the NameNode knows: it may be about to write it again.
   */
  private List<Leftovers.Left> judge(Leftovers leftovers, Collection<Leftovers.Left> blocks, KnownBlocks known,
      boolean isGone) throws IOException {
    List<Leftovers.Left> unneeded = new ArrayList<>();
    Map<Long, Integer> live = known.live(blocks.stream().map(Leftovers.Left::id).collect(Collectors.toList()));
    for (Leftovers.Left left : blocks) {
      String verdict = verdict(leftovers, left, live.get(left.id()));
      if (verdict.equals("unknown") || isGone && verdict.equals("elsewhere")) {
        unneeded.add(left);
        removable++;
        removableBytes += left.bytes();
      } else {
        needed += verdict.equals("needed") ? 1 : 0;
      }
      out.printf("  blk_%d  %s  %s%n", left.id(), Words.count(left.bytes(), "byte"), verdict);
    }
    return unneeded;
  }

  private static String verdict(Leftovers leftovers, Leftovers.Left left, Integer live) throws IOException {
    if (leftovers.isYoung(left)) {
      return "young";
    }
    return live == null ? "unknown" : live > 0 && leftovers.isElsewhere(left) ? "elsewhere" : "needed";
  }
}

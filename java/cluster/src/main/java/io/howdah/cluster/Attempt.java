package io.howdah.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;

/**
 * What a start writes beside the daemons' data: the record, and the folders of a mode. A start that fails takes it
 * back. A first start that fails also takes back the data, which no user has written. Thread-safe.
 */
final class Attempt {
  private final ClusterDir dir;
  private final Properties before;
  private final ClusterSpec spec;
  private final Ports ports;
  private final String id;
  private final boolean isFirst;
  private final StorageFolders folders;
  /** Folders that the cluster had nothing in before. */
  private final Set<Path> taken;
  private boolean begun;

  /**
   * Of a start that has not written anything yet.
   *
   * @param before the record, empty if there is none
   */
  Attempt(ClusterDir dir, Properties before, ClusterSpec spec, Ports ports) {
    this.dir = dir;
    this.before = before;
    this.spec = spec;
    this.ports = ports;
    this.id = ClusterDir.id(before);
    this.isFirst = !dir.hasData();
    this.folders = new StorageFolders(spec, id);
    this.taken = new LinkedHashSet<>(folders.used());
    if (!isFirst) {
      taken.removeAll(StorageFolders.of(before).used());
    }
  }

  String id() {
    return id;
  }

  Ports ports() {
    return ports;
  }

  /**
   * Checks that no block is on a shared path alone that the cluster leaves.
   *
   * @throws ClusterException if there is one, or the path is not there
   */
  void checkLeaving() {
    ClusterSpec old = isFirst ? spec : ClusterSpec.load(before);
    if (!old.isShared() || spec.isShared()) {
      return;
    }
    StorageFolders storage = StorageFolders.of(before);
    String remedy = "run for each DataNode K: HADOOP_CONF_DIR=" + Shell.quote(dir.conf().toString())
        + "/datanode-K howdah storage import; then start again";
    if (!Files.isDirectory(storage.shared())) {
      throw new ClusterException("to leave the mode hhh-l, `howdah storage import` comes first, and "
          + storage.shared() + " is not a folder", "mount the shared file system, and " + remedy);
    }
    try {
      int blocks = onlyShared(storage).size();
      if (blocks > 0) {
        throw new ClusterException("to leave the mode hhh-l, `howdah storage import` comes first: " + blocks
            + (blocks == 1 ? " block is in " : " blocks are in ") + storage.shared() + " only", remedy);
      }
    } catch (IOException e) {
      throw new ClusterException("the blocks in " + storage.shared() + " can't be listed: " + ClusterDir.reason(e));
    }
  }

  private Set<Long> onlyShared(StorageFolders storage) throws IOException {
    Set<Long> blocks = BlockFiles.listed(storage.shared());
    blocks.removeAll(BlockFiles.in(dir.data()));
    for (Path folder : storage.local()) {
      blocks.removeAll(BlockFiles.in(folder));
    }
    return blocks;
  }

  /** Writes the record and makes the folders. */
  synchronized void begin() throws IOException {
    begun = true;
    if (isFirst) {
      // Of a start that was killed.
      if (!before.isEmpty()) {
        StorageFolders.of(before).delete();
      }
      folders.delete();
    }
    folders.note(taken);
    dir.writeRecord(spec, ports, id);
    folders.make(taken);
  }

  /**
   * Restores the record, and removes what was made. Does nothing before {@link #begin} and the second time.
   *
   * @return the cluster's own folders that stay, since they have blocks
   */
  synchronized List<Path> takeBack() {
    if (!begun) {
      return Collections.emptyList();
    }
    begun = false;
    try {
      return isFirst ? takeBackAll() : takeBackFolders();
    } catch (IOException e) {
      throw new ClusterException("what this start made can't be removed: " + ClusterDir.reason(e));
    }
  }

  private List<Path> takeBackAll() throws IOException {
    ClusterDir.delete(dir.data());
    folders.delete();
    ClusterSpec old = new ClusterSpec();
    Ports oldPorts = new Ports(ClusterDir.ports(before));
    if (before.isEmpty()) {
      oldPorts.assign(old.daemons(), Collections.emptyMap());
    } else {
      old = ClusterSpec.load(before);
    }
    dir.writeRecord(old, oldPorts, id);
    return Collections.emptyList();
  }

  /** A folder with blocks that may be nowhere else stays the cluster's. */
  private List<Path> takeBackFolders() throws IOException {
    ClusterSpec old = ClusterSpec.load(before);
    List<Path> kept = new ArrayList<>();
    for (Path folder : taken) {
      boolean isShared = folder.equals(spec.shared());
      if (isShared ? onlyShared(folders).isEmpty() : !folders.hasBlocks(folder)) {
        folders.delete(Collections.singleton(folder));
      } else {
        kept.add(folder);
        old.keep(spec, folder);
      }
    }
    dir.writeRecord(old, new Ports(ClusterDir.ports(before)), id);
    return kept;
  }
}

package io.howdah.cluster;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Properties;

/**
 * What a cluster in a mode has beside its own folder: for blocks one in RAM and perhaps one on an SSD, and one that all
 * nodes have. In each the cluster has one of its own, so that no two clusters and DataNodes share one.
 */
final class StorageFolders {
  private static final Path RAM = Paths.get("/dev/shm");
  /** Share of a folder in RAM that blocks may fill, by default. */
  private static final double SHARE = 0.7;
  private static final String BLOCK_SIZE = "dfs.blocksize";
  private static final String CAPACITY = "dfs.rdma.memory.capacity";

  private final ClusterSpec spec;
  private final String name;

  /** Those of a cluster with an id. */
  StorageFolders(ClusterSpec spec, String id) {
    this.spec = spec;
    this.name = "howdah-" + id;
  }

  /** Those that a cluster's record tells of. */
  static StorageFolders of(Properties record) {
    return new StorageFolders(ClusterSpec.load(record), ClusterDir.id(record));
  }

  /** The folder in RAM that a cluster uses, in which its own is. */
  static Path ram(ClusterSpec spec) {
    return spec.ram() == null ? RAM : spec.ram();
  }

  /**
   * Checks that a mode's folders are fit for it.
   *
   * @throws ClusterException if they are not; nothing has been written
   */
  static void check(ClusterSpec spec) {
    boolean needsShared = spec.isShared() || !spec.hasHdfs();
    if (needsShared && spec.shared() == null) {
      throw new ClusterException("--mode " + spec.mode() + " needs a folder for "
          + (spec.hasHdfs() ? "the copies of blocks" : "what jobs read and write"), "add --shared DIR");
    }
    if (spec.shared() != null && !needsShared) {
      throw new ClusterException("--shared is for the mode hhh-l, lustre-local or lustre-only", "add --mode hhh-l");
    }
    if (spec.shared() != null) {
      checkWritable("--shared", spec.shared());
    }
    if (spec.mode() == null || !spec.hasHdfs()) {
      if (spec.ram() != null || spec.ssd() != null) {
        throw new ClusterException((spec.ram() != null ? "--ram" : "--ssd") + " is for a storage mode",
            "add --mode hhh");
      }
      if (!spec.hasHdfs() && !spec.yarn()) {
        throw new ClusterException("--mode " + spec.mode() + " has no HDFS, and --no-yarn leaves nothing to start",
            "leave out --no-yarn");
      }
      return;
    }
    checkRam(spec, ram(spec));
    if (spec.ssd() != null) {
      checkWritable("--ssd", spec.ssd());
    }
  }

  private static void checkRam(ClusterSpec spec, Path ram) {
    try {
      FileStore store = Files.getFileStore(existing(ram));
      if (!store.type().equals("tmpfs") && !store.type().equals("ramfs")) {
        throw new ClusterException("--ram " + ram + " is on " + store.type() + ", not in RAM",
            "name a folder on a tmpfs, such as one below /dev/shm");
      }
      checkSize(spec, ram, store.getTotalSpace());
    } catch (IOException e) {
      throw new ClusterException("--ram " + ram + " can't be used: " + ClusterDir.reason(e), "name another folder");
    }
    checkWritable("--ram", ram);
  }

  /** A ramfs has no size. */
  private static void checkSize(ClusterSpec spec, Path ram, long size) {
    long block = Sizes.parse("-D " + BLOCK_SIZE, spec.site().getOrDefault(BLOCK_SIZE, "128m"));
    long most = (long) (size / spec.datanodes() * SHARE);
    if (size > 0 && most < block && !spec.site().containsKey(CAPACITY)) {
      throw new ClusterException("--ram " + ram + " is too small: its file system has " + Sizes.format(size)
          + ", of which each of " + spec.datanodes() + " DataNodes may fill " + Sizes.format(most)
          + ", and a block has up to " + Sizes.format(block),
          "name a larger tmpfs, or set a smaller block size, such as -D " + BLOCK_SIZE + "=4m");
    }
  }

  private static void checkWritable(String option, Path folder) {
    if (!Aliases.isPlain(folder)) {
      throw new ClusterException(option + " " + folder + " has white space or a special character in it, which the "
          + "DataNodes' list of folders can't hold", "name another folder");
    }
    Path there = existing(folder);
    if (!Files.isDirectory(there) || !Files.isWritable(there)) {
      throw new ClusterException(option + " " + folder + " can't be used: " + there
          + (Files.isDirectory(there) ? " can't be written" : " is not a folder"), "name another folder");
    }
  }

  /** The folder, or what is there of the path to it. */
  private static Path existing(Path folder) {
    Path there = folder;
    while (!Files.exists(there)) {
      there = there.getParent();
    }
    return there;
  }

  /**
   * The value of dfs.datanode.data.dir for a DataNode.
   *
   * @param disk the URI of its folder in the cluster's
   */
  String value(DaemonId id, String disk) {
    String value = "[RAM_DISK]" + uri(ram(spec), id);
    if (spec.ssd() != null) {
      value += ",[SSD]" + uri(spec.ssd(), id);
    }
    return value + ",[DISK]" + disk;
  }

  private URI uri(Path folder, DaemonId id) {
    return URI.create("file://" + folder.resolve(name).resolve(id.toString()));
  }

  /** The cluster's own folder in the one that all nodes have. */
  Path shared() {
    return spec.shared().resolve(name);
  }

  /** Makes what DataNodes do not make by themselves, in place of what an earlier file system has left. */
  void makeAnew() throws IOException {
    delete();
    if (spec.shared() != null) {
      Files.createDirectories(shared());
    }
  }

  /** Bytes of the folder in RAM that each DataNode has; 0 if that is not known. */
  long capacity() {
    return existing(ram(spec)).toFile().getTotalSpace() / spec.datanodes();
  }

  /** Removes what the cluster has in them. */
  void delete() throws IOException {
    if (spec.mode() != null && spec.hasHdfs()) {
      ClusterDir.delete(ram(spec).resolve(name));
      if (spec.ssd() != null) {
        ClusterDir.delete(spec.ssd().resolve(name));
      }
    }
    if (spec.shared() != null) {
      ClusterDir.delete(shared());
    }
  }
}

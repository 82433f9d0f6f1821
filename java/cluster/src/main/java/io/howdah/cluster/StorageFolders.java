package io.howdah.cluster;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What a cluster in a mode has beside its own folder: for blocks one in RAM and perhaps one on an SSD, and one that all
 * nodes have. In each the cluster has one of its own, so that no two clusters and DataNodes share one.
 */
final class StorageFolders {
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

  /**
   * Checks that a mode's folders are fit for it.
   *
   * @throws ClusterException if they are not; nothing has been written
   */
  static void check(ClusterSpec spec) {
    checkShared(spec);
    if (!spec.isTiered()) {
      if (spec.isChanged("--ram") || spec.isChanged("--ssd")) {
        throw new ClusterException((spec.isChanged("--ram") ? "--ram" : "--ssd") + " is for a storage mode",
            "add --mode hhh");
      }
      if (!spec.hasHdfs() && !spec.yarn()) {
        throw new ClusterException("--mode " + spec.mode() + " has no HDFS, and --no-yarn leaves nothing to start",
            "leave out --no-yarn");
      }
      return;
    }
    checkRam(spec, spec.ram());
    if (spec.ssd() != null) {
      checkWritable("--ssd", spec.ssd());
    }
  }

  private static void checkShared(ClusterSpec spec) {
    boolean isNeeded = Modes.needsShared(spec.mode());
    Path shared = spec.shared();
    if (isNeeded && shared == null) {
      throw new ClusterException("--mode " + spec.mode() + " needs a folder for "
          + (spec.hasHdfs() ? "the copies of blocks" : "what jobs read and write"), "add --shared DIR");
    }
    if (shared != null && !isNeeded) {
      throw new ClusterException("--shared is for the mode hhh-l, lustre-local or lustre-only", "add --mode hhh-l");
    }
    if (shared != null) {
      checkWritable("--shared", shared);
    }
    // A start with the recorded folder leaves that to the DataNodes: the daemons that it needs may run already.
    if (spec.isShared() && spec.isChanged("--shared")) {
      long free = ClusterDir.freeBytes(existing(shared));
      long block = blockSize(spec);
      if (free < block) {
        throw new ClusterException("--shared " + shared + " is too full: its file system has " + Sizes.format(free)
            + " free, and the copy of a block may need " + Sizes.format(block),
            "make room, name another folder, or set a smaller block size, such as -D " + BLOCK_SIZE + "=4m");
      }
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
    long block = blockSize(spec);
    long most = (long) (size / spec.datanodes() * SHARE);
    if (size > 0 && most < block && !spec.site().containsKey(CAPACITY)) {
      throw new ClusterException("--ram " + ram + " is too small: its file system has " + Sizes.format(size)
          + ", of which each of " + spec.datanodes() + " DataNodes may fill " + Sizes.format(most)
          + ", and a block has up to " + Sizes.format(block),
          "name a larger tmpfs, or set a smaller block size, such as -D " + BLOCK_SIZE + "=4m");
    }
  }

  private static long blockSize(ClusterSpec spec) {
    String size = spec.site().get(BLOCK_SIZE);
    if (size == null && spec.conf() != null) {
      size = SiteFiles.read(spec.conf()).file("hdfs-site.xml").properties().get(BLOCK_SIZE);
    }
    return Sizes.parse(BLOCK_SIZE, size == null ? "128m" : size);
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
   * The value of dfs.datanode.data.dir for a DataNode, with folders in RAM and on SSD of a mode that the cluster left.
   *
   * @param disk the URI of its folder in the cluster's
   */
  String value(DaemonId id, String disk) {
    if (spec.ram() == null) {
      return disk;
    }
    String value = "[RAM_DISK]" + uri(spec.ram(), id);
    if (spec.ssd() != null) {
      value += ",[SSD]" + uri(spec.ssd(), id);
    }
    return value + ",[DISK]" + disk;
  }

  private URI uri(Path folder, DaemonId id) {
    return URI.create("file://" + own(folder).resolve(id.toString()));
  }

  /** The cluster's own folder in another one. */
  private Path own(Path folder) {
    return folder.resolve(name);
  }

  /** The cluster's own folder in the one that all nodes have. */
  Path shared() {
    return own(spec.shared());
  }

  /** Bytes of the folder in RAM that each DataNode has; 0 if that is not known. */
  long capacity() {
    return existing(spec.ram()).toFile().getTotalSpace() / spec.datanodes();
  }

  /** The cluster's own folders in RAM and on SSD. */
  Set<Path> local() {
    Set<Path> local = used();
    local.remove(spec.shared());
    return local.stream().map(this::own).collect(Collectors.toSet());
  }

  /** The folders that the cluster's own ones are in. */
  Set<Path> used() {
    Set<Path> used = new LinkedHashSet<>(Arrays.asList(spec.ram(), spec.ssd(), spec.shared()));
    used.remove(null);
    return used;
  }

  /** Adds folders that are not there yet to those that the cluster made. */
  void note(Collection<Path> folders) {
    for (Path folder : folders) {
      for (Path each = folder; !Files.exists(each); each = each.getParent()) {
        spec.made().add(each);
      }
    }
  }

  /** Makes folders, and in the shared one the cluster's own, which no DataNode makes by itself. */
  void make(Collection<Path> folders) throws IOException {
    for (Path folder : folders) {
      Files.createDirectories(folder.equals(spec.shared()) ? own(folder) : folder);
    }
  }

  /** Whether the cluster's own folder in this one has files of blocks. */
  boolean hasBlocks(Path folder) throws IOException {
    return !BlockFiles.in(own(folder)).isEmpty();
  }

  /** Removes what the cluster has in all of its folders. */
  void delete() throws IOException {
    delete(used());
    delete(spec.left());
  }

  /** Removes what the cluster has in these folders, and those of them that it made itself and that are empty then. */
  void delete(Collection<Path> folders) throws IOException {
    for (Path folder : folders) {
      ClusterDir.delete(own(folder));
      for (Path each = folder; spec.made().contains(each) && isEmpty(each); each = each.getParent()) {
        Files.delete(each);
      }
    }
  }

  private static boolean isEmpty(Path folder) throws IOException {
    if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    try (Stream<Path> entries = Files.list(folder)) {
      return !entries.findAny().isPresent();
    }
  }
}

package io.howdah.storage.shared;

import io.howdah.upgrade.Options;
import io.howdah.upgrade.Settings;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;

/** The settings of the storage modes that keep copies on a shared path. Immutable. */
public final class SharedSettings {
  /** File systems that only one node has. */
  private static final Set<String> LOCAL = Collections.unmodifiableSet(new HashSet<>(Arrays.asList("ext2", "ext3",
      "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "tmpfs", "ramfs", "overlay", "vfat", "zfs")));

  private static final int STRIPE_UNIT = 64 << 10;

  private final String text;
  private final boolean isLocalAllowed;
  private final int keepers;
  private final long timeout;
  private final boolean failsWrites;
  private final boolean isBehind;
  private final boolean isEachPacket;
  private final boolean isPersistingOnSync;
  private final boolean isSynced;
  private final long interval;
  private final long memberTimeout;
  private final int stripes;
  private final long stripeSize;
  private final double localShare;
  private final double localLow;

  private SharedSettings(Settings from) throws IOException {
    text = Options.SHARED_PATH.read(from);
    isLocalAllowed = Options.SHARED_LOCAL.read(from);
    keepers = Options.SHARED_KEEPERS.read(from);
    timeout = Options.SHARED_TIMEOUT.read(from);
    failsWrites = Options.SHARED_FAILURE.read(from).equals("fail");
    isBehind = Options.SHARED_WAIT.read(from).equals("async");
    isEachPacket = Options.SHARED_WAIT.read(from).equals("packet");
    isPersistingOnSync = Options.MEMORY_HSYNC.read(from).equals("persist");
    isSynced = Options.SHARED_SYNC.read(from);
    interval = Options.SHARED_INTERVAL.read(from);
    memberTimeout = Options.SHARED_MEMBER_TIMEOUT.read(from);
    stripes = Options.SHARED_STRIPES.read(from);
    stripeSize = Options.SHARED_STRIPE_SIZE.read(from);
    localShare = Options.SHARED_LOCAL_SHARE.read(from);
    localLow = Options.SHARED_LOCAL_LOW.read(from);
  }

  /**
   * Reads a configuration that asks for such a mode.
   *
   * @throws IOException if no path is named, or a value is not valid; the message is a sentence
   */
  public static SharedSettings of(Configuration conf) throws IOException {
    SharedSettings read = new SharedSettings(new HadoopSettings(conf));
    if (read.text == null || !read.path().isAbsolute()) {
      throw new IOException(Options.SHARED_PATH.key() + (read.text == null ? " is not set" : "=" + read.text
          + " is not an absolute path") + ": name a folder of a file system that all DataNodes have, such as Lustre");
    }
    if (read.stripeSize % STRIPE_UNIT != 0) {
      throw new IOException(Options.SHARED_STRIPE_SIZE.key() + "=" + read.stripeSize + " is not a multiple of "
          + STRIPE_UNIT + ", which Lustre wants");
    }
    if (read.localLow > read.localShare) {
      throw new IOException(Options.SHARED_LOCAL_LOW.key() + "=" + read.localLow + " is above "
          + Options.SHARED_LOCAL_SHARE.key() + "=" + read.localShare + ": set it below");
    }
    checkSync(read);
    return read;
  }

  /** What an hsync persisted has to last when the block ends, too. */
  private static void checkSync(SharedSettings read) throws IOException {
    String other = read.isBehind ? Options.SHARED_WAIT.key() + "=async" : !read.failsWrites
        ? Options.SHARED_FAILURE.key() + "=local" : !read.isSynced ? Options.SHARED_SYNC.key() + "=false" : null;
    if (read.isPersistingOnSync && other != null) {
      throw new IOException(Options.MEMORY_HSYNC.key() + "=persist with " + other + ": remove one of them, since a "
          + "block could end without a copy that lasts");
    }
  }

  /** The folder that all DataNodes have. */
  public Path path() {
    return Paths.get(text.startsWith("file:") ? URI.create(text.replace(" ", "%20")).getPath() : text);
  }

  /** How many DataNodes beside the owner serve the copy of a block. */
  public int keepers() {
    return keepers;
  }

  /** Milliseconds that a writer waits for the shared path. */
  public long timeout() {
    return timeout;
  }

  /** Whether a block fails that has no copy by then; else it is copied later. */
  public boolean failsWrites() {
    return failsWrites;
  }

  /** Whether copies are made after the end of a block was acknowledged. */
  public boolean isBehind() {
    return isBehind;
  }

  /** Whether what is acknowledged of a block is on the shared path while the block is being written. */
  public boolean isEachPacket() {
    return isEachPacket;
  }

  /** Whether an hsync waits until what there is of a block lasts on the shared path. */
  public boolean isPersistingOnSync() {
    return isPersistingOnSync;
  }

  /** Whether copies are forced to the servers of the shared path before they count. */
  public boolean isSynced() {
    return isSynced;
  }

  /** Milliseconds between two looks at what is to be copied, and at other DataNodes' lists. */
  public long interval() {
    return interval;
  }

  /** Milliseconds without a sign of life after which a DataNode counts as gone. */
  public long memberTimeout() {
    return memberTimeout;
  }

  /** Storage targets of Lustre that a copy lies on; 0: as the file system has it. */
  public int stripes() {
    return stripes;
  }

  /** Bytes of a copy on one storage target before the next; 0: as the file system has it. */
  public long stripeSize() {
    return stripeSize;
  }

  /** The share of a folder on SSD or disk above which cold replicas leave it for their copy. */
  public double localShare() {
    return localShare;
  }

  /** The share down to which they leave it. */
  public double localLow() {
    return localLow;
  }

  /**
   * Checks that the path is there, is shared, and takes files.
   *
   * @param room bytes that have to be free
   * @throws IOException if it is not fit, or does not answer in time; the message says why, and what to do
   */
  public void check(long room) throws IOException {
    try (SharedWait wait = new SharedWait("SharedSettings", 1, path(), timeout)) {
      wait.run(() -> {
        look(room);
        return null;
      });
    }
  }

  /**
   * Checks that the path is not in a DataNode's folder, which upstream scans, moves away and removes as its own.
   *
   * @throws IOException if it is; the message says what to do
   */
  public void checkApartFrom(Path folder) throws IOException {
    if (path().normalize().startsWith(folder.toAbsolutePath().normalize())) {
      throw new IOException(Options.SHARED_PATH.key() + "=" + path() + " is in " + folder
          + " of dfs.datanode.data.dir, which one DataNode has for itself: name a folder outside of it");
    }
  }

  private void look(long room) throws IOException {
    Path path = path();
    String name = Options.SHARED_PATH.key() + "=" + path;
    if (!Files.isDirectory(path)) {
      throw new IOException(name + " is not a folder: mount the shared file system, or make the folder");
    }
    FileStore store = Files.getFileStore(path);
    if (!isLocalAllowed && LOCAL.contains(store.type())) {
      throw new IOException(name + " is on " + store.type() + ", which only this node has: name a folder of a shared "
          + "file system, or set " + Options.SHARED_LOCAL.key() + "=true if all DataNodes are on this node");
    }
    File probe = path.resolve("howdah-probe-" + UUID.randomUUID()).toFile();
    try (FileChannel channel = FileChannel.open(probe.toPath(), StandardOpenOption.CREATE_NEW,
        StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE)) {
      channel.force(true);
    } catch (IOException e) {
      throw new IOException(name + refusal(e, store.isReadOnly()), e);
    }
    if (store.getUsableSpace() < room) {
      throw new IOException(name + " has " + store.getUsableSpace() + " bytes free, and a block may need " + room
          + ": make room, or name another folder");
    }
  }

  /** Why a path takes no files, and what to do. */
  static String refusal(IOException e, boolean isReadOnly) {
    return isReadOnly || String.valueOf(e.getMessage()).contains("Read-only file system")
        ? " is on a file system that is mounted read-only here: mount it to be written to"
        : " takes no files (" + e + "): let the DataNode's user write there";
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.TierSettings;
import io.howdah.upgrade.Options;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.server.common.Storage;

/** A folder that a DataNode is told to keep replicas in RAM in. */
final class RamFolder {
  private final Path folder;

  /** What a folder in RAM has to fit. */
  static final class Limits {
    private final TierSettings settings;
    private final long blockSize;

    Limits(TierSettings settings, Configuration conf) {
      this.settings = settings;
      this.blockSize = conf.getLongBytes(DFSConfigKeys.DFS_BLOCK_SIZE_KEY, DFSConfigKeys.DFS_BLOCK_SIZE_DEFAULT);
    }
  }

  RamFolder(File folder) {
    this.folder = folder.toPath().toAbsolutePath();
  }

  /**
   * Checks that the folder is in RAM, has room for a block, and is no other DataNode's.
   *
   * @throws IOException if it is not fit; the message says why, and what to do
   */
  void check(Limits limits) throws IOException {
    Path there = folder;
    while (!Files.exists(there)) {
      there = there.getParent();
    }
    FileStore store = Files.getFileStore(there);
    if (!store.type().equals("tmpfs") && !store.type().equals("ramfs")) {
      throw new IOException("[RAM_DISK]" + folder + " of dfs.datanode.data.dir is on " + store.type()
          + ", not in RAM: name a folder on a tmpfs, such as one below /dev/shm, or tag it [SSD] or [DISK]");
    }
    checkSize(store.getTotalSpace(), limits);
    if (isLocked()) {
      throw new IOException(this + " is used by another DataNode, which has locked it: name a folder that only this "
          + "one has");
    }
  }

  /** A ramfs has no size. */
  private void checkSize(long size, Limits limits) throws IOException {
    long capacity = limits.settings.memoryCapacity();
    if (capacity > size && size > 0) {
      throw new IOException(Options.MEMORY_CAPACITY.key() + "=" + capacity + " is more than the " + size
          + " bytes of the file system of " + this + ": set it lower, or mount the tmpfs with a larger size");
    }
    long most = (long) ((capacity > 0 ? capacity : size) * limits.settings.memoryShare());
    if (most > 0 && most < limits.blockSize) {
      throw new IOException(this + " is too small: blocks may fill " + most + " bytes of it, and a block has up to "
          + limits.blockSize + " (" + DFSConfigKeys.DFS_BLOCK_SIZE_KEY + "): mount the tmpfs with a larger size, raise "
          + (capacity > 0 ? Options.MEMORY_CAPACITY : Options.MEMORY_SHARE).key() + ", or set a smaller block size");
    }
  }

  /**
   * Whether another process has locked the folder, as DataNodes do. The lock of this process itself is not looked at:
   * closing the file would give it up.
   */
  private boolean isLocked() throws IOException {
    Path file = folder.resolve(Storage.STORAGE_FILE_LOCK);
    if (!Files.exists(file)) {
      return false;
    }
    String owner = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    if (owner.startsWith(ManagementFactory.getRuntimeMXBean().getName())) {
      return false;
    }
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE); FileLock lock = channel.tryLock()) {
      return lock == null;
    }
  }

  @Override
  public String toString() {
    return "[RAM_DISK]" + folder + " of dfs.datanode.data.dir";
  }
}

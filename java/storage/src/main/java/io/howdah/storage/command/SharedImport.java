package io.howdah.storage.command;

import io.howdah.storage.BlockIds;
import io.howdah.storage.StorageMode;
import io.howdah.storage.shared.SharedBlock;
import io.howdah.storage.shared.SharedFolder;
import io.howdah.storage.shared.SharedListReader;
import io.howdah.storage.shared.SharedSettings;
import io.howdah.upgrade.Options;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DatanodeUtil;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;

/**
 * Copies what a DataNode that does not run has on the shared path only to its folders. These are locked meanwhile, as a
 * DataNode locks them.
 */
final class SharedImport {
  private static final Pattern BLOCK = Pattern.compile("blk_(" + BlockIds.REGEX + ")");
  /** The list of replicas that a DataNode leaves when it ends, and trusts for some minutes when it starts. */
  private static final String REPLICAS = "replicas";

  private final Configuration conf;
  private final SharedSettings settings;
  private final PrintStream out;
  private final List<Path> folders = new ArrayList<>();
  private final List<Path> persistent = new ArrayList<>();

  /** For the DataNode of a configuration. */
  SharedImport(Configuration conf, PrintStream out) throws IOException {
    this.conf = conf;
    this.out = out;
    settings = settings(conf);
    for (StorageLocation location : DataNode.getStorageLocations(conf)) {
      Path folder = location.getFile().toPath();
      if (Files.isDirectory(folder.resolve("current"))) {
        folders.add(folder);
        if (location.getStorageType() != StorageType.RAM_DISK) {
          persistent.add(folder);
        }
      }
    }
  }

  /**
   * The settings of the shared path, whatever the mode: files may be there after the mode was left.
   *
   * @throws IOException if there is none
   */
  static SharedSettings settings(Configuration conf) throws IOException {
    String mode = Options.STORAGE_MODE.key();
    String name = conf.getTrimmed(mode, "");
    if (conf.getTrimmed(Options.SHARED_PATH.key(), "").isEmpty() && !StorageMode.isShared(conf)) {
      throw new IOException("the cluster is not in the storage mode HHH-L ("
          + (name.isEmpty() ? mode + " is not set" : mode + "=" + name) + "), and has no shared path");
    }
    return SharedSettings.of(conf);
  }

  /**
   * Copies.
   *
   * @return how many blocks could not be copied
   * @throws IOException if there is no DataNode that has ended, or the shared path is not there
   */
  int run() throws IOException {
    if (persistent.isEmpty()) {
      throw new IOException("dfs.datanode.data.dir=" + conf.get("dfs.datanode.data.dir") + " has no folder on SSD or "
          + "disk that a DataNode has used: run this with the DataNode's configuration");
    }
    if (!Files.isDirectory(settings.path())) {
      throw new IOException(settings.path() + " is not a folder on this node: mount the shared file system");
    }
    List<Closeable> locks = new ArrayList<>();
    try {
      for (Path folder : folders) {
        locks.add(lock(folder));
      }
      String uuid = uuid();
      int failed = 0;
      for (String pool : pools()) {
        failed += copy(uuid, pool);
      }
      return failed;
    } finally {
      for (Closeable lock : locks) {
        lock.close();
      }
    }
  }

  private static Closeable lock(Path folder) throws IOException {
    FileChannel channel = FileChannel.open(folder.resolve("in_use.lock"), StandardOpenOption.CREATE,
        StandardOpenOption.WRITE);
    FileLock lock = null;
    try {
      lock = channel.tryLock();
    } catch (OverlappingFileLockException e) {
      lock = null; // a DataNode in this process
    } finally {
      if (lock == null) {
        channel.close();
      }
    }
    if (lock == null) {
      throw new IOException(folder + " is used by a DataNode: stop it first");
    }
    return channel;
  }

  private String uuid() throws IOException {
    Properties version = new Properties();
    try (InputStream in = Files.newInputStream(persistent.get(0).resolve("current/VERSION"))) {
      version.load(in);
    }
    String uuid = version.getProperty("datanodeUuid");
    if (uuid == null) {
      throw new IOException(persistent.get(0) + " is no DataNode's folder: its current/VERSION has no datanodeUuid");
    }
    return uuid;
  }

  private Set<String> pools() throws IOException {
    Set<String> pools = new TreeSet<>();
    for (Path folder : persistent) {
      try (DirectoryStream<Path> found = Files.newDirectoryStream(folder.resolve("current"), "BP-*")) {
        found.forEach(pool -> pools.add(pool.getFileName().toString()));
      }
    }
    return pools;
  }

  private int copy(String uuid, String pool) throws IOException {
    SharedFolder shared = new SharedFolder(settings.path(), pool, uuid, true);
    SharedListReader list = new SharedListReader(shared.list());
    list.read();
    Set<Long> local = local(pool);
    int copied = 0;
    int failed = 0;
    for (SharedBlock block : list.blocks().values()) {
      if (!local.contains(block.id())) {
        try {
          copy(shared, block, pool);
          copied++;
        } catch (IOException e) {
          failed++;
          out.println("not copied: " + block + ": " + e.getMessage());
        }
      }
    }
    out.printf("%s: %s copied to this DataNode's folders, %d already there, %d could not be copied%n", pool,
        Words.count(copied, "block"), list.blocks().size() - copied - failed, failed);
    return failed;
  }

  /** The blocks that the DataNode finds in its folders. */
  private Set<Long> local(String pool) throws IOException {
    Set<Long> ids = new HashSet<>();
    for (Path folder : folders) {
      Path replicas = current(folder, pool);
      if (!Files.isDirectory(replicas)) {
        continue;
      }
      List<Path> files;
      try (Stream<Path> all = Files.walk(replicas)) {
        files = all.collect(Collectors.toList());
      }
      for (Path file : files) {
        Matcher name = BLOCK.matcher(file.getFileName().toString());
        Long id = name.matches() ? BlockIds.parse(name.group(1)) : null;
        if (id != null) {
          ids.add(id);
        }
      }
    }
    return ids;
  }

  private static Path current(Path folder, String pool) {
    return folder.resolve("current").resolve(pool).resolve("current");
  }

  private void copy(SharedFolder shared, SharedBlock block, String pool) throws IOException {
    Path roomiest = null;
    long room = 0;
    for (Path folder : persistent) {
      if (Files.isDirectory(current(folder, pool))) {
        long usable = Files.getFileStore(folder).getUsableSpace();
        if (roomiest == null || usable > room) {
          roomiest = folder;
          room = usable;
        }
      }
    }
    if (roomiest == null || room < block.length() + block.length() / 100) {
      throw new IOException("no folder on SSD or disk has room");
    }
    Path current = current(roomiest, pool);
    Path tmp = Files.createDirectories(current.resolveSibling("tmp"));
    Path target = DatanodeUtil.idToBlockDir(current.resolve("finalized").toFile(), block.id()).toPath();
    shared.copyTo(block, tmp, Files.createDirectories(target));
    Files.deleteIfExists(current.resolve(REPLICAS));
  }
}

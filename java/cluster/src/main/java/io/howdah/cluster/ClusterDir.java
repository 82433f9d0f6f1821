package io.howdah.cluster;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * A cluster's folder: configuration, data, logs, pid records, and the record file that marks it as ours. Nothing
 * outside the names below is ever touched, and nothing at all in a folder without the record.
 */
final class ClusterDir {
  private static final String RECORD = "cluster.properties";
  private static final List<String> OURS =
      Collections.unmodifiableList(Arrays.asList("conf", "data", "logs", "run"));
  private static final String PORT = "port.";

  private final Path root;

  ClusterDir(Path root) {
    this.root = root.toAbsolutePath().normalize();
  }

  Path root() {
    return root;
  }

  /** Site files for clients; a daemon's own are in a folder of its name beside them. */
  Path conf() {
    return root.resolve("conf");
  }

  Path conf(DaemonId id) {
    return conf().resolve(id.toString());
  }

  Path data() {
    return root.resolve("data");
  }

  Path logs() {
    return root.resolve("logs");
  }

  Path log(DaemonId id) {
    return logs().resolve(id + ".log");
  }

  /** Pid records and the like: what has a meaning only while the cluster runs. */
  Path run() {
    return root.resolve("run");
  }

  Path pid(DaemonId id) {
    return run().resolve(id + ".pid");
  }

  /** Exists once the NameNode's folder has been formatted to the end. */
  Path formatted() {
    return data().resolve("formatted");
  }

  /** Whether there is a file system, or what stands for it, that an earlier start made. */
  boolean hasData() {
    return exists() && Files.exists(formatted());
  }

  /** Exists once the new file system has the folders that users expect. */
  Path furnished() {
    return data().resolve("furnished");
  }

  boolean exists() {
    return Files.isRegularFile(root.resolve(RECORD));
  }

  /** Fails unless the folder is a cluster's, does not exist, or is empty. */
  void refuseForeign() {
    if (exists() || !Files.exists(root)) {
      return;
    }
    if (!Files.isDirectory(root)) {
      throw new ClusterException(root + " is not a folder", "choose another with --dir");
    }
    try (Stream<Path> entries = Files.list(root)) {
      if (entries.findAny().isPresent()) {
        throw new ClusterException(root + " has files in it that no howdah cluster made; nothing was touched",
            "choose an empty or new folder with --dir");
      }
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  /** Makes the folders, and the record if there is none. */
  void create() {
    try {
      Files.createDirectories(root);
      for (String name : OURS) {
        Files.createDirectories(root.resolve(name));
      }
      // Bytes must really fit: a full disk lets folders and empty files be made.
      Path probe = run().resolve("probe");
      Files.write(probe, new byte[1 << 16]);
      Files.delete(probe);
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  /** Removes what {@link #create} made, if there is no record: a folder that has that alone is refused as foreign. */
  void discardUnused() throws IOException {
    if (exists()) {
      return;
    }
    for (String name : OURS) {
      delete(root.resolve(name));
    }
  }

  private ClusterException unwritable(IOException e) {
    return new ClusterException("the cluster's folder " + root + " can't be written: " + reason(e),
        "make room or change its permissions, or choose another folder with --dir");
  }

  /** An exception of the file system's in words: its message alone is often just a path. */
  static String reason(IOException e) {
    if (e instanceof java.nio.file.AccessDeniedException) {
      return "permission denied for " + e.getMessage();
    }
    if (e instanceof java.nio.file.FileAlreadyExistsException || e instanceof java.nio.file.NotDirectoryException) {
      return e.getMessage() + " is not a folder";
    }
    return e.getMessage();
  }

  /** Free bytes where the folder is. */
  long freeBytes() {
    return freeBytes(root);
  }

  /** Free bytes where an existing folder is. Not by its FileStore: a chroot's root is in no table of mounts. */
  static long freeBytes(Path folder) {
    return folder.toFile().getUsableSpace();
  }

  /**
   * Removes what a cluster made here, and nothing else. The record goes last, so that an interrupted wipe can go on.
   */
  void wipe() {
    if (!exists()) {
      return;
    }
    try {
      StorageFolders.of(readRecord()).delete();
      for (String name : OURS) {
        delete(root.resolve(name));
      }
      Files.delete(root.resolve(RECORD));
    } catch (IOException e) {
      throw new ClusterException("the old cluster in " + root + " can't be removed: " + reason(e));
    }
  }

  /** Removes a folder and what is in it; a symbolic link is removed, not followed. */
  static void delete(Path path) throws IOException {
    if (Files.isDirectory(path, java.nio.file.LinkOption.NOFOLLOW_LINKS)) {
      try (Stream<Path> entries = Files.list(path)) {
        for (Path entry : (Iterable<Path>) entries::iterator) {
          delete(entry);
        }
      }
    }
    Files.deleteIfExists(path);
  }

  /** The record of an earlier start; empty if there is none. */
  Properties readRecord() {
    Properties record = new Properties();
    if (exists()) {
      try (InputStream in = Files.newInputStream(root.resolve(RECORD))) {
        record.load(in);
        ClusterSpec.load(record);
      } catch (IOException | IllegalArgumentException e) {
        throw new ClusterException("the cluster's record " + root.resolve(RECORD) + " can't be used: " + e.getMessage(),
            "restore it, or begin anew in another folder with --dir");
      }
    }
    return record;
  }

  static Map<String, Integer> ports(Properties record) {
    Map<String, Integer> ports = new TreeMap<>();
    for (String name : record.stringPropertyNames()) {
      if (name.startsWith(PORT)) {
        ports.put(name.substring(PORT.length()), Integer.valueOf(record.getProperty(name)));
      }
    }
    return ports;
  }

  /** Writes the record in one step, so that it is never half there. */
  void writeRecord(ClusterSpec spec, Ports ports, String id) {
    Properties record = new Properties();
    record.setProperty("id", id);
    spec.save(record);
    ports.asMap().forEach((name, port) -> record.setProperty(PORT + name, Integer.toString(port)));
    Path fresh = root.resolve(RECORD + ".new");
    try {
      try (OutputStream out = Files.newOutputStream(fresh)) {
        record.store(out, "A local cluster made by `howdah cluster start`. This file marks the folder as its own.");
      }
      Files.move(fresh, root.resolve(RECORD), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  /** The name that every process of the cluster carries in its environment. */
  static String id(Properties record) {
    return record.getProperty("id", UUID.randomUUID().toString());
  }

  /** Keeps other commands from changing the cluster until closed. */
  FileChannel lock() {
    try {
      FileChannel channel = FileChannel.open(run().resolve("lock"),
          StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      FileLock lock = tryLock(channel);
      if (lock == null) {
        channel.close();
        throw new ClusterException("another howdah command is starting or stopping the cluster in " + root,
            "wait until it has finished");
      }
      return channel;
    } catch (IOException e) {
      throw unwritable(e);
    }
  }

  private static FileLock tryLock(FileChannel channel) throws IOException {
    try {
      return channel.tryLock();
    } catch (OverlappingFileLockException e) {
      return null;
    }
  }
}

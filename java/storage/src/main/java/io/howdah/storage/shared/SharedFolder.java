package io.howdah.storage.shared;

import io.howdah.storage.BlockSums;
import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.DatanodeUtil;

/**
 * What one DataNode has of a block pool on the shared path: {@code PATH/POOL/UUID/{list,doubts,finalized,open,tmp}}.
 * Only that DataNode writes there. Files are for the user of the DataNodes alone. Thread-safe but where it says
 * otherwise.
 */
public final class SharedFolder {
  private static final int PIECE = 1 << 20;
  /** Bytes after which those of a growing copy are forced to the servers, so that its end waits for few. */
  private static final int UNFORCED = 32 << 20;
  /** The longest checksum of a chunk: the last one of a meta file changes while its chunk grows. */
  private static final int LAST_CHECKSUM = 8;

  private final Path folder;
  private final boolean isSynced;
  private final AtomicLong staged = new AtomicLong();
  /** The meta files of blocks of which an hsync has left what they had then, by id. */
  private final ConcurrentHashMap<Long, Path> opened = new ConcurrentHashMap<>();

  /** The folder of a DataNode, which need not be there. */
  public SharedFolder(Path path, String pool, String uuid, boolean isSynced) {
    this.folder = pool(path, pool).resolve(uuid);
    this.isSynced = isSynced;
  }

  static Path pool(Path path, String pool) {
    return path.resolve(pool);
  }

  /** Makes the folders. */
  public void create() throws IOException {
    for (Path each : new Path[] {finalized(), open(), tmp()}) {
      Files.createDirectories(each, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }
  }

  /** The list of the blocks. */
  public Path list() {
    return folder.resolve("list");
  }

  /** What it says of other DataNodes' copies. */
  Path doubts() {
    return folder.resolve("doubts");
  }

  /** The folder in which copies begin. */
  public Path tmp() {
    return folder.resolve("tmp");
  }

  Path folder() {
    return folder;
  }

  Path finalized() {
    return folder.resolve("finalized");
  }

  /** The folder of what an hsync has left of blocks that are being written. */
  Path open() {
    return folder.resolve("open");
  }

  /** The folder of a block's files. */
  public File of(long id) {
    return DatanodeUtil.idToBlockDir(finalized().toFile(), id);
  }

  private Path data(long id) {
    return of(id).toPath().resolve(Block.BLOCK_FILE_PREFIX + id);
  }

  private Path meta(SharedBlock block) {
    return of(block.id()).toPath().resolve(metaName(block));
  }

  private static String metaName(SharedBlock block) {
    return DatanodeUtil.getMetaName(Block.BLOCK_FILE_PREFIX + block.id(), block.stamp());
  }

  /** A copy of a block that is being made. Used by one thread at a time. Closed, it removes what is not in place. */
  public final class Staged implements Closeable {
    private final long id;
    private final Path meta;
    private Path data;
    private FileChannel out;
    private long position;
    private long metaPosition;
    private long forced;
    private boolean isLasting;

    private Staged(long id) {
      this.id = id;
      String name = Block.BLOCK_FILE_PREFIX + id + "." + staged.incrementAndGet();
      data = tmp().resolve(name);
      meta = tmp().resolve(name + ".meta");
    }

    /** Copies what a block's file has, from where the last call ended up to a length that it has reached. */
    public void follow(File file, long length) throws IOException {
      if (length <= position) {
        return;
      }
      if (out == null) {
        out = open(data);
      }
      try (FileChannel in = FileChannel.open(file.toPath())) {
        position += copy(in, position, length, out);
      }
      if (isSynced && position - forced >= UNFORCED) {
        out.force(false);
        forced = position;
      }
    }

    /**
     * Copies what a block's files have that is not written to meanwhile, and makes that last. It stays when this is
     * closed, until the block has its copy or is deleted.
     */
    public void sync(long stamp, File file, File metaFile, long length) throws IOException {
      follow(file, length);
      Path now = isLasting ? openMeta(id, stamp) : meta;
      long from = Math.max(0, metaPosition - LAST_CHECKSUM);
      try (FileChannel in = FileChannel.open(metaFile.toPath());
          FileChannel copy = FileChannel.open(now, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        copy.position(from);
        metaPosition = from + copy(in, from, Long.MAX_VALUE, copy);
        copy.force(false);
      }
      out.force(false);
      if (!isLasting) {
        Path old = opened.put(id, openMeta(id, stamp));
        Files.move(data, openData(id), StandardCopyOption.ATOMIC_MOVE);
        data = openData(id);
        Files.move(meta, openMeta(id, stamp), StandardCopyOption.ATOMIC_MOVE);
        isLasting = true;
        if (old != null && !old.equals(openMeta(id, stamp))) {
          Files.deleteIfExists(old);
        }
        SharedFolder.sync(open());
      }
    }

    /**
     * Copies the rest of a block whose files are complete, though they may be removed or grow meanwhile.
     *
     * @throws IOException if files cannot be read or written, or have another length
     */
    public void complete(SharedBlock block, File file, File metaFile) throws IOException {
      if (position > block.length()) {
        out.truncate(block.length()); // it was recovered, to what all have of it
        position = block.length();
      }
      if (out == null) {
        out = open(data);
      }
      long copiedMeta;
      try (FileChannel in = FileChannel.open(file.toPath())) {
        position += copy(in, position, block.length(), out);
      }
      force(out);
      out.close();
      try (FileChannel in = FileChannel.open(metaFile.toPath()); FileChannel copy = open(meta)) {
        copiedMeta = copy(in, 0, Long.MAX_VALUE, copy);
        force(copy);
      }
      if (position != block.length() || copiedMeta == 0) {
        throw new IOException(file + " has " + position + " bytes and " + metaFile + " has " + copiedMeta
            + ", not those of " + block);
      }
    }

    /**
     * Takes the place of an older copy. Not at the same time as another one of the same block.
     *
     * @throws InterruptedIOException if the thread was interrupted: nobody waits for it, and there may be a newer copy
     */
    public void place(SharedBlock block) throws IOException {
      if (Thread.currentThread().isInterrupted()) {
        throw new InterruptedIOException("the copy of " + block + " came too late");
      }
      make(of(id).toPath());
      // A block file without its meta file is nothing, so that one comes first.
      Files.move(meta, meta(block), StandardCopyOption.ATOMIC_MOVE);
      Files.move(data, data(id), StandardCopyOption.ATOMIC_MOVE);
      if (isSynced) {
        SharedFolder.sync(of(id).toPath());
      }
      removeOpen(id);
    }

    @Override
    public void close() throws IOException {
      if (out != null) {
        out.close();
      }
      if (!isLasting) {
        Files.deleteIfExists(data);
      }
      Files.deleteIfExists(meta);
    }
  }

  /** Makes the folder of a block, but none above those of blocks, which are missing where the path is not mounted. */
  private static void make(Path blocks) throws IOException {
    for (Path each : new Path[] {blocks.getParent(), blocks}) {
      if (!Files.isDirectory(each)) {
        try {
          Files.createDirectory(each);
        } catch (FileAlreadyExistsException e) {
          continue; // by another thread, for another block
        }
      }
    }
  }

  private Path openData(long id) {
    return open().resolve(Block.BLOCK_FILE_PREFIX + id);
  }

  private Path openMeta(long id, long stamp) {
    return open().resolve(DatanodeUtil.getMetaName(Block.BLOCK_FILE_PREFIX + id, stamp));
  }

  /** Whether an hsync has left something of a block that has no copy since. */
  public boolean hasOpen(long id) {
    return opened.containsKey(id);
  }

  /** Removes what an hsync has left of a block. */
  public void removeOpen(long id) throws IOException {
    Path openMeta = opened.get(id);
    if (openMeta != null) {
      Files.deleteIfExists(openMeta);
      Files.deleteIfExists(openData(id));
      opened.remove(id);
    }
  }

  /** A block that is being written goes on with another generation stamp, after a recovery. */
  public void restamp(long id, long stamp) throws IOException {
    Path old = opened.get(id);
    if (old != null && !old.equals(openMeta(id, stamp))) {
      Files.move(old, openMeta(id, stamp), StandardCopyOption.ATOMIC_MOVE);
      opened.put(id, openMeta(id, stamp));
      sync(open());
    }
  }

  /**
   * What an hsync has left of blocks when a DataNode starts: the meta files, beside which the data is. What is older
   * than a copy is removed, and what lacks one of both files.
   */
  public List<Path> findOpen(Map<Long, SharedBlock> copies) throws IOException {
    Map<Long, Path> found = new HashMap<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(open())) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        if (Block.isMetaFilename(name)) {
          found.merge(Block.getBlockId(name), file, (one, other) ->
              stamp(one) > stamp(other) ? one : other);
        }
      }
    }
    found.values().removeIf(file -> isOutdated(file, copies));
    try (DirectoryStream<Path> files = Files.newDirectoryStream(open())) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        boolean isWanted = Block.isMetaFilename(name) ? found.containsValue(file)
            : Block.isBlockFilename(file.toFile()) && found.containsKey(Block.filename2id(name));
        if (!isWanted) {
          Files.delete(file);
        }
      }
    }
    opened.putAll(found);
    return new ArrayList<>(found.values());
  }

  private static long stamp(Path meta) {
    return Block.getGenerationStamp(meta.getFileName().toString());
  }

  private boolean isOutdated(Path meta, Map<Long, SharedBlock> copies) {
    long id = Block.getBlockId(meta.getFileName().toString());
    SharedBlock copy = copies.get(id);
    return copy != null && copy.stamp() >= stamp(meta) || !Files.exists(openData(id));
  }

  /** Begins a copy of a block; nothing is written yet. */
  public Staged stage(long id) {
    return new Staged(id);
  }

  private static FileChannel open(Path file) throws IOException {
    return FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
  }

  private void force(FileChannel channel) throws IOException {
    if (isSynced) {
      channel.force(false);
    }
  }

  /** Copies a file from a position up to a length, as far as it has that. */
  private static long copy(FileChannel in, long from, long to, FileChannel out) throws IOException {
    ByteBuffer piece = ByteBuffer.allocateDirect((int) Math.max(0, Math.min(PIECE, to - from)));
    long copied = 0;
    while (from + copied < to) {
      piece.clear().limit((int) Math.min(PIECE, to - from - copied));
      if (in.read(piece, from + copied) < 0) {
        break;
      }
      piece.flip();
      while (piece.hasRemaining()) {
        copied += out.write(piece);
      }
    }
    return copied;
  }

  private static void sync(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder)) {
      channel.force(true);
    }
  }

  /** Removes a block's files; those that are gone do not matter. */
  public void remove(SharedBlock block) throws IOException {
    Files.deleteIfExists(data(block.id()));
    Files.deleteIfExists(meta(block));
  }

  /** Removes the meta file that an older copy of a block had. */
  public void removeOld(SharedBlock old) throws IOException {
    Files.deleteIfExists(meta(old));
  }

  /** Whether a block's files are there. */
  public boolean has(SharedBlock block) {
    return Files.exists(data(block.id())) && Files.exists(meta(block));
  }

  /** Whether a block's files are there, and its data has the length that it is to have. */
  public boolean isWhole(SharedBlock block) throws IOException {
    return has(block) && Files.size(data(block.id())) == block.length();
  }

  /** Whether a block's data has the checksums of its meta file. Reads all of it. */
  public boolean isSound(SharedBlock block) throws IOException {
    return BlockSums.areRight(data(block.id()), meta(block), block.length());
  }

  /**
   * Copies a block's files to a local folder, and makes that last. The block file comes last, and gets its name when it
   * is complete.
   *
   * @param tmp a folder of the same file system
   * @throws IOException if the copy is not whole, or files cannot be read or written
   */
  public void copyTo(SharedBlock block, Path tmp, Path target) throws IOException {
    if (!isWhole(block)) {
      throw new IOException("the copy of " + block + " in " + folder + " is not whole");
    }
    for (Path file : new Path[] {meta(block), data(block.id())}) {
      Path part = tmp.resolve(file.getFileName() + ".import");
      try (FileChannel in = FileChannel.open(file); FileChannel out = FileChannel.open(part, StandardOpenOption.CREATE,
          StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
        copy(in, 0, Long.MAX_VALUE, out);
        out.force(true);
      }
      Files.move(part, target.resolve(file.getFileName()), StandardCopyOption.ATOMIC_MOVE);
    }
    sync(target);
  }

  /** Removes what a DataNode that ended left unfinished. */
  public void clean() throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(tmp())) {
      for (Path file : files) {
        Files.deleteIfExists(file);
      }
    } catch (NoSuchFileException e) {
      return; // nothing was ever copied
    }
  }

  /** The DataNodes, by uuid, that have a folder of a block pool. */
  public static Set<String> owners(Path path, String pool) throws IOException {
    Set<String> names = new HashSet<>();
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(pool(path, pool))) {
      for (Path each : folders) {
        String name = each.getFileName().toString();
        if (!name.startsWith(".")) { // else it is being removed
          names.add(name);
        }
      }
    } catch (NoSuchFileException e) {
      return names;
    }
    names.remove(Members.FOLDER);
    return names;
  }

  @Override
  public String toString() {
    return folder.toString();
  }
}

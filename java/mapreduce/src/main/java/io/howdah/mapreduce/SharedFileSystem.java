package io.howdah.mapreduce;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.GroupPrincipal;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/**
 * A path that all nodes have, as Lustre, in place of HDFS: {@code shared:///} is the node's {@code /}. It is stock's
 * raw local file system, but reads and sets owners and permissions without a process for each, has no .crc files,
 * syncs when it is asked to, and renames at once or not at all.
 */
public final class SharedFileSystem extends RawLocalFileSystem {
  static final URI NAME = URI.create("shared:///");
  private static final int BUFFER_LEAST = 512 << 10;
  private static final int STICKY = 01000;

  /** As FileSystem makes it. */
  public SharedFileSystem() {
  }

  @Override
  public URI getUri() {
    return NAME;
  }

  @Override
  public String getScheme() {
    return NAME.getScheme();
  }

  private java.nio.file.Path nio(Path path) {
    return pathToFile(path).toPath();
  }

  private static IOException explained(FileSystemException cause, Path path) {
    if (!(cause instanceof NoSuchFileException)) {
      return cause;
    }
    IOException absent = new FileNotFoundException("File " + path + " does not exist");
    absent.initCause(cause);
    return absent;
  }

  // Status.

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    return status(path);
  }

  private FileStatus status(Path path, LinkOption... options) throws IOException {
    java.nio.file.Path file = nio(path);
    try {
      PosixFileAttributes is = Files.readAttributes(file, PosixFileAttributes.class, options);
      int sticky = is.isDirectory() && !is.isSymbolicLink() && isSticky(file) ? STICKY : 0;
      return new FileStatus(is.isDirectory() ? 0 : is.size(), is.isDirectory(), 1, getDefaultBlockSize(path),
          is.lastModifiedTime().toMillis(), is.lastAccessTime().toMillis(),
          new FsPermission((short) (bits(is.permissions()) | sticky)), is.owner().getName(), is.group().getName(),
          is.isSymbolicLink() ? new Path(Files.readSymbolicLink(file).toString()) : null, path.makeQualified(NAME,
          getWorkingDirectory()));
    } catch (FileSystemException e) {
      throw explained(e, path);
    }
  }

  private static boolean isSticky(java.nio.file.Path folder) throws IOException {
    return ((Integer) Files.getAttribute(folder, "unix:mode") & STICKY) != 0;
  }

  private static int bits(Set<PosixFilePermission> permissions) {
    int bits = 0;
    for (PosixFilePermission permission : permissions) {
      bits |= 0400 >> permission.ordinal();
    }
    return bits;
  }

  @Override
  public FileStatus getFileLinkStatus(Path path) throws IOException {
    return status(path, LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    FileStatus own = getFileStatus(path);
    if (!own.isDirectory()) {
      return new FileStatus[] {own};
    }
    String[] names = pathToFile(path).list();
    if (names == null) {
      throw new IOException("Folder " + path + " can't be listed");
    }
    List<FileStatus> found = new ArrayList<>(names.length);
    for (String name : names) {
      Path child = new Path(path, new Path(null, null, name));
      try {
        found.add(getFileStatus(child));
      } catch (FileNotFoundException e) { // a link that leads nowhere, or gone by now
        LOG.debug("not listed: " + child, e);
      }
    }
    return found.toArray(new FileStatus[0]);
  }

  /** One location on no host: every node is as near as any other. Stock says "localhost", which no node is. */
  @Override
  public BlockLocation[] getFileBlockLocations(FileStatus file, long start, long length) throws IOException {
    BlockLocation[] stock = super.getFileBlockLocations(file, start, length);
    for (int i = 0; stock != null && i < stock.length; i++) {
      stock[i] = new BlockLocation(new String[0], new String[0], stock[i].getOffset(), stock[i].getLength());
    }
    return stock;
  }

  // Owners and permissions.

  @Override
  public void setPermission(Path path, FsPermission permission) throws IOException {
    java.nio.file.Path file = nio(path);
    try {
      if (permission.getStickyBit() || Files.isDirectory(file) && isSticky(file)) {
        super.setPermission(path, permission); // Java knows no sticky bit
      } else {
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(symbols(permission)));
      }
    } catch (FileSystemException e) {
      throw explained(e, path);
    }
  }

  private static String symbols(FsPermission permission) {
    return permission.getUserAction().SYMBOL + permission.getGroupAction().SYMBOL
        + permission.getOtherAction().SYMBOL;
  }

  @Override
  public void setOwner(Path path, String user, String group) throws IOException {
    java.nio.file.Path file = nio(path);
    UserPrincipalLookupService names = file.getFileSystem().getUserPrincipalLookupService();
    try {
      PosixFileAttributeView view = Files.getFileAttributeView(file, PosixFileAttributeView.class);
      if (user != null) {
        view.setOwner(names.lookupPrincipalByName(user));
      }
      if (group != null) {
        GroupPrincipal principal = names.lookupPrincipalByGroupName(group);
        view.setGroup(principal);
      }
    } catch (FileSystemException e) {
      throw explained(e, path);
    }
  }

  // Names.

  /** Renames as HDFS does: into a folder that is there, and over nothing else. Nothing is ever copied. */
  @Override
  public boolean rename(Path from, Path to) throws IOException {
    java.nio.file.Path source = nio(from);
    java.nio.file.Path target = nio(to);
    if (!Files.exists(source, LinkOption.NOFOLLOW_LINKS)) {
      return false;
    }
    if (Files.isDirectory(target)) {
      target = target.resolve(source.getFileName());
    }
    if (target.equals(source)) {
      return Files.isRegularFile(source);
    }
    if (target.startsWith(source) || Files.exists(target, LinkOption.NOFOLLOW_LINKS)
        || !Files.isDirectory(target.getParent())) {
      return false;
    }
    try {
      Files.move(source, target, StandardCopyOption.ATOMIC_MOVE);
      return true;
    } catch (NoSuchFileException e) {
      return false;
    } catch (AtomicMoveNotSupportedException e) {
      throw new IOException(from + " and " + to + " are on different file systems", e);
    }
  }

  // Writing.

  @Override
  public FSDataOutputStream create(Path path, boolean overwrite, int bufferSize, short replication, long blockSize,
      Progressable progress) throws IOException {
    return create(path, null, overwrite, bufferSize, replication, blockSize, progress);
  }

  @Override
  public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite, int bufferSize,
      short replication, long blockSize, Progressable progress) throws IOException {
    Path parent = makeQualified(path).getParent();
    if (parent != null && !mkdirs(parent)) {
      throw new IOException("Folder " + parent + " can't be made");
    }
    return write(path, permission, overwrite);
  }

  @Override
  public FSDataOutputStream createNonRecursive(Path path, FsPermission permission, EnumSet<CreateFlag> flags,
      int bufferSize, short replication, long blockSize, Progressable progress) throws IOException {
    return write(path, permission, flags.contains(CreateFlag.OVERWRITE));
  }

  @Override
  public FSDataOutputStream createNonRecursive(Path path, FsPermission permission, boolean overwrite, int bufferSize,
      short replication, long blockSize, Progressable progress) throws IOException {
    return write(path, permission, overwrite);
  }

  private FSDataOutputStream write(Path path, FsPermission permission, boolean overwrite) throws IOException {
    if (Files.isDirectory(nio(path))) {
      throw new FileAlreadyExistsException(path + " is a folder");
    }
    FSDataOutputStream out;
    try {
      out = new FSDataOutputStream(new SyncedOutputStream(FileChannel.open(nio(path), StandardOpenOption.WRITE,
          overwrite ? StandardOpenOption.CREATE : StandardOpenOption.CREATE_NEW, StandardOpenOption.TRUNCATE_EXISTING)),
          statistics);
    } catch (java.nio.file.FileAlreadyExistsException e) {
      throw new FileAlreadyExistsException("File already exists: " + path);
    } catch (FileSystemException e) {
      throw explained(e, path);
    }
    if (permission != null) {
      try {
        setPermission(path, permission);
      } catch (IOException | RuntimeException e) {
        out.close();
        throw e;
      }
    }
    return out;
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) throws IOException {
    FileStatus status = getFileStatus(path);
    if (status.isDirectory()) {
      throw new IOException(path + " is a folder");
    }
    return new FSDataOutputStream(new SyncedOutputStream(FileChannel.open(nio(path), StandardOpenOption.WRITE,
        StandardOpenOption.APPEND)), statistics, status.getLen());
  }

  /** A buffer before a file: hflush lets readers see what was written, hsync has the file system keep it. */
  private static final class SyncedOutputStream extends OutputStream implements Syncable {
    private final FileChannel file;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_LEAST);

    SyncedOutputStream(FileChannel file) {
      this.file = file;
    }

    @Override
    public void write(int b) throws IOException {
      if (!buffer.hasRemaining()) {
        flush();
      }
      buffer.put((byte) b);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      if (length > buffer.remaining()) {
        flush();
      }
      if (length >= buffer.capacity()) {
        writeFully(ByteBuffer.wrap(bytes, offset, length));
      } else {
        buffer.put(bytes, offset, length);
      }
    }

    private void writeFully(ByteBuffer bytes) throws IOException {
      while (bytes.hasRemaining()) {
        file.write(bytes);
      }
    }

    @Override
    public void flush() throws IOException {
      buffer.flip();
      try {
        writeFully(buffer);
      } finally {
        buffer.compact();
      }
    }

    @Override
    public void hflush() throws IOException {
      flush();
    }

    @Override
    public void hsync() throws IOException {
      flush();
      file.force(true);
    }

    @Override
    @SuppressWarnings("deprecation")
    public void sync() throws IOException {
      hflush();
    }

    @Override
    public void close() throws IOException {
      if (file.isOpen()) {
        try {
          flush();
        } finally {
          file.close();
        }
      }
    }
  }

  @Override
  public String toString() {
    return "SharedFileSystem";
  }
}

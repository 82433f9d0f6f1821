package io.howdah.storage.shared;

import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.UUID;

/**
 * The list of the blocks that a DataNode has on the shared path, as it writes it: a text file with a line of its own
 * for each change, which others follow with {@link SharedListReader}. Thread-safe.
 *
 * <p>The first line is {@code howdah-shared-blocks 1 ID}, with another ID whenever the file was written anew. Then
 * {@code + BLOCK STAMP LENGTH} and {@code - BLOCK}.
 */
public final class SharedList implements Closeable {
  static final String HEAD = "howdah-shared-blocks 1 ";

  private final FileChannel channel;
  private final boolean isSynced;

  private SharedList(FileChannel channel, boolean isSynced) {
    this.channel = channel;
    this.isSynced = isSynced;
  }

  /** Writes a list anew, and goes on with it. */
  public static SharedList write(Path file, Collection<SharedBlock> blocks, boolean isSynced) throws IOException {
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    try (BufferedWriter out = Files.newBufferedWriter(fresh, StandardCharsets.US_ASCII)) {
      out.write(HEAD + UUID.randomUUID() + "\n");
      for (SharedBlock block : blocks) {
        out.write(line(block));
      }
    }
    if (isSynced) {
      try (FileChannel written = FileChannel.open(fresh, StandardOpenOption.WRITE)) {
        written.force(true);
      }
    }
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    return new SharedList(FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.APPEND), isSynced);
  }

  /** Says of blocks in the list of a DataNode that is gone that they are, and makes that last. */
  static void forget(Path file, Collection<Long> ids) throws IOException {
    StringBuilder lines = new StringBuilder("\n"); // the last line may have no end
    ids.forEach(id -> lines.append("- ").append(id).append('\n'));
    ByteBuffer bytes = ByteBuffer.wrap(lines.toString().getBytes(StandardCharsets.US_ASCII));
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.APPEND)) {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    }
  }

  private static String line(SharedBlock block) {
    return "+ " + block.id() + " " + block.stamp() + " " + block.length() + "\n";
  }

  /** A block is there, in place of an older copy of it. */
  public void added(SharedBlock block) throws IOException {
    append(line(block));
  }

  /** A block is gone. */
  public void removed(long id) throws IOException {
    append("- " + id + "\n");
  }

  private synchronized void append(String line) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(StandardCharsets.US_ASCII));
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
    if (isSynced) {
      channel.force(false);
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}

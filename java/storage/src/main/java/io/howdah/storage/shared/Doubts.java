package io.howdah.storage.shared;

import io.howdah.storage.BlockIds;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What DataNodes that serve each other's copies say of those that the NameNode takes for damaged: a line each in the
 * file {@code PATH/POOL/UUID/doubts} of the one that served it, which the owner of the copy follows. Used by one thread
 * at a time.
 */
public final class Doubts {
  /** Bytes after which a file begins anew. */
  private static final int MOST = 1 << 18;
  private static final Pattern LINE = Pattern.compile("(\\S+) (" + BlockIds.REGEX + ")");

  private final Path path;
  private final String pool;
  private final String self;
  /** Up to where the file of each other one was read. */
  private final Map<String, Long> positions = new HashMap<>();

  /** Those of a DataNode. */
  public Doubts(Path path, String pool, String self) {
    this.path = path;
    this.pool = pool;
    this.self = self;
  }

  private Path file(String uuid) {
    return new SharedFolder(path, pool, uuid, false).doubts();
  }

  /** Tells the owners of copies, by the copies' ids. */
  public void tell(Map<Long, String> owners) throws IOException {
    StringBuilder lines = new StringBuilder();
    owners.forEach((id, owner) -> lines.append(owner).append(' ').append(id).append('\n'));
    Path file = file(self);
    boolean isLong = Files.exists(file) && Files.size(file) > MOST;
    Files.write(file, lines.toString().getBytes(StandardCharsets.US_ASCII), StandardOpenOption.CREATE,
        StandardOpenOption.WRITE, isLong ? StandardOpenOption.TRUNCATE_EXISTING : StandardOpenOption.APPEND);
  }

  /** The ids of this one's copies that others have told of since the last call; at the first of none. */
  public Set<Long> read(Collection<String> others) throws IOException {
    Set<Long> ids = new TreeSet<>();
    positions.keySet().retainAll(others);
    for (String other : others) {
      try (FileChannel channel = FileChannel.open(file(other))) {
        Long position = positions.get(other);
        long from = position == null ? channel.size() : position > channel.size() ? 0 : position;
        positions.put(other, from + take(channel, from, ids));
      } catch (NoSuchFileException e) {
        positions.put(other, 0L);
      }
    }
    return ids;
  }

  /** Takes the lines that are whole; returns how many bytes they have. */
  private int take(FileChannel channel, long from, Set<Long> ids) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(2 * MOST, Math.max(0, channel.size() - from)));
    while (bytes.hasRemaining() && channel.read(bytes, from + bytes.position()) > 0) {
      continue;
    }
    String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.ISO_8859_1);
    int end = text.lastIndexOf('\n') + 1;
    for (String line : text.substring(0, end).split("\n")) {
      Matcher doubt = LINE.matcher(line);
      Long id = doubt.matches() && doubt.group(1).equals(self) ? BlockIds.parse(doubt.group(2)) : null;
      if (id != null) {
        ids.add(id);
      }
    }
    return end;
  }
}

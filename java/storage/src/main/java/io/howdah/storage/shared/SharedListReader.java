package io.howdah.storage.shared;

import io.howdah.storage.BlockIds;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Follows the list of a DataNode's blocks on the shared path, or reads it once. Used by one thread at a time. */
public final class SharedListReader {
  private static final int PIECE = 1 << 18;
  private static final Pattern LINE =
      Pattern.compile("([+-]) (" + BlockIds.REGEX + ")(?: (\\d{1,18}) (\\d{1,18}))?");

  private final Path file;
  private final Map<Long, SharedBlock> blocks = new HashMap<>();
  private String head = "";
  private long position;

  /** Of a list that need not be there. */
  public SharedListReader(Path file) {
    this.file = file;
  }

  /** The blocks, by id, as of the last {@link #read}. Each line of the list makes another object. */
  public Map<Long, SharedBlock> blocks() {
    return Collections.unmodifiableMap(blocks);
  }

  /**
   * Reads what was written since the last call; everything if the list was written anew. A line without an end is left
   * for the next call, one that is no entry is skipped.
   *
   * @return whether there was anything
   */
  public boolean read() throws IOException {
    long before = position;
    String headBefore = head;
    try (FileChannel channel = FileChannel.open(file)) {
      String first = firstLine(channel);
      if (!first.equals(head) || channel.size() < position) {
        blocks.clear();
        head = first;
        position = first.length();
      }
      if (first.startsWith(SharedList.HEAD)) {
        readOn(channel);
      }
    } catch (NoSuchFileException e) {
      blocks.clear();
      head = "";
    }
    return position != before || !head.equals(headBefore);
  }

  private static String firstLine(FileChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(SharedList.HEAD.length() + 64);
    while (bytes.hasRemaining() && channel.read(bytes, bytes.position()) > 0) {
      continue;
    }
    String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.ISO_8859_1);
    return text.substring(0, text.indexOf('\n') + 1);
  }

  private void readOn(FileChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(PIECE);
    while (channel.read(bytes, position) > 0) {
      String text = new String(bytes.array(), 0, bytes.position(), StandardCharsets.ISO_8859_1);
      int end = text.lastIndexOf('\n') + 1;
      if (end == 0) {
        return;
      }
      for (String line : text.substring(0, end).split("\n")) {
        take(line);
      }
      position += end;
      bytes.clear();
    }
  }

  private void take(String line) {
    Matcher entry = LINE.matcher(line);
    Long id = entry.matches() ? BlockIds.parse(entry.group(2)) : null;
    boolean isAdded = id != null && entry.group(1).equals("+");
    if (id == null || isAdded != (entry.group(3) != null)) {
      return;
    }
    if (isAdded) {
      blocks.put(id, new SharedBlock(id, Long.parseLong(entry.group(3)), Long.parseLong(entry.group(4))));
    } else {
      blocks.remove(id);
    }
  }
}

package io.howdah.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Blocks by what DataNodes that do not run have left of them. */
final class BlockFiles {
  private static final Pattern BLOCK = Pattern.compile("blk_(-?\\d{1,19})");
  /** Of a DataNode's list in the shared folder: a block that came, or went. */
  private static final Pattern LINE = Pattern.compile("\\+ (-?\\d+) \\d+ \\d+|- (-?\\d+)");

  private BlockFiles() {
  }

  /** The ids of the blocks that have files below a folder, which need not be there. */
  static Set<Long> in(Path folder) throws IOException {
    Set<Long> ids = new HashSet<>();
    for (Path file : below(folder, Integer.MAX_VALUE)) {
      Matcher name = BLOCK.matcher(file.getFileName().toString());
      if (name.matches()) {
        ids.add(Long.valueOf(name.group(1)));
      }
    }
    return ids;
  }

  /** The ids of the blocks in the lists (POOL/UUID/list) of a cluster's own folder in the shared one. */
  static Set<Long> listed(Path shared) throws IOException {
    Set<Long> ids = new HashSet<>();
    for (Path file : below(shared, 3)) {
      if (file.endsWith("list") && Files.isRegularFile(file)) {
        ids.addAll(listedIn(file));
      }
    }
    return ids;
  }

  private static Set<Long> listedIn(Path list) throws IOException {
    Set<Long> ids = new HashSet<>();
    for (String line : Files.readAllLines(list, StandardCharsets.ISO_8859_1)) {
      Matcher entry = LINE.matcher(line);
      if (!entry.matches()) {
        continue;
      }
      if (entry.group(1) != null) {
        ids.add(Long.valueOf(entry.group(1)));
      } else {
        ids.remove(Long.valueOf(entry.group(2)));
      }
    }
    return ids;
  }

  private static List<Path> below(Path folder, int depth) throws IOException {
    if (!Files.isDirectory(folder)) {
      return Collections.emptyList();
    }
    try (Stream<Path> all = Files.walk(folder, depth)) {
      return all.collect(Collectors.toList());
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }
}

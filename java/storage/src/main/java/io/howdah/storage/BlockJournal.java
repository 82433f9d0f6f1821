package io.howdah.storage;

import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.util.ShutdownHookManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What happened to each replica of a DataNode, in memory and in a text file of each folder ({@code howdah-blocks.tsv}:
 * pool, block, event). The file of the folder that a replica is in has all of its events. Files are for people and for
 * the next start; replicas do not depend on them. Thread-safe. Lines reach the file with {@link #flush} or when the
 * process exits, and nothing else writes; a file that cannot be written is logged once.
 */
public final class BlockJournal {
  /** The file's name. */
  public static final String FILE = "howdah-blocks.tsv";
  private static final Logger LOG = LoggerFactory.getLogger("io.howdah.storage");
  /** Of a replica; the first one and the last ones are kept. */
  private static final int EVENTS = 8;
  private static final int LINES_BEFORE_COMPACTION = 100_000;
  /** Before the file systems are closed. */
  private static final int EXIT_PRIORITY = 20;

  private final ConcurrentHashMap<ExtendedBlockId, Story> stories = new ConcurrentHashMap<>();
  /** Guarded by itself, but for what {@link #writing} guards; nothing is written while it is locked. */
  private final Map<File, Volume> volumes = new HashMap<>();
  /** Held while files are written; taken before the volumes. */
  private final Object writing = new Object();
  private final Runnable atExit = this::flush;

  /** The events of a replica, oldest first. A creation begins a new one, so it is the first event if it is there. */
  private static final class Story {
    private long[] events = {};
    private File volume;

    private void add(BlockEvent event, File where) {
      if (event.kind() == BlockEvent.Kind.CREATED) {
        events = new long[0];
      }
      if (events.length == EVENTS) {
        System.arraycopy(events, 2, events, 1, EVENTS - 2);
      } else {
        events = Arrays.copyOf(events, events.length + 1);
      }
      events[events.length - 1] = event.packed();
      volume = where;
    }

    /** Adds an event that a file has; one of another folder may have had it, and later ones. */
    private void load(BlockEvent event, File where) {
      int place = events.length;
      for (long known : events) {
        if (known == event.packed()) {
          return;
        }
      }
      while (place > 0 && BlockEvent.unpacked(events[place - 1]).time() > event.time()) {
        place--;
      }
      if (place == events.length) {
        add(event, where);
        return;
      }
      if (place == 0 && BlockEvent.unpacked(events[0]).kind() == BlockEvent.Kind.CREATED) {
        return; // of a replica that was deleted before
      }
      List<Long> all = new ArrayList<>();
      for (long known : events) {
        all.add(known);
      }
      all.add(place, event.packed());
      if (event.kind() == BlockEvent.Kind.CREATED) {
        all = all.subList(place, all.size());
      } else if (all.size() > EVENTS) {
        all.remove(1);
      }
      events = all.stream().mapToLong(Long::longValue).toArray();
    }

    /** Whether the last run of the DataNode had a copy in RAM of the replica. */
    private boolean hasCopy() {
      for (int i = events.length - 1; i >= 0; i--) {
        BlockEvent.Kind kind = BlockEvent.unpacked(events[i]).kind();
        if (kind == BlockEvent.Kind.COPIED || kind == BlockEvent.Kind.COPY_DROPPED) {
          return kind == BlockEvent.Kind.COPIED;
        }
      }
      return false;
    }
  }

  private static final class Volume {
    private List<String> pending = new ArrayList<>();
    // While writing is held.
    private long lines;
    private boolean isBroken;
  }

  /**
   * Notes an event of a replica in a folder. In a folder where it was not before, all of its events are
   * written.
   */
  public void add(ExtendedBlockId block, File volume, BlockEvent event) {
    List<String> lines = new ArrayList<>();
    stories.compute(block, (key, known) -> {
      Story story = known != null ? known : new Story();
      boolean isMoved = story.volume != null && !story.volume.equals(volume);
      story.add(event, volume);
      for (int i = isMoved ? 0 : story.events.length - 1; i < story.events.length; i++) {
        lines.add(line(block, BlockEvent.unpacked(story.events[i])));
      }
      return story;
    });
    synchronized (volumes) {
      volumes.computeIfAbsent(volume, key -> new Volume()).pending.addAll(lines);
    }
  }

  /** Notes the end of the copies in RAM that the last run of the DataNode had of a block pool, once that is loaded. */
  public void endCopies(String pool, long now) {
    stories.forEach((block, story) -> {
      if (block.getBlockPoolId().equals(pool) && story.hasCopy()) {
        add(block, story.volume, new BlockEvent(now, BlockEvent.Kind.COPY_DROPPED, StorageType.RAM_DISK, tier(block),
            Reason.RESTART));
      }
    });
  }

  /** The type of storage that a replica was on by its last event; null if none is known. */
  public StorageType tier(ExtendedBlockId block) {
    List<BlockEvent> events = of(block);
    return events.isEmpty() ? null : events.get(events.size() - 1).tier();
  }

  private static String line(ExtendedBlockId block, BlockEvent event) {
    return block.getBlockPoolId() + "\tblk_" + block.getBlockId() + "\t" + event;
  }

  /** The events of a replica, oldest first; empty if none are known. */
  public List<BlockEvent> of(ExtendedBlockId block) {
    List<BlockEvent> events = new ArrayList<>();
    stories.computeIfPresent(block, (key, story) -> {
      for (long event : story.events) {
        events.add(BlockEvent.unpacked(event));
      }
      return story;
    });
    return events;
  }

  /** The folder whose file has the last event of a replica; null if none is known. */
  public File folderOf(ExtendedBlockId block) {
    Story story = stories.get(block);
    return story == null ? null : story.volume;
  }

  /** Forgets a replica that is gone. Its lines leave the file with the next compaction. */
  public void forget(ExtendedBlockId block) {
    stories.remove(block);
  }

  /** Lets go of a folder that is taken away; its file stays as it is. */
  public void leave(File folder) {
    synchronized (writing) {
      synchronized (volumes) {
        volumes.remove(folder);
      }
    }
  }

  /** Has what was noted written when the process exits, as a DataNode does that is told to end by a signal. */
  public void flushAtExit() {
    ShutdownHookManager.get().addShutdownHook(atExit, EXIT_PRIORITY);
  }

  /** Writes what was noted; no more is written at exit. */
  public void close() {
    if (!ShutdownHookManager.get().isShutdownInProgress()) {
      ShutdownHookManager.get().removeShutdownHook(atExit);
    }
    flush();
  }

  /** Writes what was noted since the last call. */
  public void flush() {
    synchronized (writing) {
      Map<File, Volume> now;
      synchronized (volumes) {
        now = new HashMap<>(volumes);
      }
      now.forEach(this::flush);
    }
  }

  private void flush(File folder, Volume volume) {
    List<String> lines;
    synchronized (volumes) {
      lines = volume.pending;
      volume.pending = new ArrayList<>();
    }
    try {
      if (volume.lines > LINES_BEFORE_COMPACTION && volume.lines > 4L * EVENTS * stories.size()) {
        compact(folder, volume);
      } else if (!lines.isEmpty()) {
        Files.write(folder.toPath().resolve(FILE), lines, StandardCharsets.UTF_8, StandardOpenOption.CREATE,
            StandardOpenOption.APPEND);
        volume.lines += lines.size();
      }
      volume.isBroken = false;
    } catch (IOException e) {
      if (!volume.isBroken) {
        LOG.warn("{} cannot be written ({}): howdah blocks knows of events in it until the DataNode ends",
            new File(folder, FILE), e.toString());
      }
      volume.isBroken = true;
    }
  }

  /** Rewrites a file with what is known of replicas that are there. */
  private void compact(File folder, Volume volume) throws IOException {
    Path fresh = folder.toPath().resolve(FILE + ".new");
    volume.lines = 0;
    try (BufferedWriter out = Files.newBufferedWriter(fresh, StandardCharsets.UTF_8)) {
      for (Map.Entry<ExtendedBlockId, Story> entry : stories.entrySet()) {
        if (folder.equals(entry.getValue().volume)) {
          for (BlockEvent event : of(entry.getKey())) {
            out.write(line(entry.getKey(), event));
            out.write('\n');
            volume.lines++;
          }
        }
      }
    }
    Files.move(fresh, folder.toPath().resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
  }

  /**
   * Reads what a folder's file has of one block pool. Lines that are no events (the last one after a crash) are
   * skipped.
   *
   * @param isThere whether a replica is in the folder
   */
  public void load(File folder, String pool, Predicate<ExtendedBlockId> isThere) {
    Path file = folder.toPath().resolve(FILE);
    if (!Files.exists(file)) {
      return;
    }
    long[] lines = {0};
    try (Stream<String> all = Files.lines(file, StandardCharsets.ISO_8859_1)) {
      all.forEach(line -> {
        lines[0]++;
        String[] parts = line.split("\t", 3);
        if (parts.length == 3 && parts[0].equals(pool)) {
          load(parts[1], parts[2], folder, pool, isThere);
        }
      });
    } catch (IOException | java.io.UncheckedIOException e) {
      LOG.warn("{} cannot be read ({}): howdah blocks does not know what happened before this start", file,
          e.toString());
    }
    synchronized (writing) {
      synchronized (volumes) {
        volumes.computeIfAbsent(folder, key -> new Volume()).lines = lines[0];
      }
    }
  }

  private void load(String name, String text, File folder, String pool, Predicate<ExtendedBlockId> isThere) {
    if (!name.matches("blk_" + BlockIds.REGEX)) {
      return;
    }
    try {
      ExtendedBlockId block = new ExtendedBlockId(Long.parseLong(name.substring(4)), pool);
      BlockEvent event = BlockEvent.parse(text);
      if (isThere.test(block)) {
        stories.computeIfAbsent(block, key -> new Story()).load(event, folder);
      }
    } catch (IllegalArgumentException e) {
      LOG.debug("no event: {}", text);
    }
  }
}

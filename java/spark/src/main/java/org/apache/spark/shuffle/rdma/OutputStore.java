package org.apache.spark.shuffle.rdma;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.LongPredicate;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Map output of this executor: in memory, and in files of Spark's format if there is no memory. A task that needs
 * memory writes the output that was not used for longest to a file. The first output of a map wins, as with Spark's own
 * resolver. Thread-safe.
 */
final class OutputStore {
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.spark");
  private static final int SHUFFLE_SHIFT = 32;

  /** Output in files, which is Spark's resolver's. */
  interface Disk {
    /** Name of a new temporary file. */
    File temporary(int shuffle, int map);

    /** Makes it the output of a map, unless there is one: then `lengths` become those of that. */
    void commit(int shuffle, int map, long[] lengths, File data);

    /** Whether the files of an output are there and of the right size. */
    boolean isWhole(int shuffle, int map, long[] lengths);

    void remove(int shuffle, int map);
  }

  /** Told of bytes that become output. */
  interface Meter {
    void kept(long bytes);

    void filed(long bytes);
  }

  private final OutputMemory memory;
  private final Disk disk;
  private final Meter meter;
  /** The one that was not used for longest first. */
  private final Map<Long, MapOutput> outputs = new LinkedHashMap<>(16, 0.75f, true);
  /** Lengths of output in files. */
  private final Map<Long, long[]> files = new HashMap<>();

  OutputStore(OutputMemory memory, Disk disk, Meter meter) {
    this.memory = memory;
    this.disk = disk;
    this.meter = meter;
  }

  private static long key(int shuffle, int map) {
    return (long) shuffle << SHUFFLE_SHIFT | map;
  }

  OutputMemory memory() {
    return memory;
  }

  /** @param task with which what was not committed ends */
  Draft draft(int shuffle, int map, TaskContext task) {
    Draft draft = new Draft(this, () -> disk.temporary(shuffle, map));
    task.addTaskCompletionListener((TaskCompletionListener) done -> draft.discard());
    return draft;
  }

  /** Takes memory, from older output if need be. @return null if there is none */
  Segment take(Function<OutputMemory, Segment> how) throws IOException {
    for (;;) {
      Segment segment = how.apply(memory);
      if (segment != null || !writeColdest()) {
        return segment;
      }
    }
  }

  // Output that is complete.

  /**
   * Makes a draft the output of a map. If there is one already, the draft is dropped and `lengths` become those of the
   * other.
   *
   * @param pieces of all partitions, in order
   */
  void commit(int shuffle, int map, long[] lengths, Draft draft, List<Piece> pieces) throws IOException {
    try {
      if (draft.isSpilled()) {
        File data = disk.temporary(shuffle, map);
        try {
          try (FileChannel to = create(data)) {
            for (Piece piece : pieces) {
              draft.copy(piece, to);
            }
          }
          commit(shuffle, map, lengths, data);
        } finally {
          Files.deleteIfExists(data.toPath());
        }
      } else if (!exists(shuffle, map, lengths)) {
        keep(shuffle, map, lengths, draft, pieces);
      }
    } finally {
      draft.discard();
    }
  }

  /** The same of a file. */
  synchronized void commit(int shuffle, int map, long[] lengths, File data) {
    if (exists(shuffle, map, lengths)) {
      return;
    }
    disk.commit(shuffle, map, lengths, data);
    files.put(key(shuffle, map), lengths.clone());
    meter.filed(MapOutput.total(lengths));
  }

  private synchronized void keep(int shuffle, int map, long[] lengths, Draft draft, List<Piece> pieces) {
    if (exists(shuffle, map, lengths)) {
      return;
    }
    MapOutput output = new MapOutput(shuffle, map, lengths, draft.handOver(), pieces);
    outputs.put(key(shuffle, map), output);
    meter.kept(MapOutput.total(lengths));
  }

  private synchronized boolean exists(int shuffle, int map, long[] lengths) {
    MapOutput kept = outputs.get(key(shuffle, map));
    long[] there = kept != null ? kept.lengths : files.get(key(shuffle, map));
    if (there == null) {
      return false;
    }
    if (kept == null && !disk.isWhole(shuffle, map, there)) {
      files.remove(key(shuffle, map));
      disk.remove(shuffle, map);
      return false;
    }
    System.arraycopy(there, 0, lengths, 0, lengths.length);
    return true;
  }

  /** Output in memory, pinned until {@link #unpin}. @return null if it is not there */
  synchronized MapOutput pin(int shuffle, int map) {
    MapOutput output = outputs.get(key(shuffle, map));
    if (output != null) {
      output.pins++;
    }
    return output;
  }

  synchronized void unpin(MapOutput output) {
    output.pins--;
    freeUnused(output);
  }

  private void drop(MapOutput output) {
    output.dropped = true;
    freeUnused(output);
  }

  private void freeUnused(MapOutput output) {
    if (output.dropped && output.pins == 0) {
      for (Segment segment : output.segments) {
        memory.give(segment);
      }
    }
  }

  // From memory to a file.

  /**
   * Writes the output that was not used for longest, and that nobody reads, to a file.
   *
   * @return false if there is none
   */
  private boolean writeColdest() throws IOException {
    MapOutput coldest = coldest();
    if (coldest == null) {
      return false;
    }
    File data = disk.temporary(coldest.shuffle, coldest.map);
    try {
      try (FileChannel to = create(data)) {
        coldest.write(to);
      }
      synchronized (this) {
        long key = key(coldest.shuffle, coldest.map);
        if (!coldest.dropped) { // nobody has unregistered it meanwhile
          disk.commit(coldest.shuffle, coldest.map, coldest.lengths.clone(), data);
          outputs.remove(key);
          files.put(key, coldest.lengths);
          coldest.dropped = true;
          meter.filed(MapOutput.total(coldest.lengths));
        }
      }
    } finally {
      unpin(coldest);
      Files.deleteIfExists(data.toPath());
    }
    return true;
  }

  private synchronized MapOutput coldest() {
    for (MapOutput output : outputs.values()) {
      if (output.pins == 0 && output.segments.length > 0) {
        output.pins++;
        return output;
      }
    }
    return null;
  }

  private static FileChannel create(File file) throws IOException {
    return FileChannel.open(file.toPath(), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }

  // The end.

  /** Removes a shuffle's output. */
  void remove(int shuffle) {
    remove(key -> key >> SHUFFLE_SHIFT == shuffle);
  }

  /** Removes a map's output. */
  void remove(int shuffle, int map) {
    long only = key(shuffle, map);
    remove(key -> key == only);
  }

  private synchronized void remove(LongPredicate which) {
    for (Iterator<MapOutput> all = outputs.values().iterator(); all.hasNext();) {
      MapOutput output = all.next();
      if (which.test(key(output.shuffle, output.map))) {
        all.remove();
        drop(output);
      }
    }
    List<Long> gone = new ArrayList<>();
    for (Long key : files.keySet()) {
      if (which.test(key)) {
        gone.add(key);
      }
    }
    for (Long key : gone) {
      files.remove(key);
      disk.remove((int) (key >> SHUFFLE_SHIFT), (int) (long) key);
    }
  }

  /** Drops what is in memory; readers that have it keep it. */
  synchronized void close() {
    outputs.values().forEach(this::drop);
    outputs.clear();
    memory.close();
  }
}

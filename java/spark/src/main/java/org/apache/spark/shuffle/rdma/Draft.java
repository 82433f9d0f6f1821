package org.apache.spark.shuffle.rdma;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Output of a map task that is being written: its segments, and a spill file once there was no memory for it. From then
 * on it takes no memory, as it will be a file. Not thread-safe.
 */
final class Draft {
  private final OutputStore store;
  private final Supplier<File> name;
  private final Set<Segment> segments = Collections.newSetFromMap(new IdentityHashMap<>());
  private File file;
  private FileChannel spilled;
  private long spilledBytes;

  /** @param name of a temporary file */
  Draft(OutputStore store, Supplier<File> name) {
    this.store = store;
    this.name = name;
  }

  /** @return null if there is no memory */
  Segment take() throws IOException {
    return hold(isSpilled() ? null : store.take(OutputMemory::take));
  }

  /** The same of 4 KB. */
  Segment takePart() throws IOException {
    return hold(isSpilled() ? null : store.take(OutputMemory::takePart));
  }

  private Segment hold(Segment segment) {
    if (segment != null) {
      segments.add(segment);
    }
    return segment;
  }

  void give(Segment segment) {
    segments.remove(segment);
    store.memory().give(segment);
  }

  boolean isSpilled() {
    return spilled != null;
  }

  Piece spill(ByteBuffer bytes) throws IOException {
    if (spilled == null) {
      file = name.get();
      spilled = FileChannel.open(file.toPath(), StandardOpenOption.CREATE, StandardOpenOption.READ,
          StandardOpenOption.WRITE);
    }
    Piece piece = new Piece(null, spilledBytes, bytes.remaining());
    while (bytes.hasRemaining()) {
      spilledBytes += spilled.write(bytes);
    }
    return piece;
  }

  /** Appends a piece to a file. */
  void copy(Piece piece, FileChannel to) throws IOException {
    if (piece.segment != null) {
      for (ByteBuffer bytes = piece.view(); bytes.hasRemaining();) {
        to.write(bytes);
      }
      return;
    }
    long at = piece.offset;
    long end = at + piece.length;
    while (at < end) {
      long bytes = spilled.transferTo(at, end - at, to);
      if (bytes <= 0) {
        throw new IOException(file + " ends at " + at);
      }
      at += bytes;
    }
  }

  /** The segments, which are the caller's from now on. */
  Segment[] handOver() {
    Segment[] all = segments.toArray(new Segment[0]);
    segments.clear();
    return all;
  }

  /** Gives everything back; without effect on what was handed over. */
  void discard() {
    segments.forEach(store.memory()::give);
    segments.clear();
    if (spilled != null) {
      try {
        spilled.close();
        Files.deleteIfExists(file.toPath());
      } catch (IOException e) {
        OutputStore.LOG.warn("The spill file {} stays: {}", file, e.toString());
      }
      spilled = null;
    }
  }
}

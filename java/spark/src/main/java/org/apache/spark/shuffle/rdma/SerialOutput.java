package org.apache.spark.shuffle.rdma;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.storage.BlockId;

/**
 * Output of a map task that is written partition after partition. While it is {@link #enter entered}, what one of
 * Spark's writers puts into its last file comes here. Not thread-safe.
 */
public final class SerialOutput {
  private static final ThreadLocal<SerialOutput> CURRENT = new ThreadLocal<>();

  private final OutputStore store;
  private final int shuffle;
  private final int map;
  private final Class<? extends BlockId> file;
  private final Draft draft;
  private final Chain chain;

  /**
   * @param task after which nothing is held
   * @param file kind of the last file; a writer's spills have another, or are not written while this is entered
   */
  SerialOutput(OutputStore store, int shuffle, int map, TaskContext task, Class<? extends BlockId> file) {
    this.file = file;
    this.store = store;
    this.shuffle = shuffle;
    this.map = map;
    this.draft = store.draft(shuffle, map, task);
    this.chain = new Chain(draft);
  }

  /** What takes the place of a file of this thread, or null. */
  static SerialOutput current(BlockId block) {
    SerialOutput current = CURRENT.get();
    return current != null && current.file.isInstance(block) ? current : null;
  }

  /** What this thread has entered, or null. */
  static SerialOutput current() {
    return CURRENT.get();
  }

  /** From now on this thread's last file is this. */
  public void enter() {
    CURRENT.set(this);
  }

  /** Ends that. */
  public void exit() {
    CURRENT.remove();
  }

  OutputStream stream() {
    return chain;
  }

  long length() {
    return chain.length();
  }

  /** Makes it the map's output. */
  void commit(long[] lengths) throws IOException {
    chain.end();
    List<Piece> pieces = new ArrayList<>();
    Chain.Cursor cursor = chain.new Cursor();
    for (long length : lengths) {
      cursor.next(length, pieces);
    }
    store.commit(shuffle, map, lengths, draft, pieces);
  }

  /** The same in place of an empty file. */
  void commitInstead(long[] lengths, File empty) {
    try {
      commit(lengths);
      Files.deleteIfExists(empty.toPath());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Gives back what was not committed. */
  public void discard() {
    draft.discard();
  }
}

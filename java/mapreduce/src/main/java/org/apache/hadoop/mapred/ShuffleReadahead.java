package org.apache.hadoop.mapred;

import java.io.FileDescriptor;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.ReadaheadPool;
import org.apache.hadoop.io.ReadaheadPool.ReadaheadRequest;

/**
 * Has the system read map output into its page cache before reducers ask for it, by the settings and the threads of
 * stock's handler: {@code mapreduce.shuffle.manage.os.cache}, {@code mapreduce.shuffle.readahead.bytes} (4 MB by
 * default, 0 is off). Without libhadoop nothing is read ahead. Immutable.
 */
final class ShuffleReadahead {
  /** As many windows as a reducer has under way, and one more. */
  private static final int WINDOWS = 4;

  private final long most;
  private final ReadaheadPool pool;

  ShuffleReadahead(Configuration conf) {
    most = conf.getBoolean(ShuffleHandler.SHUFFLE_MANAGE_OS_CACHE, ShuffleHandler.DEFAULT_SHUFFLE_MANAGE_OS_CACHE)
        ? conf.getInt(ShuffleHandler.SHUFFLE_READAHEAD_BYTES, ShuffleHandler.DEFAULT_SHUFFLE_READAHEAD_BYTES)
        : 0;
    pool = most > 0 ? ReadaheadPool.getInstance() : null;
  }

  boolean isOff() {
    return pool == null;
  }

  /** How many bytes to be ahead of a reducer that asks for so many at once: who wants more is read more ahead. */
  long distance(long asked) {
    return Math.min(most, WINDOWS * asked);
  }

  /** Soon, by another thread. @return what gives it up, which has to be before the file is closed */
  ReadaheadRequest read(String name, FileDescriptor file, long from, long length) {
    return pool.submitReadahead(name, file, from, length);
  }
}

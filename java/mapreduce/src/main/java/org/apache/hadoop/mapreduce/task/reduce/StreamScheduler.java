package org.apache.hadoop.mapreduce.task.reduce;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.ShuffleConsumerPlugin;
import org.apache.hadoop.mapreduce.TaskAttemptID;

/**
 * Stock's scheduler for a merge that fetches on while reduce() runs. Until the merge begins, an attempt that becomes
 * obsolete, and of which only a part is here, is given up: stock's code then fetches the one that takes its place.
 */
final class StreamScheduler<K, V> extends ShuffleSchedulerImpl<K, V> {
  /** Which maps are done, and how many are not, is known to private fields of stock's. */
  private static final Field FINISHED = field("finishedMaps");
  private static final Field REMAINING = field("remainingMaps");

  private final Counters.Counter shuffled;
  private final Set<TaskAttemptID> obsolete = new HashSet<>();
  private StreamMergeManager<K, V> streams;
  private boolean begun;

  StreamScheduler(ShuffleConsumerPlugin.Context<K, V> of, JobConf job, ExceptionReporter exceptions) {
    super(job, of.getStatus(), of.getReduceId(), exceptions, of.getCopyPhase(), of.getShuffledMapsCounter(),
        of.getReduceShuffleBytes(), of.getFailedShuffleCounter());
    shuffled = of.getShuffledMapsCounter();
  }

  private static Field field(String name) {
    try {
      Field field = ShuffleSchedulerImpl.class.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException e) {
      return null;
    }
  }

  /** Whether stock's scheduler is one that this one knows. */
  static boolean isPossible() {
    return FINISHED != null && FINISHED.getType() == boolean[].class && REMAINING != null
        && REMAINING.getType() == int.class;
  }

  /** Before the first map is met. */
  synchronized void streams(StreamMergeManager<K, V> of) {
    streams = of;
  }

  @Override
  public synchronized void obsoleteMapOutput(TaskAttemptID map) {
    super.obsoleteMapOutput(map);
    obsolete.add(map);
    giveUp(map);
  }

  private void giveUp(TaskAttemptID map) {
    if (!begun && streams != null && streams.drop(map)) {
      putBack(map.getTaskID().getId());
    }
  }

  private void putBack(int map) {
    try {
      ((boolean[]) FINISHED.get(this))[map] = false;
      REMAINING.setInt(this, REMAINING.getInt(this) + 1);
      shuffled.increment(-1);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public synchronized void copySucceeded(TaskAttemptID map, MapHost host, long bytes, long from, long to,
      MapOutput<K, V> output) throws IOException {
    super.copySucceeded(map, host, bytes, from, to, output);
    if (output instanceof StreamedMapOutput && !((StreamedMapOutput<K, V>) output).isCommitted()) {
      output.abort(); // another attempt of that map came first
    } else if (obsolete.contains(map)) {
      giveUp(map); // became so while its first windows were fetched
    }
  }

  /** Begins the merge if all maps have been met. From then on attempts stay. @return whether it has begun */
  synchronized boolean begin() {
    try {
      begun = REMAINING.getInt(this) == 0;
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
    return begun;
  }
}

package org.apache.spark.shuffle.sort;

import java.io.IOException;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.rdma.SerialOutput;
import org.apache.spark.storage.BlockManager;
import scala.Option;

/**
 * Spark's writer of serialized records, whose output stays in memory unless its sorter has spilled before: then files
 * are merged into a file as ever. Not thread-safe.
 */
public final class MemoryShuffleWriter<K, V> extends UnsafeShuffleWriter<K, V> {
  private final TaskContext task;
  private final SerialOutput output;

  /** The parameters are those of Spark's own, and the output. */
  public MemoryShuffleWriter(BlockManager blocks, IndexShuffleBlockResolver resolver,
      SerializedShuffleHandle<K, V> handle, int map, TaskContext task, SparkConf conf, SerialOutput output)
      throws IOException {
    super(blocks, resolver, task.taskMemoryManager(), handle, map, task, conf);
    this.task = task;
    this.output = output;
  }

  @Override
  void closeAndWriteOutput() throws IOException {
    if (task.taskMetrics().memoryBytesSpilled() > 0) { // of this sorter, or of something before it
      super.closeAndWriteOutput();
      return;
    }
    output.enter();
    try {
      super.closeAndWriteOutput();
    } finally {
      output.exit();
    }
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    try {
      return super.stop(success);
    } finally {
      output.discard();
    }
  }
}

package org.apache.spark.shuffle.rdma;

import org.apache.spark.TaskContext;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleWriter;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/** Spark's writer that sorts records, with its result in memory; its sorter spills to files. Not thread-safe. */
final class SortedWriter<K, V, C> extends SortShuffleWriter<K, V, C> {
  private final SerialOutput output;

  SortedWriter(RdmaShuffleResolver resolver, BaseShuffleHandle<K, V, C> handle, int map, TaskContext task,
      SerialOutput output) {
    super(resolver, handle, map, task);
    this.output = output;
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) {
    output.enter();
    try {
      super.write(records);
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

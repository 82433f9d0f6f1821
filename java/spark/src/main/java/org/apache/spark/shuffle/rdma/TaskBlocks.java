package org.apache.spark.shuffle.rdma;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.TaskContext;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Blocks of this executor that its own tasks read in place. Spark's iterator takes a reference to a local block and
 * gives that back, but not the one that the block was made with; that ends with the task. Thread-safe.
 */
final class TaskBlocks implements TaskCompletionListener {
  private final Map<Long, List<ManagedBuffer>> tasks = new ConcurrentHashMap<>();

  void add(TaskContext task, ManagedBuffer block) {
    List<ManagedBuffer> blocks = tasks.computeIfAbsent(task.taskAttemptId(), id -> {
      task.addTaskCompletionListener(this);
      return new ArrayList<>();
    });
    synchronized (blocks) {
      blocks.add(block);
    }
  }

  @Override
  public void onTaskCompletion(TaskContext task) {
    List<ManagedBuffer> blocks = tasks.remove(task.taskAttemptId());
    if (blocks != null) {
      synchronized (blocks) {
        blocks.forEach(ManagedBuffer::release);
      }
    }
  }
}

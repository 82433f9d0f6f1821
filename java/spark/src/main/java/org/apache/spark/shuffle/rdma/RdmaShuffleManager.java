package org.apache.spark.shuffle.rdma;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.ShuffleWriteMetrics;
import org.apache.spark.network.rdma.OutputConf;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleHandle;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.shuffle.sort.BypassMergeSortShuffleHandle;
import org.apache.spark.shuffle.sort.MemoryShuffleWriter;
import org.apache.spark.shuffle.sort.SerializedShuffleHandle;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.DiskBlockObjectWriter;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.storage.TempShuffleBlockId;

/**
 * Spark's sort shuffle whose map output stays in the engine's memory as long as there is room: the default, and {@code
 * spark.shuffle.manager=rdma}. Spark makes it by the name that {@link #choose} gives. Thread-safe.
 */
public class RdmaShuffleManager extends SortShuffleManager {
  private static final String TO_FILES = "Map output goes to files, not to the engine's memory: {}";

  private final RdmaShuffleResolver resolver;

  /** The parameters are what SparkEnv passes. */
  public RdmaShuffleManager(SparkConf conf, boolean isDriver) {
    super(conf);
    resolver = new RdmaShuffleResolver(conf, null);
    if (!isDriver) {
      OutputConf.account(conf);
      SamplingLz4Codec.replaceLz4(conf);
    }
  }

  /**
   * The class of the shuffle manager: this one unless the configuration names another or something speaks against it,
   * which the driver logs once. A hook of SparkEnv calls it, before anything else of ours is made.
   *
   * @param name of the class that Spark would take
   */
  public static String choose(SparkConf conf, boolean isDriver, String name) {
    if (!isDriver) {
      OutputConf.dropDriverId(conf);
    }
    boolean named = OutputConf.isNamed(conf);
    if (!OutputConf.isWanted(conf) || !named && OutputConf.isWithoutEngine(conf)) {
      return name;
    }
    String obstacle = OutputConf.obstacle(conf);
    if (obstacle == null) {
      return RdmaShuffleManager.class.getName();
    }
    if (isDriver && named) {
      OutputStore.LOG.warn(TO_FILES, obstacle);
    } else if (isDriver) {
      OutputStore.LOG.info(TO_FILES, obstacle);
    }
    return SortShuffleManager.class.getName();
  }

  /**
   * What Spark's writers write files with: Spark's own but for the last file of one that has entered a {@link
   * SerialOutput}. A hook of BlockManager calls it. The parameters are those of Spark's own.
   */
  public static DiskBlockObjectWriter diskWriter(File file, SerializerManager serializers,
      SerializerInstance serializer, int bufferSize, boolean sync, ShuffleWriteMetrics metrics, BlockId block) {
    SerialOutput output = SerialOutput.current(block);
    return output != null ? new SerialObjectWriter(output, file, serializers, serializer, metrics, block)
        : new DiskBlockObjectWriter(file, serializers, serializer, bufferSize, sync, metrics, block);
  }

  @Override
  public RdmaShuffleResolver shuffleBlockResolver() {
    return resolver;
  }

  @Override
  @SuppressWarnings("unchecked")
  public <K, V> ShuffleWriter<K, V> getWriter(ShuffleHandle handle, int map, TaskContext task) {
    OutputStore store = resolver.store();
    if (store == null) {
      return super.getWriter(handle, map, task);
    }
    if (handle instanceof BypassMergeSortShuffleHandle) {
      return new PartitionWriter<>(store, ((BaseShuffleHandle<K, V, V>) handle).dependency(), map, task);
    }
    if (handle instanceof SerializedShuffleHandle) {
      SerializedShuffleHandle<K, V> serialized = (SerializedShuffleHandle<K, V>) handle;
      SparkEnv env = SparkEnv.get();
      try {
        return new MemoryShuffleWriter<>(env.blockManager(), resolver, serialized, map, task, env.conf(),
            new SerialOutput(store, handle.shuffleId(), map, task, TempShuffleBlockId.class));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return new SortedWriter<>(resolver, (BaseShuffleHandle<K, V, Object>) handle, map, task,
        new SerialOutput(store, handle.shuffleId(), map, task, ShuffleBlockId.class));
  }

  @Override
  public boolean unregisterShuffle(int shuffle) {
    boolean done = super.unregisterShuffle(shuffle);
    resolver.forget(shuffle);
    return done;
  }
}

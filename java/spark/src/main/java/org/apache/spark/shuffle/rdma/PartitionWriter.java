package org.apache.spark.shuffle.rdma;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.Partitioner;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.executor.ShuffleWriteMetrics;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.scheduler.MapStatus$;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.shuffle.ShuffleWriter;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/**
 * For few partitions and no aggregation: a stream for each partition, where Spark's writer has a file for each. Not
 * thread-safe.
 */
final class PartitionWriter<K, V> extends ShuffleWriter<K, V> {
  private static final int COUNTED = 4096;

  private final OutputStore store;
  private final int shuffle;
  private final int map;
  private final Partitioner partitioner;
  private final BlockManager blocks = SparkEnv.get().blockManager();
  private final SerializerInstance serializer;
  private final ShuffleWriteMetrics metrics;
  private final Draft draft;
  private final Chain[] chains;
  private final PartitionStream[] streams;
  private MapStatus status;
  private boolean stopped;

  PartitionWriter(OutputStore store, ShuffleDependency<K, V, V> dependency, int map, TaskContext task) {
    this.store = store;
    this.shuffle = dependency.shuffleId();
    this.map = map;
    this.partitioner = dependency.partitioner();
    this.serializer = dependency.serializer().newInstance();
    this.metrics = task.taskMetrics().shuffleWriteMetrics();
    this.draft = store.draft(shuffle, map, task);
    this.chains = new Chain[partitioner.numPartitions()];
    this.streams = new PartitionStream[chains.length];
  }

  @Override
  public void write(Iterator<Product2<K, V>> records) throws IOException {
    int uncounted = 0;
    while (records.hasNext()) {
      Product2<K, V> record = records.next();
      K key = record._1();
      stream(partitioner.getPartition(key)).write(key, record._2());
      if (++uncounted == COUNTED) {
        metrics.incRecordsWritten(uncounted);
        uncounted = 0;
      }
    }
    metrics.incRecordsWritten(uncounted);
    for (PartitionStream stream : streams) {
      if (stream != null) {
        stream.close();
      }
    }
    long start = System.nanoTime();
    long[] lengths = commit(store, shuffle, map, draft, chains);
    metrics.incWriteTime(System.nanoTime() - start);
    metrics.incBytesWritten(MapOutput.total(lengths));
    status = MapStatus$.MODULE$.apply(blocks.shuffleServerId(), lengths);
  }

  private PartitionStream stream(int partition) {
    PartitionStream stream = streams[partition];
    if (stream == null) {
      chains[partition] = new Chain(draft);
      stream = new PartitionStream(new ShuffleBlockId(shuffle, map, partition), blocks.serializerManager(), serializer,
          chains[partition]);
      streams[partition] = stream;
    }
    return stream;
  }

  /**
   * Makes chains the output of a map.
   *
   * @param chains of each partition; null for those without a byte
   */
  static long[] commit(OutputStore store, int shuffle, int map, Draft draft, Chain[] chains) throws IOException {
    Chain rests = new Chain(draft);
    long[] lengths = new long[chains.length];
    long[] rest = new long[chains.length];
    for (int i = 0; i < chains.length; i++) {
      if (chains[i] != null) {
        lengths[i] = chains[i].length();
        long before = rests.length();
        chains[i].end(rests);
        rest[i] = rests.length() - before;
      }
    }
    rests.end();
    List<Piece> pieces = new ArrayList<>();
    Chain.Cursor ends = rests.new Cursor();
    for (int i = 0; i < chains.length; i++) {
      if (chains[i] != null) {
        chains[i].new Cursor().next(lengths[i] - rest[i], pieces);
        ends.next(rest[i], pieces);
      }
    }
    store.commit(shuffle, map, lengths, draft, pieces);
    return lengths;
  }

  @Override
  public Option<MapStatus> stop(boolean success) {
    draft.discard();
    if (stopped) {
      return Option.empty();
    }
    stopped = true;
    if (success && status == null) {
      throw new IllegalStateException("nothing was written");
    }
    return success ? Option.apply(status) : Option.empty();
  }
}

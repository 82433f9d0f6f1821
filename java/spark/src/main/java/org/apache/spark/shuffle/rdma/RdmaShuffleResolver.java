package org.apache.spark.shuffle.rdma;

import io.howdah.engine.RegisteredBuffer;
import java.io.File;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.network.BlockTransferService;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.rdma.OutputRegions;
import org.apache.spark.network.rdma.RdmaBlockTransferService;
import org.apache.spark.network.rdma.RdmaManagedBuffer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.util.Utils$;

/** Spark's resolver of map output, in front of whose files there is output in the engine's memory. Thread-safe. */
public class RdmaShuffleResolver extends IndexShuffleBlockResolver implements OutputStore.Disk {
  private final TaskBlocks local = new TaskBlocks();
  private volatile OutputStore store;
  private boolean started;

  /** @param blocks null for those of SparkEnv */
  RdmaShuffleResolver(SparkConf conf, BlockManager blocks) {
    super(conf, blocks);
  }

  /** Output in memory. @return null if this process has no engine */
  final OutputStore store() {
    return store != null ? store : started();
  }

  private synchronized OutputStore started() {
    if (!started) {
      started = true;
      SparkEnv env = SparkEnv.get();
      BlockTransferService service = env.blockManager().blockTransferService();
      if (service instanceof RdmaBlockTransferService) {
        start(((RdmaBlockTransferService) service).outputRegions(env.memoryManager()));
      }
    }
    return store;
  }

  /** @param regions null if there is no memory for map output */
  final synchronized void start(OutputRegions regions) {
    started = true;
    if (regions != null) {
      store = new OutputStore(new OutputMemory(new Source(regions)), this, new Counts(regions));
    }
  }

  private static final class Source implements OutputMemory.Source {
    private final OutputRegions regions;

    Source(OutputRegions regions) {
      this.regions = regions;
    }

    @Override
    public int regionSize() {
      return regions.size();
    }

    @Override
    public RegisteredBuffer allocate() {
      return regions.allocate();
    }

    @Override
    public void release(RegisteredBuffer region) {
      regions.release(region);
    }
  }

  private static final class Counts implements OutputStore.Meter {
    private final OutputRegions regions;

    Counts(OutputRegions regions) {
      this.regions = regions;
    }

    @Override
    public void kept(long bytes) {
      regions.kept(bytes);
    }

    @Override
    public void filed(long bytes) {
      regions.filed(bytes);
    }
  }

  // Spark's resolver.

  @Override
  public ManagedBuffer getBlockData(ShuffleBlockId id) {
    OutputStore from = store;
    MapOutput output = from == null ? null : from.pin(id.shuffleId(), id.mapId());
    if (output == null) {
      return super.getBlockData(id);
    }
    ManagedBuffer block = null;
    try {
      block = new RdmaManagedBuffer(output.partition(id.reduceId()), output.lengths[id.reduceId()],
          () -> from.unpin(output));
    } finally {
      if (block == null) {
        from.unpin(output);
      }
    }
    TaskContext task = TaskContext.get();
    if (task != null) {
      local.add(task, block);
    }
    return block;
  }

  @Override
  public void writeIndexFileAndCommit(int shuffleId, int mapId, long[] lengths, File data) {
    SerialOutput serial = SerialOutput.current();
    if (serial != null) {
      serial.commitInstead(lengths, data);
    } else if (store != null && data != null) {
      store.commit(shuffleId, mapId, lengths, data);
    } else {
      super.writeIndexFileAndCommit(shuffleId, mapId, lengths, data);
    }
  }

  @Override
  public void removeDataByMap(int shuffleId, int mapId) {
    if (store != null) {
      store.remove(shuffleId, mapId);
    }
    super.removeDataByMap(shuffleId, mapId);
  }

  /** Removes what a shuffle has in memory, and in files that the store wrote. */
  final void forget(int shuffle) {
    if (store != null) {
      store.remove(shuffle);
    }
  }

  @Override
  public void stop() {
    if (store != null) {
      store.close();
    }
    super.stop();
  }

  // Files, for the store.

  @Override
  public File temporary(int shuffle, int map) {
    return Utils$.MODULE$.tempFileWith(getDataFile(shuffle, map));
  }

  @Override
  public void commit(int shuffle, int map, long[] lengths, File data) {
    super.writeIndexFileAndCommit(shuffle, map, lengths, data);
  }

  @Override
  public boolean isWhole(int shuffle, int map, long[] lengths) {
    return getDataFile(shuffle, map).length() == MapOutput.total(lengths);
  }

  @Override
  public void remove(int shuffle, int map) {
    super.removeDataByMap(shuffle, map);
  }
}

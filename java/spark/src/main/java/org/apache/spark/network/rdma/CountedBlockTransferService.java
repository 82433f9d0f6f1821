package org.apache.spark.network.rdma;

import io.howdah.upgrade.Traffic;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import scala.concurrent.Future;
import scala.reflect.ClassTag;
import scala.runtime.BoxedUnit;

/**
 * Spark's own block transfer, with what it does counted: what a process has whose engine was asked for and can't be
 * used, and what serves those peers that have none. Thread-safe.
 */
class CountedBlockTransferService extends NettyBlockTransferService {
  private final RdmaBlockMetrics metrics = new RdmaBlockMetrics();
  private final AtomicBoolean summed = new AtomicBoolean();
  private final Traffic traffic = Traffic.of(BlockMetrics.TRAFFIC, Traffic.SOCKET);
  private TransferReporter reporter;
  /** A standalone worker kills its executors, often before they have closed anything. */
  private final Thread atExit = new Thread(this::sum, "rdma-block-summary");

  CountedBlockTransferService(SparkConf conf, SecurityManager security, String bindAddress, String host, int port,
      int cores) {
    super(conf, security, bindAddress, host, port, cores);
  }

  /** Spark's own in place of ours, which is counted here. */
  static NettyBlockTransferService withoutEngine(CountedBlockTransferService service) {
    service.metrics.fallbacks.inc();
    return service;
  }

  final RdmaBlockMetrics metrics() {
    return metrics;
  }

  @Override
  public void init(BlockDataManager blocks) {
    super.init(blocks);
    Runtime.getRuntime().addShutdownHook(atExit);
    if (SparkEnv.get() != null && SparkEnv.get().metricsSystem() != null) {
      SparkEnv.get().metricsSystem().registerSource(metrics);
      reporter = TransferReporter.start(SparkEnv.get(), metrics.registry());
    }
  }

  @Override
  public void fetchBlocks(String host, int port, String execId, String[] blocks, BlockFetchingListener listener) {
    super.fetchBlocks(host, port, execId, blocks, counted(listener));
  }

  /** The same listener, with blocks that come over Netty counted. */
  final BlockFetchingListener counted(BlockFetchingListener listener) {
    return new NettyListener(listener);
  }

  private final class NettyListener implements BlockFetchingListener {
    private final BlockFetchingListener listener;

    NettyListener(BlockFetchingListener listener) {
      this.listener = listener;
    }

    @Override
    public void onBlockFetchSuccess(String block, ManagedBuffer data) {
      metrics.nettyBlocks.inc();
      metrics.nettyBytes.inc(data.size());
      traffic.call(data.size());
      listener.onBlockFetchSuccess(block, data);
    }

    @Override
    public void onBlockFetchFailure(String block, Throwable cause) {
      listener.onBlockFetchFailure(block, cause);
    }
  }

  @Override
  public Future<BoxedUnit> uploadBlock(String host, int port, String execId, BlockId block, ManagedBuffer data,
      StorageLevel level, ClassTag<?> type) {
    metrics.nettyUploads.inc();
    return super.uploadBlock(host, port, execId, block, data, level, type);
  }

  @Override
  public void close() {
    super.close();
    if (reporter != null) {
      reporter.close();
    }
    sum();
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      BlockLog.LOG.debug("the process is about to end", e);
    }
  }

  private void sum() {
    if (summed.compareAndSet(false, true)) {
      BlockLog.LOG.info("Block transfer {}", metrics);
    }
  }
}

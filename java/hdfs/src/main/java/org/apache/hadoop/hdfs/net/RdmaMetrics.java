package org.apache.hadoop.hdfs.net;

import io.howdah.upgrade.UpgradeMetrics;
import org.apache.hadoop.metrics2.annotation.Metric;
import org.apache.hadoop.metrics2.annotation.Metrics;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;
import org.apache.hadoop.metrics2.lib.MutableGaugeInt;
import org.apache.hadoop.metrics2.lib.MutableStat;

/** What the process did about block data over the engine, beside DataNodeMetrics. Thread-safe. */
@Metrics(name = RdmaMetrics.NAME, about = "Block data over the engine", context = "dfs")
public final class RdmaMetrics {
  static final String NAME = "HowdahHdfs";
  private static RdmaMetrics instance;

  // CHECKSTYLE would have these final: metrics2 sets them.
  @Metric("Connections to DataNodes made over the engine")
  private MutableCounterLong clientConnections;
  @Metric("Connections to DataNodes that went on over a socket although the engine was enabled")
  private MutableCounterLong clientFallbacks;
  @Metric("Blocks that were begun on all replicas at once")
  private MutableCounterLong clientParallelBlocks;
  @Metric("Greetings that DataNodes of the process saw")
  private MutableCounterLong serverGreetings;
  @Metric("Greetings that ended without a link")
  private MutableCounterLong serverGreetingsFailed;
  @Metric("Connections that DataNodes of the process took over the engine")
  private MutableCounterLong serverConnections;
  @Metric("Connections that DataNodes of the process took over sockets although the engine was enabled")
  private MutableCounterLong serverSockets;
  @Metric("Packets of blocks that DataNodes of the process left in the engine's memory")
  private MutableCounterLong serverPacketsInPlace;
  @Metric("Packets that stages of DataNodes received ahead of the thread that writes them")
  private MutableCounterLong stagePackets;
  @Metric("Blocks that found no thread of the stages free, each time they looked for one")
  private MutableCounterLong stageRefusals;
  @Metric("Threads of the stages at work")
  private MutableGaugeInt stageHandlersBusy;
  @Metric("Packets that wait between the stages and the threads that write them")
  private MutableGaugeInt stageQueued;
  @Metric("Microseconds to verify a packet's checksums in a stage")
  private MutableStat stageProcessMicros;
  @Metric("Microseconds to send a packet to the next DataNode in a stage")
  private MutableStat stageReplicateMicros;
  @Metric("Microseconds that a packet waits to be written after a stage")
  private MutableStat stageWaitMicros;
  @Metric("Bytes sent over the engine")
  private MutableCounterLong bytesSent;
  @Metric("Bytes received over the engine")
  private MutableCounterLong bytesReceived;

  RdmaMetrics() {
  }

  /** What is told of connections, counted here. */
  static UpgradeMetrics counters() {
    return new UpgradeMetrics() {
      @Override
      public void clientFellBack() {
        get().clientFallbacks.incr();
      }

      @Override
      public void greeted() {
        get().serverGreetings.incr();
      }

      @Override
      public void greetingFailed() {
        get().serverGreetingsFailed.incr();
      }
    };
  }

  static synchronized RdmaMetrics get() {
    if (instance == null) {
      instance = DefaultMetricsSystem.instance().register(NAME, "Block data over the engine", new RdmaMetrics());
    }
    return instance;
  }

  MutableCounterLong clientConnections() {
    return clientConnections;
  }

  MutableCounterLong clientFallbacks() {
    return clientFallbacks;
  }

  MutableCounterLong clientParallelBlocks() {
    return clientParallelBlocks;
  }

  /** A block, or the rest of it after a recovery, goes to all replicas at once. */
  public static void countParallelBlock() {
    get().clientParallelBlocks.incr();
  }

  MutableCounterLong serverConnections() {
    return serverConnections;
  }

  MutableCounterLong serverSockets() {
    return serverSockets;
  }

  MutableCounterLong serverPacketsInPlace() {
    return serverPacketsInPlace;
  }

  MutableCounterLong stagePackets() {
    return stagePackets;
  }

  MutableCounterLong stageRefusals() {
    return stageRefusals;
  }

  MutableGaugeInt stageHandlersBusy() {
    return stageHandlersBusy;
  }

  MutableGaugeInt stageQueued() {
    return stageQueued;
  }

  MutableStat stageProcessMicros() {
    return stageProcessMicros;
  }

  MutableStat stageReplicateMicros() {
    return stageReplicateMicros;
  }

  MutableStat stageWaitMicros() {
    return stageWaitMicros;
  }

  MutableCounterLong bytesSent() {
    return bytesSent;
  }

  MutableCounterLong bytesReceived() {
    return bytesReceived;
  }
}

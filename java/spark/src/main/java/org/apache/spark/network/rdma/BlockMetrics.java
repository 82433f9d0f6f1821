package org.apache.spark.network.rdma;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricRegistry;
import io.howdah.engine.Engine;
import io.howdah.upgrade.UpgradeMetrics;
import java.io.IOException;

/** What a service did. Thread-safe. */
class BlockMetrics implements UpgradeMetrics {
  /** What the process-wide counts call fetched blocks. */
  static final String TRAFFIC = "spark.fetch";
  static final String TASK_WAIT = "tasks.fetch.wait.ms";

  private final MetricRegistry registry = new MetricRegistry();

  /** Blocks and bytes that this process fetched, over the engine and over Netty. */
  final Counter blocks = registry.counter("engine.blocks");
  final Counter bytes = registry.counter("engine.bytes");
  final Counter nettyBlocks = registry.counter("netty.blocks");
  final Counter nettyBytes = registry.counter("netty.bytes");
  /** Requests that these blocks took. */
  final Counter requests = registry.counter("engine.requests");
  final Counter failures = registry.counter("engine.failures");
  /** Answers that had no room for all that was asked for. */
  final Counter fullAnswers = registry.counter("engine.answers.full");
  /** Times that requests waited because as many bytes were under way as the engine's memory has room for. */
  final Counter creditWaits = registry.counter("engine.waits.memory");
  /** Bytes that were copied out of the engine's memory because its limit left no room for them. */
  final Counter copiedBytes = registry.counter("engine.bytes.copied");
  /** Blocks sent to others to be kept there. */
  final Counter uploads = registry.counter("engine.uploads");
  final Counter nettyUploads = registry.counter("netty.uploads");
  /** Sessions with peers, and peers that do not take our greeting. */
  final Counter sessions = registry.counter("engine.sessions");
  final Counter fallbacks = registry.counter("fallbacks");
  /** Greetings that the server saw, those without a link, and connections that Netty served. */
  final Counter greetings = registry.counter("served.greetings");
  final Counter greetingsFailed = registry.counter("served.greetings.failed");
  final Counter nettyConnections = registry.counter("served.netty.connections");
  /** What was served. */
  final Counter servedBlocks = registry.counter("served.blocks");
  final Counter servedBytes = registry.counter("served.bytes");
  final Counter servedRequests = registry.counter("served.requests");
  final Counter refused = registry.counter("served.refused");
  final Counter stalls = registry.counter("served.stalls");
  /** Blocks whose memory Spark has not given back. */
  final Counter held = registry.counter("held.bytes");
  /** Bytes of map output that became output in memory, and in files, with spark.shuffle.manager=rdma. */
  final Counter outputKept = registry.counter("output.memory.bytes");
  final Counter outputFiled = registry.counter("output.file.bytes");
  /** In the driver: milliseconds that all tasks together waited for blocks, by Spark's count. */
  final Counter taskWait = registry.counter(TASK_WAIT);

  @Override
  public void clientFellBack() {
    fallbacks.inc();
  }

  @Override
  public void greeted() {
    greetings.inc();
  }

  @Override
  public void greetingFailed() {
    greetingsFailed.inc();
  }

  final void watch(Engine engine) {
    registry.register("engine.memory.pinned", gauge(engine, "memory.pinned.now"));
    registry.register("engine.memory.used", gauge(engine, "memory.used.now"));
    registry.register("engine.links", gauge(engine, "links.now"));
  }

  private static Gauge<Long> gauge(Engine engine, String name) {
    return () -> {
      try {
        return engine.isOpen() ? engine.counters().asMap().getOrDefault(name, 0L) : 0L;
      } catch (IOException e) {
        return 0L; // it was closed in between
      }
    };
  }

  final MetricRegistry registry() {
    return registry;
  }

  @Override
  public String toString() {
    return String.format("fetched %d blocks of %d bytes over the engine (%d requests, %d failures) and %d of %d bytes "
        + "over Netty; uploaded %d and %d; served %d of %d bytes (%d requests, %d refused, %d waits for memory); "
        + "%d sessions, %d fallbacks; map output: %d bytes in memory, %d in files", blocks.getCount(), bytes.getCount(),
        requests.getCount(), failures.getCount(), nettyBlocks.getCount(), nettyBytes.getCount(), uploads.getCount(),
        nettyUploads.getCount(), servedBlocks.getCount(), servedBytes.getCount(), servedRequests.getCount(),
        refused.getCount(), stalls.getCount(), sessions.getCount(), fallbacks.getCount(), outputKept.getCount(),
        outputFiled.getCount());
  }
}

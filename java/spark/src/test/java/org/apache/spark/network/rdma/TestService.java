package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineOption;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.reflect.ClassTag;

/** A block transfer service with an engine of its own, as if it were another process's, and blocks to serve. */
final class TestService implements BlockDataManager, AutoCloseable {
  static final String HOST = "127.0.0.1";
  static final String APP = "app-of-the-test";
  /** A block that is not found before the test lets it. */
  static final String SLOW = "rdd_7_7";

  final Map<String, ManagedBuffer> blocks = new ConcurrentHashMap<>();
  final Map<String, byte[]> stored = new ConcurrentHashMap<>();
  final AtomicInteger asked = new AtomicInteger();
  final CountDownLatch answer = new CountDownLatch(1);
  final Engine engine;
  final RdmaBlockTransferService rdma;
  final NettyBlockTransferService service;

  private TestService(SparkConf conf, Engine engine, int port) throws Exception {
    this.engine = engine;
    conf.set(RdmaBlockConf.ENABLED, String.valueOf(engine != null));
    SecurityManager security = new SecurityManager(conf, Option.empty());
    rdma = engine == null ? null : new RdmaBlockTransferService(conf, security, HOST, HOST, port, 2, engine);
    service = engine == null ? new NettyBlockTransferService(conf, security, HOST, HOST, port, 2) : rdma;
    service.init(this);
  }

  /** Over shared memory. @param options engine options after "engine.", else Spark's */
  static TestService rdma(String... options) throws Exception {
    EngineConf engine = engineConf();
    for (String option : options) {
      if (option.startsWith("engine.")) {
        String[] parts = option.substring("engine.".length()).split("=", 2);
        engine.set(EngineConf.PREFIX + parts[0], parts[1], "the test");
      }
    }
    return new TestService(conf(options), Engine.create(engine), 0);
  }

  static EngineConf engineConf() {
    return new EngineConf().set(EngineOption.TRANSPORT, "shm").environment(false);
  }

  /** An engine that services come and go in, as in a process that lives longer than they do. */
  static Engine process() throws Exception {
    return Engine.acquire(engineConf());
  }

  /** A service in that. @param port 0 for any */
  static TestService in(Engine process, int port, String... options) throws Exception {
    assertThat(process.isOpen()).isTrue();
    return new TestService(conf(options), Engine.acquire(engineConf()), port);
  }

  /** Stock Spark's. */
  static TestService netty(String... options) throws Exception {
    return new TestService(conf(options), null, 0);
  }

  static SparkConf conf(String... options) {
    SparkConf conf = new SparkConf(false).set("spark.app.id", APP).set("spark.shuffle.io.retryWait", "100ms");
    for (String option : options) {
      if (!option.startsWith("engine.")) {
        String[] parts = option.split("=", 2);
        conf.set(parts[0], parts[1]);
      }
    }
    return conf;
  }

  int port() {
    return service.port();
  }

  @Override
  public ManagedBuffer getBlockData(BlockId id) {
    asked.incrementAndGet();
    if (id.toString().equals(SLOW)) {
      try {
        answer.await();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
    ManagedBuffer block = blocks.get(id.toString());
    if (block == null) {
      throw new IllegalStateException("no " + id + " in the test");
    }
    return block.retain();
  }

  @Override
  public boolean putBlockData(BlockId id, ManagedBuffer data, StorageLevel level, ClassTag<?> type) {
    try {
      if (id.toString().equals("rdd_6_6")) {
        throw new IllegalStateException("no room for " + id);
      }
      byte[] bytes = new byte[(int) data.size()];
      data.nioByteBuffer().get(bytes);
      stored.put(id + " " + level.description() + " " + type, bytes);
      return true;
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Override
  public void releaseLock(BlockId id, Option<Object> task) {
    throw new UnsupportedOperationException();
  }

  /** A block in memory that counts who holds it. */
  static final class Counted extends NioManagedBuffer {
    final AtomicInteger held = new AtomicInteger();

    Counted(byte[] bytes) {
      super(java.nio.ByteBuffer.wrap(bytes));
    }

    @Override
    public ManagedBuffer retain() {
      held.incrementAndGet();
      return this;
    }

    @Override
    public ManagedBuffer release() {
      held.decrementAndGet();
      return this;
    }
  }

  @Override
  public void close() {
    service.close();
  }
}

package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineOption;
import io.howdah.upgrade.PeerCache;
import io.howdah.upgrade.Upgrade;
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

  /** An option of a network that is not there: components that set it otherwise do not share an engine. */
  private static final String OWN = RdmaBlockConf.PREFIX + "verbs.traffic.class";
  private static final String OF_PROCESS = OWN + "=255";
  private static final AtomicInteger ENGINES = new AtomicInteger();

  final Map<String, ManagedBuffer> blocks = new ConcurrentHashMap<>();
  final Map<String, byte[]> stored = new ConcurrentHashMap<>();
  final AtomicInteger asked = new AtomicInteger();
  final CountDownLatch answer = new CountDownLatch(1);
  final Engine engine;
  final RdmaBlockTransferService rdma;
  final NettyBlockTransferService service;

  private TestService(SparkConf conf, boolean overEngine, int port) throws Exception {
    SecurityManager security = new SecurityManager(conf, Option.empty());
    RdmaBlockConf options = SparkOptions.of(conf);
    assertThat(overEngine && options.upgrade().isUsable()).isEqualTo(overEngine);
    rdma = overEngine ? new RdmaBlockTransferService(conf, security, HOST, HOST, port, 2, options) : null;
    service = overEngine ? rdma : new NettyBlockTransferService(conf, security, HOST, HOST, port, 2);
    engine = overEngine ? rdma.engine() : null;
    service.init(this);
  }

  /** With an engine that no other service has. @param options engine options after "engine.", else Spark's */
  static TestService rdma(String... options) throws Exception {
    return new TestService(conf(options).set(OWN, String.valueOf(1 + ENGINES.getAndIncrement() % 254)), true, 0);
  }

  /** Of an engine that is no service's. */
  static EngineConf engineConf() {
    return new EngineConf().set(EngineOption.TRANSPORT, "shm").environment(false);
  }

  /** Keeps an engine that services come and go in, as in a process that lives longer than they do. */
  static Upgrade process() throws Exception {
    Upgrade process = SparkOptions.of(conf(RdmaBlockConf.REQUIRED + "=true", OF_PROCESS)).upgrade();
    assertThat(process.isUsable()).isTrue();
    return process;
  }

  /** A service in that. @param port 0 for any */
  static TestService in(Upgrade process, int port, String... options) throws Exception {
    SparkConf conf = conf(options).set(OWN, OF_PROCESS.substring(OWN.length() + 1));
    TestService service = new TestService(conf, true, port);
    assertThat(service.engine).isSameAs(process.engine());
    return service;
  }

  /** Stock Spark's. */
  static TestService netty(String... options) throws Exception {
    return new TestService(conf(options), false, 0);
  }

  static SparkConf conf(String... options) {
    SparkConf conf = new SparkConf(false).set("spark.app.id", APP).set("spark.shuffle.io.retryWait", "100ms");
    for (String option : options) {
      String[] parts = option.split("=", 2);
      conf.set(parts[0].replaceFirst("^engine[.]", RdmaBlockConf.PREFIX), parts[1]);
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
    PeerCache.ofThisProcess().clear(); // ports come again
  }
}

package org.apache.spark.network.rdma;

import io.howdah.engine.Engine;
import io.howdah.upgrade.BadOptionException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkException;
import org.apache.spark.memory.MemoryManager;
import org.apache.spark.network.BlockDataManager;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.apache.spark.network.netty.SparkTransportConf;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.RetryingBlockFetcher;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.ThreadUtils;
import scala.collection.immutable.List;
import scala.concurrent.Future;
import scala.concurrent.Promise;
import scala.concurrent.Promise$;
import scala.concurrent.duration.Duration;
import scala.reflect.ClassTag;
import scala.runtime.BoxedUnit;

/**
 * Spark's block transfer service with the engine in front: blocks of peers that take our greeting come over it, blocks
 * of others over Netty, which this also is. SparkEnv makes one by {@link #create}. Thread-safe.
 */
public class RdmaBlockTransferService extends CountedBlockTransferService {
  private static final int UPLOAD_THREADS = 16;

  private final RdmaBlockConf options;
  private final Engine engine;
  private final SparkConf configuration;
  private final SecurityManager security;
  private final JavaSerializer serializer;
  private final TransportConf transport;
  private final String serviceName = BlockServer.newName();
  private final Greeter greeter;
  private BlockClient client;
  private BlockServer server;
  private MemoryShares shares;
  private ExecutorService uploads;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** @param options of which the engine is usable */
  RdmaBlockTransferService(SparkConf conf, SecurityManager security, String bindAddress, String host, int port,
      int cores, RdmaBlockConf options) throws IOException {
    super(conf, security, bindAddress, host, port, cores);
    this.options = options;
    this.engine = options.upgrade().metrics(metrics()).engine();
    this.configuration = conf;
    this.security = security;
    this.serializer = new JavaSerializer(conf);
    this.transport = SparkTransportConf.fromSparkConf(conf, "shuffle", cores);
    this.greeter = new Greeter(options.upgrade(), serviceName, metrics());
    metrics().watch(engine);
  }

  /**
   * The block transfer service that the configuration asks for; Spark's own if the engine is switched off. The
   * parameters are those of Spark's own.
   *
   * @throws IllegalArgumentException for values that are not valid
   * @throws IllegalStateException if the engine is required and can't be used
   */
  public static NettyBlockTransferService create(SparkConf conf, SecurityManager security, String bindAddress,
      String host, int port, int cores) {
    RdmaBlockConf options = isLocal(conf) ? null : SparkOptions.of(conf);
    if (options == null || !options.isEnabled()) {
      return new NettyBlockTransferService(conf, security, bindAddress, host, port, cores);
    }
    if (conf.get("spark.executor.id", "").equals("driver")) {
      options.upgrade().checkNames();
    }
    try {
      if (isUsable(options, conf, security)) {
        ContainerMemory.account(conf, SparkOptions.memoryLimit(conf));
        TransferListener.add(conf);
        return new RdmaBlockTransferService(conf, security, bindAddress, host, port, cores, options);
      }
    } catch (BadOptionException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    } catch (IOException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
    return withoutEngine(new CountedBlockTransferService(conf, security, bindAddress, host, port, cores));
  }

  private static boolean isUsable(RdmaBlockConf options, SparkConf conf, SecurityManager security) throws IOException {
    String obstacle = obstacle(conf, security);
    if (obstacle == null) {
      return options.upgrade().isUsable();
    }
    if (options.isRequired()) {
      throw new IOException(options.cannot(obstacle));
    }
    options.upgrade().fellBack("", "Block transfer uses sockets", obstacle);
    return false;
  }

  /** One process, so there is nobody to talk to. */
  static boolean isLocal(SparkConf conf) {
    String master = conf.get("spark.master", "");
    return master.equals("local") || master.startsWith("local[");
  }

  private static String obstacle(SparkConf conf, SecurityManager security) {
    if (SparkOptions.areEncrypted(conf, security)) {
      return "spark.authenticate.enableSaslEncryption or spark.network.sasl.serverAlwaysEncrypt asks for encryption, "
          + "which the engine does not do";
    }
    if (!conf.get("spark.shuffle.io.mode", "NIO").equalsIgnoreCase("NIO")) {
      return "spark.shuffle.io.mode is not NIO";
    }
    return null;
  }

  // What the parts ask for.

  RdmaBlockConf options() {
    return options;
  }

  int timeoutMillis() {
    return transport.connectionTimeoutMs();
  }

  Engine engine() {
    return engine;
  }

  BlockServer server() {
    return server;
  }

  BlockClient client() {
    return client;
  }

  /**
   * Memory for this process's map output.
   *
   * @param memory Spark's, which is to account for it
   * @return null if output goes to files
   */
  public OutputRegions outputRegions(MemoryManager memory) {
    return shares.output() == 0 ? null : new OutputRegions(engine, shares, memory, metrics());
  }

  // The service.

  @Override
  public void init(BlockDataManager blocks) {
    super.init(blocks);
    try {
      Handshake handshake = new Handshake(configuration.getAppId(),
          security.isAuthenticationEnabled() ? security : null);
      shares = new MemoryShares(engine, true, OutputConf.fraction(configuration, options));
      client = new BlockClient(engine, this, transport, handshake, shares);
      server = new BlockServer(engine, serviceName, new ServerOptions(options, transport, shares), metrics(), handshake,
          new ExecutorBlocks(blocks), new UploadReceiver(serializer, blocks));
    } catch (IOException e) {
      throw new IllegalStateException("block transfer over the engine can't start: " + e.getMessage(), e);
    }
    uploads = ThreadUtils.newDaemonCachedThreadPool("rdma-block-upload", UPLOAD_THREADS, 60);
  }

  /** What Spark's server looks at connections with; a hook of the patched super class calls it. Ours comes first. */
  public List<TransportServerBootstrap> serverBootstraps(List<TransportServerBootstrap> own) {
    return own.$colon$colon(greeter);
  }

  @Override
  public void fetchBlocks(String host, int port, String execId, String[] blocks, BlockFetchingListener listener) {
    fetch(host, port, null, blocks, listener, (some, hears) -> super.fetchBlocks(host, port, execId, some, hears));
  }

  /** As Spark's own, which has the block copied by the thread that takes the answers, and a large one twice. */
  @Override
  public ManagedBuffer fetchBlockSync(String host, int port, String execId, String block) {
    try (AwaitedBlock awaited = new AwaitedBlock()) {
      fetchBlocks(host, port, execId, new String[] {block}, awaited);
      return new NioManagedBuffer(AwaitedBlock.copy(ThreadUtils.awaitResult(awaited.future(), Duration.Inf())));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (SparkException e) { // what the caller of Spark's own gets, which declares nothing
      Platform.throwException(e);
      throw new IllegalStateException(e);
    }
  }

  /** Stock Spark's way to a peer's blocks. */
  interface Stock {
    void fetch(String[] blocks, BlockFetchingListener listener);
  }

  /**
   * @param executor whose blocks they are if the peer is a shuffle service, else null
   * @param stock how they come if the peer does not take our greeting
   */
  void fetch(String host, int port, String executor, String[] blocks, BlockFetchingListener reader, Stock stock) {
    BlockFetchingListener listener = new ToldListener(reader);
    try {
      if (client.peer(host, port).isPlain()) { // Netty's own retries are enough
        stock.fetch(blocks, listener);
        return;
      }
      RetryingBlockFetcher.BlockFetchStarter starter = (some, hears) -> {
        ClientSession session = client.peer(host, port).session();
        if (session != null) {
          BlockFetch.start(session, client, executor, some, hears);
        } else {
          stock.fetch(some, hears);
        }
      };
      if (transport.maxIORetries() > 0) {
        new RetryingBlockFetcher(transport, starter, blocks, listener).start();
      } else {
        starter.createAndStart(blocks, listener);
      }
    } catch (IOException | InterruptedException | RuntimeException e) {
      BlockLog.LOG.error("Blocks of {}:{} can't be fetched", host, port, e);
      for (String block : blocks) {
        listener.onBlockFetchFailure(block, e);
      }
    }
  }

  @Override
  public Future<BoxedUnit> uploadBlock(String host, int port, String execId, BlockId block, ManagedBuffer data,
      StorageLevel level, ClassTag<?> type) {
    Promise<BoxedUnit> result = Promise$.MODULE$.apply();
    try {
      ClientSession session = client.peer(host, port).session();
      if (session == null) {
        return super.uploadBlock(host, port, execId, block, data, level, type);
      }
      Upload upload = new Upload(block, data, level, type, serializer);
      uploads.execute(() -> {
        try {
          upload.send(session, timeoutMillis());
          metrics().uploads.inc();
          result.success(BoxedUnit.UNIT);
        } catch (Throwable e) { // the task waits for the result without a limit
          BlockLog.LOG.error("Block {} could not be sent to {}:{}", block, host, port, e);
          result.tryFailure(e);
        }
      });
    } catch (IOException | RuntimeException e) {
      result.tryFailure(e);
    }
    return result.future();
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    super.close();
    greeter.close();
    if (uploads != null) {
      uploads.shutdownNow();
    }
    if (client != null) {
      client.close();
    }
    if (server != null) {
      server.close();
    }
    options.upgrade().close();
  }
}

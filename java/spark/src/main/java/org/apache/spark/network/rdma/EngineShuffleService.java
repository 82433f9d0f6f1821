package org.apache.spark.network.rdma;

import com.codahale.metrics.JmxReporter;
import io.howdah.engine.Engine;
import io.howdah.engine.EngineUnavailableException;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.sasl.SecretKeyHolder;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.shuffle.ExternalShuffleBlockHandler;
import org.apache.spark.network.shuffle.ExternalShuffleBlockResolver;
import org.apache.spark.network.shuffle.ShuffleFiles;
import org.apache.spark.network.util.TransportConf;

/**
 * What an external shuffle service has of the engine: it greets on the service's port and serves the files of the
 * executors that have registered with it. Those who do not greet are the stock service's. Needs nothing of Spark but
 * its network modules. Thread-safe.
 */
public final class EngineShuffleService implements Closeable {
  private static final String DOMAIN = "io.howdah.spark.shuffle";

  private final BlockMetrics metrics = new BlockMetrics();
  private final JmxReporter jmx = JmxReporter.forRegistry(metrics.registry()).inDomain(DOMAIN).build();
  private final Engine engine;
  private final Greeter greeter;
  private final BlockServer server;

  /** @param engine null if it can't be used, which is shown all the same */
  private EngineShuffleService(Engine engine, ServerOptions options, ExternalShuffleBlockResolver files,
      SecretKeyHolder secrets) throws IOException {
    this.engine = engine;
    if (engine == null) {
      greeter = null;
      server = null;
    } else {
      String name = BlockServer.newName();
      metrics.watch(engine);
      greeter = new Greeter(engine, name, metrics);
      server = new BlockServer(engine, name, options, metrics, new Handshake(null, secrets),
          (session, executor, block) -> find(files, session, executor, block), null);
    }
    jmx.start();
  }

  /**
   * In a NodeManager, whose configuration has Spark's options too.
   *
   * @param handler what stock clients are served by
   * @param secrets of the applications; null if nobody has to prove anything
   * @return null if nobody asked for the engine
   * @throws IllegalArgumentException for options that are not valid
   * @throws IOException if the engine is required and can't be used
   */
  public static EngineShuffleService start(Configuration hadoop, TransportConf transport,
      ExternalShuffleBlockHandler handler, SecretKeyHolder secrets) throws IOException {
    Map<String, String> options = new LinkedHashMap<>();
    for (Map.Entry<String, String> entry : hadoop) {
      if (entry.getKey().startsWith("spark.")) {
        options.put(entry.getKey(), hadoop.get(entry.getKey()));
      }
    }
    return start(new RdmaBlockConf(options, "Hadoop's configuration", () -> hadoop), transport, handler, secrets);
  }

  static EngineShuffleService start(RdmaBlockConf conf, TransportConf transport, ExternalShuffleBlockHandler handler,
      SecretKeyHolder secrets) throws IOException {
    if (!conf.isEnabled()) {
      return null;
    }
    String obstacle = obstacle(transport, secrets);
    Engine engine = null;
    if (obstacle == null) {
      try {
        engine = Engine.acquire(conf.engine());
      } catch (EngineUnavailableException e) {
        obstacle = e.getMessage();
      }
    }
    if (engine == null && conf.isRequired()) {
      throw new IOException("the shuffle service has to serve over the engine (" + conf.origin()
          + "), which can't be used: " + obstacle);
    }
    MemoryShares memory = engine == null ? null : new MemoryShares(engine, false);
    EngineShuffleService service = open(engine, new ServerOptions(conf, transport, memory), ShuffleFiles.of(handler),
        secrets);
    if (engine == null) {
      BlockLog.LOG.warn("The shuffle service serves over Netty only: {}", obstacle);
      service.metrics.fallbacks.inc();
    } else {
      BlockLog.LOG.info("The shuffle service serves over {}, {}", Engine.description(), engine.affinity());
    }
    return service;
  }

  private static String obstacle(TransportConf transport, SecretKeyHolder secrets) {
    if (secrets != null && transport.saslServerAlwaysEncrypt()) {
      return "spark.network.sasl.serverAlwaysEncrypt asks for encryption, which the engine does not do";
    }
    return transport.ioMode().equals("NIO") ? null : "spark.shuffle.io.mode is not NIO";
  }

  private static EngineShuffleService open(Engine engine, ServerOptions options, ExternalShuffleBlockResolver files,
      SecretKeyHolder secrets) throws IOException {
    try {
      return new EngineShuffleService(engine, options, files, secrets);
    } catch (IOException | RuntimeException e) {
      if (engine != null) {
        engine.close();
      }
      throw e;
    }
  }

  /** The stock service's way to a block, for the application that the session is of. */
  private static ManagedBuffer find(ExternalShuffleBlockResolver files,
      ServerSession session, String executor, BlockName block) {
    if (executor == null) {
      throw new IllegalArgumentException("this is a shuffle service: it has to be said whose block " + block + " is");
    }
    return files.getBlockData(session.application(), executor, block.toString());
  }

  /** What the service's server has to look at connections with: ours first, if there is an engine. */
  public List<TransportServerBootstrap> before(List<TransportServerBootstrap> own) {
    List<TransportServerBootstrap> all = new ArrayList<>();
    if (greeter != null) {
      all.add(greeter);
    }
    all.addAll(own);
    return all;
  }

  BlockMetrics metrics() {
    return metrics;
  }

  Engine engine() {
    return engine;
  }

  @Override
  public void close() {
    if (engine != null) {
      greeter.close();
      server.close();
      engine.close();
    }
    jmx.stop();
    BlockLog.LOG.info("The shuffle service's blocks over the engine: {}", metrics);
  }
}

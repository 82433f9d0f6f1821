package org.apache.spark.network.rdma;

import com.codahale.metrics.JmxReporter;
import io.howdah.engine.Engine;
import io.howdah.upgrade.BadOptionException;
import io.howdah.upgrade.Role;
import io.howdah.upgrade.Upgrade;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
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
  private final Upgrade upgrade;
  private final Engine engine;
  private final Greeter greeter;
  private final BlockServer server;

  /** @param options of which the engine is usable, or that show only that it is not */
  private EngineShuffleService(RdmaBlockConf options, TransportConf transport, ExternalShuffleBlockResolver files,
      SecretKeyHolder secrets, boolean isUsable) throws IOException {
    upgrade = options.upgrade().metrics(metrics);
    if (!isUsable) {
      engine = null;
      greeter = null;
      server = null;
    } else {
      engine = upgrade.engine();
      String name = BlockServer.newName();
      metrics.watch(engine);
      greeter = new Greeter(upgrade, name, metrics);
      server = new BlockServer(engine, name, new ServerOptions(options, transport, new MemoryShares(engine, false, 0)),
          metrics, new Handshake(null, secrets),
          (session, executor, block) -> find(files, session, executor, block), null);
    }
    jmx.start();
  }

  /**
   * In a NodeManager, whose configuration has Spark's options too.
   *
   * @param handler what stock clients are served by
   * @param secrets of the applications; null if nobody has to prove anything
   * @return null if the engine is switched off
   * @throws BadOptionException for options that are not valid
   * @throws IOException if the engine is required and can't be used
   */
  public static EngineShuffleService start(Configuration hadoop, TransportConf transport,
      ExternalShuffleBlockHandler handler, SecretKeyHolder secrets) throws IOException {
    return start(new RdmaBlockConf(new HadoopSettings(hadoop), Role.DAEMON), transport, handler, secrets);
  }

  static EngineShuffleService start(RdmaBlockConf conf, TransportConf transport, ExternalShuffleBlockHandler handler,
      SecretKeyHolder secrets) throws IOException {
    if (!conf.isEnabled()) {
      return null;
    }
    conf.upgrade().checkNames();
    String obstacle = obstacle(transport, secrets);
    if (obstacle != null && conf.isRequired()) {
      throw new IOException(conf.cannot(obstacle));
    }
    if (obstacle != null) {
      conf.upgrade().fellBack("", "The shuffle service serves over sockets only", obstacle);
    }
    boolean isUsable = obstacle == null && conf.upgrade().isUsable();
    EngineShuffleService service = open(conf, transport, ShuffleFiles.of(handler), secrets, isUsable);
    if (isUsable) {
      conf.upgrade().note("The shuffle service serves over " + Engine.description());
    } else {
      service.metrics.fallbacks.inc();
    }
    return service;
  }

  private static String obstacle(TransportConf transport, SecretKeyHolder secrets) {
    if (secrets != null && transport.saslServerAlwaysEncrypt()) {
      return "spark.network.sasl.serverAlwaysEncrypt asks for encryption, which the engine does not do";
    }
    return transport.ioMode().equals("NIO") ? null : "spark.shuffle.io.mode is not NIO";
  }

  private static EngineShuffleService open(RdmaBlockConf options, TransportConf transport,
      ExternalShuffleBlockResolver files, SecretKeyHolder secrets, boolean isUsable) throws IOException {
    try {
      return new EngineShuffleService(options, transport, files, secrets, isUsable);
    } catch (IOException | RuntimeException e) {
      options.upgrade().close();
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

  /**
   * The server of the service can't be told to look for greetings.
   *
   * @throws IOException if the engine is required
   */
  public void cannotGreet(Throwable cause) throws IOException {
    if (upgrade.isRequired()) {
      throw new IOException("the shuffle service has to serve over the engine (" + upgrade.origin() + ") and can't: "
          + cause, cause);
    }
    metrics.fallbacks.inc();
    upgrade.fellBack("", "The shuffle service serves over sockets only", cause.toString());
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
      upgrade.close();
    }
    jmx.stop();
    BlockLog.LOG.info("The shuffle service's blocks over the engine: {}", metrics);
  }
}

package org.apache.spark.network.rdma;

import io.howdah.upgrade.BadOptionException;
import java.io.Closeable;
import java.io.IOException;
import java.util.List;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.shuffle.ExternalShuffleBlockHandler;
import org.apache.spark.network.util.TransportConf;

/** The engine's side of the shuffle service of a standalone worker, if the engine was asked for. Thread-safe. */
public final class WorkerShuffleService implements Closeable {
  private final EngineShuffleService engine;

  private WorkerShuffleService(EngineShuffleService engine) {
    this.engine = engine;
  }

  /**
   * Starts it; the parameters are what Spark's own service has.
   *
   * @throws IllegalArgumentException for options that are not valid
   * @throws IllegalStateException if the engine is required and can't be used
   */
  public static WorkerShuffleService start(SparkConf conf, SecurityManager security, TransportConf transport,
      ExternalShuffleBlockHandler handler) {
    try {
      return new WorkerShuffleService(EngineShuffleService.start(SparkOptions.ofWorker(conf), transport, handler,
          security.isAuthenticationEnabled() ? security : null));
    } catch (BadOptionException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    } catch (IOException e) {
      throw new IllegalStateException(e.getMessage(), e);
    }
  }

  /** What Spark's server has to look at connections with. */
  public List<TransportServerBootstrap> before(List<TransportServerBootstrap> own) {
    return engine == null ? own : engine.before(own);
  }

  @Override
  public void close() {
    if (engine != null) {
      engine.close();
    }
  }
}

package org.apache.spark.network.yarn;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.network.rdma.EngineShuffleService;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.network.yarn.util.HadoopConfigProvider;

/**
 * Spark's shuffle service for NodeManagers, which also serves over the engine, unless the NodeManager's configuration
 * switches that off. Then it is the same as ever. Thread-safe.
 */
public class RdmaYarnShuffleService extends YarnShuffleService {
  private EngineShuffleService engine;

  @Override
  protected void serviceInit(Configuration conf) throws Exception {
    super.serviceInit(conf);
    TransportServer server = (TransportServer) field(YarnShuffleService.class, "shuffleServer").get(this);
    if (server == null) {
      return; // it could not start, said so, and lets the NodeManager go on
    }
    TransportConf transport = new TransportConf("shuffle", new HadoopConfigProvider(conf));
    engine = EngineShuffleService.start(conf, transport, blockHandler, secretManager);
    if (engine != null) {
      try {
        greetAt(server);
      } catch (ReflectiveOperationException e) { // another Spark than the one that this was made for
        engine.cannotGreet(e);
      }
    }
  }

  /** The stock service has no way to say what is to look at its connections. */
  private void greetAt(TransportServer server) throws ReflectiveOperationException {
    Field bootstraps = field(TransportServer.class, "bootstraps");
    List<TransportServerBootstrap> own = new ArrayList<>();
    for (Object bootstrap : (List<?>) bootstraps.get(server)) {
      own.add((TransportServerBootstrap) bootstrap);
    }
    bootstraps.set(server, engine.before(own));
  }

  private static Field field(Class<?> of, String name) throws NoSuchFieldException {
    Field field = of.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }

  @Override
  protected void serviceStop() {
    if (engine != null) {
      engine.close();
      engine = null;
    }
    super.serviceStop();
  }
}

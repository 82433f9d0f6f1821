package org.apache.hadoop.ipc;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineUnavailableException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How a configuration wants RPC to go over the engine, and the engine itself. Immutable. */
final class RdmaRpc {
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.rpc");
  static final String ENABLED = "hadoop.rdma.rpc.enabled";

  private static final RdmaSettings SETTINGS = new RdmaSettings(LOG, "RPC", "hadoop.rdma.rpc.");
  private static final RdmaFallbacks<InetSocketAddress> FALLBACKS = new RdmaFallbacks<>(LOG);
  private static final AtomicInteger SERVERS = new AtomicInteger();

  private final boolean required;
  private final long remember;
  private final Engine engine;

  private RdmaRpc(Configuration conf) throws IOException {
    SETTINGS.check(conf);
    required = SETTINGS.isRequired(conf);
    remember = SETTINGS.remember(conf);
    engine = SETTINGS.engine(conf);
  }

  /**
   * @return null if RPC is to use sockets only
   * @throws IOException for values that are not valid, or if the engine is required and can't be used
   */
  static RdmaRpc of(Configuration conf) throws IOException {
    if (!SETTINGS.isEnabled(conf)) {
      return null;
    }
    try {
      return new RdmaRpc(conf);
    } catch (EngineUnavailableException e) {
      if (SETTINGS.isRequired(conf)) {
        throw SETTINGS.unusable(conf, e);
      }
      sayOnce(new InetSocketAddress(0), "RPC uses sockets: " + e.getMessage());
      return null;
    }
  }

  Engine engine() {
    return engine;
  }

  // Fallback.

  /** Whether to use the engine or fail. */
  boolean isRequired() {
    return required;
  }

  /** Whether this server is known not to take our greeting. */
  static boolean isPlain(InetSocketAddress server) {
    return FALLBACKS.isPlain(server);
  }

  void rememberPlain(InetSocketAddress server) {
    FALLBACKS.remember(server, remember);
  }

  static void forgetPlain() {
    FALLBACKS.forget();
  }

  /** Logs a fallback, once for each server and cause. */
  static void sayOnce(InetSocketAddress server, String text) {
    FALLBACKS.sayOnce(server, text);
  }

  /** A name for a server's streams, told to clients as they greet: a process may have several servers on one port. */
  static String newService(int port) {
    return "hadoop.rpc." + port + "." + SERVERS.incrementAndGet();
  }
}

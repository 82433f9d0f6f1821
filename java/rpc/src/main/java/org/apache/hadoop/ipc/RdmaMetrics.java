package org.apache.hadoop.ipc;

import io.howdah.upgrade.Role;
import io.howdah.upgrade.UpgradeMetrics;
import org.apache.hadoop.metrics2.MetricsCollector;
import org.apache.hadoop.metrics2.MetricsSource;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.metrics2.lib.MetricsRegistry;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;

/** What the process did about RPC over the engine, beside RpcMetrics. Not published in commands. Thread-safe. */
public final class RdmaMetrics implements MetricsSource, UpgradeMetrics {
  static final String NAME = "HowdahRpc";
  private static RdmaMetrics instance;

  private final MetricsRegistry registry = new MetricsRegistry(NAME).setContext("rpc");
  private final MutableCounterLong clientConnections = counter("ClientConnections",
      "Client connections made over the engine");
  private final MutableCounterLong clientFallbacks = counter("ClientFallbacks",
      "Client connections that went on over a socket although the engine was enabled");
  private final MutableCounterLong clientSockets = counter("ClientSockets", "Client connections made over sockets");
  private final MutableCounterLong serverGreetings = counter("ServerGreetings",
      "Greetings that servers of the process saw");
  private final MutableCounterLong serverGreetingsFailed = counter("ServerGreetingsFailed",
      "Greetings that ended without a link");
  private final MutableCounterLong serverConnections = counter("ServerConnections",
      "Connections that servers took over the engine");
  private final MutableCounterLong serverSockets = counter("ServerSockets",
      "Connections that servers took over sockets");
  private final MutableCounterLong serverResponsesDelayed = counter("ServerResponsesDelayed",
      "Responses that had to wait for a client that reads slowly");

  private RdmaMetrics() {
  }

  private MutableCounterLong counter(String name, String about) {
    return registry.newCounter(name, about, 0L);
  }

  static synchronized RdmaMetrics get() {
    if (instance == null) {
      RdmaMetrics made = new RdmaMetrics();
      instance = Role.ofThisProcess() == Role.COMMAND ? made
          : DefaultMetricsSystem.instance().register(NAME, "RPC over the engine", made);
    }
    return instance;
  }

  @Override
  public void getMetrics(MetricsCollector collector, boolean all) {
    registry.snapshot(collector.addRecord(registry.info()), all);
  }

  // What the upgrade counts.

  @Override
  public void clientConnected() {
    clientConnections.incr();
  }

  @Override
  public void clientFellBack() {
    clientFallbacks.incr();
  }

  @Override
  public void clientSocket() {
    clientSockets.incr();
  }

  @Override
  public void greeted() {
    serverGreetings.incr();
  }

  @Override
  public void greetingFailed() {
    serverGreetingsFailed.incr();
  }

  @Override
  public void serverConnected() {
    serverConnections.incr();
  }

  @Override
  public void serverSocket() {
    serverSockets.incr();
  }

  // The counters.

  MutableCounterLong clientConnections() {
    return clientConnections;
  }

  MutableCounterLong clientFallbacks() {
    return clientFallbacks;
  }

  /** Client connections made over sockets, for whatever reason. */
  public long clientSockets() {
    return clientSockets.value();
  }

  MutableCounterLong serverGreetings() {
    return serverGreetings;
  }

  MutableCounterLong serverGreetingsFailed() {
    return serverGreetingsFailed;
  }

  MutableCounterLong serverConnections() {
    return serverConnections;
  }

  /** Connections that servers with the engine enabled took over sockets. */
  public long serverSockets() {
    return serverSockets.value();
  }

  MutableCounterLong serverResponsesDelayed() {
    return serverResponsesDelayed;
  }
}

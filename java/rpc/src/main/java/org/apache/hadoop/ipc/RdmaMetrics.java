package org.apache.hadoop.ipc;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.metrics2.annotation.Metric;
import org.apache.hadoop.metrics2.annotation.Metrics;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;

/** What the process did about RPC over the engine, beside RpcMetrics. Thread-safe. */
@Metrics(name = RdmaMetrics.NAME, about = "RPC over the engine", context = "rpc")
public final class RdmaMetrics {
  static final String NAME = "HowdahRpc";
  /** Counted also where the engine is not enabled, and then not published: for that a process needs no source. */
  private static final AtomicLong CLIENT_SOCKETS = new AtomicLong();
  private static final AtomicLong SERVER_SOCKETS = new AtomicLong();
  private static RdmaMetrics instance;

  // CHECKSTYLE would have these final: metrics2 sets them.
  @Metric("Client connections made over the engine")
  private MutableCounterLong clientConnections;
  @Metric("Client connections that went on over a socket although the engine was enabled")
  private MutableCounterLong clientFallbacks;
  @Metric("Greetings that servers of the process saw")
  private MutableCounterLong serverGreetings;
  @Metric("Greetings that ended without a link")
  private MutableCounterLong serverGreetingsFailed;
  @Metric("Connections that servers took over the engine")
  private MutableCounterLong serverConnections;
  @Metric("Responses that had to wait for a client that reads slowly")
  private MutableCounterLong serverResponsesDelayed;

  RdmaMetrics() {
  }

  static synchronized RdmaMetrics get() {
    if (instance == null) {
      instance = DefaultMetricsSystem.instance().register(NAME, "RPC over the engine", new RdmaMetrics());
    }
    return instance;
  }

  static void countClientSocket() {
    CLIENT_SOCKETS.incrementAndGet();
  }

  static void countServerSocket() {
    SERVER_SOCKETS.incrementAndGet();
  }

  /** Client connections made over sockets, for whatever reason. */
  @Metric(value = {"ClientSockets", "Client connections made over sockets"}, type = Metric.Type.COUNTER)
  public long clientSockets() {
    return CLIENT_SOCKETS.get();
  }

  /** Connections that servers with the engine enabled took over sockets. */
  @Metric(value = {"ServerSockets", "Connections that servers took over sockets"}, type = Metric.Type.COUNTER)
  public long serverSockets() {
    return SERVER_SOCKETS.get();
  }

  MutableCounterLong clientConnections() {
    return clientConnections;
  }

  MutableCounterLong clientFallbacks() {
    return clientFallbacks;
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

  MutableCounterLong serverResponsesDelayed() {
    return serverResponsesDelayed;
  }
}

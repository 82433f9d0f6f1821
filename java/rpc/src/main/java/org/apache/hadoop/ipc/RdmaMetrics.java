package org.apache.hadoop.ipc;

import org.apache.hadoop.metrics2.annotation.Metric;
import org.apache.hadoop.metrics2.annotation.Metrics;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;

/** What the process did about RPC over the engine, beside RpcMetrics. Thread-safe. */
@Metrics(name = RdmaMetrics.NAME, about = "RPC over the engine", context = "rpc")
public final class RdmaMetrics {
  static final String NAME = "HowdahRpc";
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

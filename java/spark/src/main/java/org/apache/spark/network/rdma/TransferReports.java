package org.apache.spark.network.rdma;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkEnv;
import org.apache.spark.metrics.source.Source;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint$class;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.rpc.ThreadSafeRpcEndpoint;
import scala.PartialFunction;
import scala.collection.JavaConverters;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/** Where executors' reports come to in the driver: the last of each. Thread-safe. */
final class TransferReports implements ThreadSafeRpcEndpoint {
  static final String NAME = "BlockTransferReports";

  private final SparkEnv environment;
  private final Map<String, TransferReport> last = new ConcurrentHashMap<>();

  TransferReports(SparkEnv environment) {
    this.environment = environment;
  }

  void add(TransferReport report) {
    last.put(report.executor, report);
  }

  /** By executor, those that are gone too; the driver's own is as of now. */
  Map<String, TransferReport> all() {
    Map<String, TransferReport> all = new TreeMap<>(last);
    for (Source source : sources()) {
      all.put(environment.executorId(), new TransferReport(environment.executorId(), source.metricRegistry()));
    }
    return all;
  }

  /** The driver's own counters: one, or none before there is a service. */
  List<Source> sources() {
    return JavaConverters.seqAsJavaListConverter(environment.metricsSystem().getSourcesByName(RdmaBlockMetrics.NAME))
        .asJava();
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receive() {
    return new AbstractPartialFunction<Object, BoxedUnit>() {
      @Override
      public boolean isDefinedAt(Object message) {
        return message instanceof TransferReport;
      }

      @Override
      public BoxedUnit apply(Object message) {
        add((TransferReport) message);
        return BoxedUnit.UNIT;
      }
    };
  }

  // The rest is what Scala's trait has.

  @Override
  public RpcEnv rpcEnv() {
    return environment.rpcEnv();
  }

  @Override
  public RpcEndpointRef self() {
    return RpcEndpoint$class.self(this);
  }

  @Override
  @SuppressWarnings("unchecked")
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return RpcEndpoint$class.receiveAndReply(this, context);
  }

  @Override
  public void onError(Throwable cause) {
    RpcEndpoint$class.onError(this, cause);
  }

  @Override
  public void onConnected(RpcAddress address) {
    RpcEndpoint$class.onConnected(this, address);
  }

  @Override
  public void onDisconnected(RpcAddress address) {
    RpcEndpoint$class.onDisconnected(this, address);
  }

  @Override
  public void onNetworkError(Throwable cause, RpcAddress address) {
    RpcEndpoint$class.onNetworkError(this, cause, address);
  }

  @Override
  public void onStart() {
    RpcEndpoint$class.onStart(this);
  }

  @Override
  public void onStop() {
    RpcEndpoint$class.onStop(this);
  }

  @Override
  public void stop() {
    RpcEndpoint$class.stop(this);
  }
}

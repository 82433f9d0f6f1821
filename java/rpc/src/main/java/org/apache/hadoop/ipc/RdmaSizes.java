package org.apache.hadoop.ipc;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.apache.hadoop.ipc.protobuf.ProtobufRpcEngineProtos.RequestHeaderProto;

/**
 * How large the messages of a kind were last, so that the next one is written into a buffer that is large enough. A
 * kind is a hash of protocol and method; two that share a place only cost each other a wrong guess. Thread-safe.
 */
final class RdmaSizes {
  private static final int PLACES = 4096;

  private final AtomicIntegerArray sizes = new AtomicIntegerArray(PLACES);

  /** The kind of a message: its protocol and method as far as the request tells them. */
  static int kind(String protocol, Object request) {
    if (request instanceof ProtobufRpcEngine.RpcProtobufRequest) {
      return kind((ProtobufRpcEngine.RpcProtobufRequest) request);
    }
    int kind = protocol == null ? 0 : protocol.hashCode();
    return request == null ? kind : 31 * kind + request.getClass().hashCode();
  }

  private static int kind(ProtobufRpcEngine.RpcProtobufRequest request) {
    try {
      RequestHeaderProto header = request.getRequestHeader();
      return 31 * header.getDeclaringClassProtocolName().hashCode() + header.getMethodName().hashCode();
    } catch (IOException | RuntimeException e) {
      return 0; // a request that can't be parsed: its answer is an error
    }
  }

  private static int place(int kind) {
    return (kind ^ kind >>> 16) & PLACES - 1;
  }

  int expected(int kind) {
    return sizes.get(place(kind));
  }

  void record(int kind, int size) {
    int place = place(kind);
    if (sizes.get(place) != size) {
      sizes.lazySet(place, size);
    }
  }
}

package io.howdah.bench.rpc;

import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.ipc.ProtocolInfo;

/** What the RPC benchmark calls: the answer is the payload that was sent. */
@ProtocolInfo(protocolName = "io.howdah.bench.EchoProtocol", protocolVersion = EchoProtocol.VERSION)
public interface EchoProtocol {
  long VERSION = 1;

  /** Returns the payload unchanged. */
  BytesWritable echo(BytesWritable payload);
}

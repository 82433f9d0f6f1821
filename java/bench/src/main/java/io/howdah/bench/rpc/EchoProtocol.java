package io.howdah.bench.rpc;

import java.io.IOException;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.ipc.ProtocolInfo;

/** What the RPC benchmark calls through WritableRpcEngine: the answer is the payload that was sent. */
@ProtocolInfo(protocolName = "io.howdah.bench.EchoProtocol", protocolVersion = EchoProtocol.VERSION)
public interface EchoProtocol {
  long VERSION = 1;

  /** Returns the payload unchanged. */
  BytesWritable echo(BytesWritable payload) throws IOException;

  /** Returns the payload unchanged. */
  Text echoText(Text payload) throws IOException;

  /** Returns the payload unchanged. */
  long[] echoLongs(long[] payload) throws IOException;

  /** What {@link ProcessStats} says of the server's process, as JSON. */
  Text stats() throws IOException;
}

package org.apache.hadoop.ipc;

import java.io.IOException;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.KerberosInfo;
import org.apache.hadoop.security.token.TokenInfo;

/** What the tests call. */
@ProtocolInfo(protocolName = "rdma.test", protocolVersion = RdmaTestProtocol.VERSION)
@KerberosInfo(serverPrincipal = RdmaTestProtocol.PRINCIPAL)
@TokenInfo(RdmaTestTokens.Selector.class)
public interface RdmaTestProtocol extends VersionedProtocol {
  long VERSION = 1;
  String PRINCIPAL = "rdma.test.principal";

  /** Gives back what it gets. */
  BytesWritable echo(BytesWritable payload) throws IOException;

  /** Gives back so many bytes. */
  BytesWritable give(int size) throws IOException;

  /** Takes so many milliseconds. */
  void rest(int millis) throws IOException;

  /** Throws an IllegalArgumentException with this message. */
  void fail(Text message) throws IOException;

  /** What the server knows of its caller: "user address callId retry". */
  Text caller() throws IOException;
}

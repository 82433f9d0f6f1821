package io.howdah.bench.rpc;

import com.google.protobuf.RpcController;
import com.google.protobuf.ServiceException;
import org.apache.hadoop.hdfs.protocol.proto.HdfsProtos.DirectoryListingProto;
import org.apache.hadoop.ipc.ProtocolInfo;
import org.apache.hadoop.security.proto.SecurityProtos.TokenProto;

/**
 * What the RPC benchmark calls through ProtobufRpcEngine, as HDFS and YARN do; the answer is the message that was
 * sent. The messages are Hadoop's own: one that is nearly all payload, and one of many small fields.
 */
@ProtocolInfo(protocolName = "io.howdah.bench.ProtobufEcho", protocolVersion = ProtobufEcho.VERSION)
public interface ProtobufEcho {
  long VERSION = 1;

  /** Returns the message unchanged. */
  TokenProto echo(RpcController controller, TokenProto payload) throws ServiceException;

  /** Returns the message unchanged. */
  DirectoryListingProto list(RpcController controller, DirectoryListingProto payload) throws ServiceException;
}

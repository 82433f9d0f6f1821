package org.apache.hadoop.hdfs.net;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import org.apache.hadoop.hdfs.protocol.datatransfer.DataTransferProtocol;
import org.apache.hadoop.hdfs.protocol.datatransfer.Op;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.ShortCircuitShmRequestProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.ShortCircuitShmResponseProto;
import org.apache.hadoop.hdfs.protocol.proto.DataTransferProtos.Status;
import org.apache.hadoop.hdfs.protocolPB.PBHelperClient;

/**
 * The question that precedes the first greeting of a DataNode: whether it takes one. A stock DataNode would log a
 * greeting as an error with a stack trace, and hang up. So it is asked for something that its protocol knows and that
 * it can't give over TCP, memory shared for short-circuit reads: it objects, and the connection goes on. A DataNode of
 * ours knows the question by the client's name, and agrees.
 *
 * <p>Where SASL protects connections, a stock DataNode hangs up on the question with an INFO line.
 */
final class RdmaProbe {
  private static final byte[] REQUEST = request();

  private RdmaProbe() {
  }

  private static byte[] request() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      DataOutputStream out = new DataOutputStream(bytes);
      out.writeShort(DataTransferProtocol.DATA_TRANSFER_VERSION);
      Op.REQUEST_SHORT_CIRCUIT_SHM.write(out);
      ShortCircuitShmRequestProto.newBuilder().setClientName("io.howdah/greet").build().writeDelimitedTo(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  /**
   * Asks over a connection, on which nothing was sent yet.
   *
   * @param timeout longest wait, in milliseconds
   * @return whether it takes a greeting now; if not, the connection is as it was
   */
  static boolean ask(Socket tcp, int timeout) throws IOException {
    int before = tcp.getSoTimeout();
    tcp.setSoTimeout(timeout);
    try {
      OutputStream out = tcp.getOutputStream();
      out.write(REQUEST);
      out.flush();
      InputStream in = tcp.getInputStream();
      return ShortCircuitShmResponseProto.parseFrom(PBHelperClient.vintPrefixed(in)).getStatus() == Status.SUCCESS;
    } finally {
      tcp.setSoTimeout(before);
    }
  }

  // The other end.

  /** Bytes of the question. */
  static int length() {
    return REQUEST.length;
  }

  /** Whether so many bytes are those that the question begins with. */
  static boolean isPrefix(byte[] bytes, int length) {
    for (int i = 0; i < length; i++) {
      if (bytes[i] != REQUEST[i]) {
        return false;
      }
    }
    return true;
  }

  /** Agrees. */
  static void agree(OutputStream out) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ShortCircuitShmResponseProto.newBuilder().setStatus(Status.SUCCESS).build().writeDelimitedTo(bytes);
    out.write(bytes.toByteArray());
    out.flush();
  }
}

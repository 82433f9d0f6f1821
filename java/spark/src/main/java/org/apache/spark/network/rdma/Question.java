package org.apache.spark.network.rdma;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What a client asks on a new connection before it greets: stock Spark would log a stack trace for a greeting. The
 * question is a message of Spark's own that stock Spark answers and that has no effect: OpenBlocks for no block, or
 * with `spark.authenticate` the first message of SASL. A server of ours knows its bytes and answers with bytes of
 * its own.
 */
final class Question {
  private static final String NAME = "io.howdah";
  private static final byte RPC_REQUEST = 3;
  private static final byte RPC_RESPONSE = 4;
  private static final byte OPEN_BLOCKS = 0;
  private static final byte SASL = (byte) 0xEA;
  private static final long ID = 0x686f77646168L;
  private static final int HEADER = Long.BYTES + 1 + Long.BYTES + Integer.BYTES;
  private static final int ANSWER_MOST = 64 << 10;

  private static final byte[] PLAIN = frame(RPC_REQUEST, plain());
  private static final byte[] AUTHENTICATED = frame(RPC_REQUEST, sasl());
  private static final byte[] YES = NAME.concat(" 1").getBytes(StandardCharsets.UTF_8);
  /** The answer of a server of ours. */
  static final byte[] ANSWER = frame(RPC_RESPONSE, YES);

  private Question() {
  }

  private static byte[] plain() {
    ByteBuffer body = ByteBuffer.allocate(256).put(OPEN_BLOCKS);
    BlockRequest.putText(body, NAME); // the application, which is not looked at
    BlockRequest.putText(body, "0"); // the executor, likewise
    body.putInt(0); // blocks
    return Arrays.copyOf(body.array(), body.position());
  }

  private static byte[] sasl() {
    ByteBuffer body = ByteBuffer.allocate(256).put(SASL);
    BlockRequest.putText(body, NAME);
    body.putInt(0); // the client's first token, which is empty
    return Arrays.copyOf(body.array(), body.position());
  }

  /** A message as Spark's network module frames it. */
  private static byte[] frame(byte type, byte[] body) {
    return ByteBuffer.allocate(HEADER + body.length).putLong(HEADER + body.length).put(type).putLong(ID)
        .putInt(body.length).put(body).array();
  }

  /** Every form of the question. */
  static byte[][] forms() {
    return new byte[][] {PLAIN.clone(), AUTHENTICATED.clone()};
  }

  /**
   * Asks on a new connection.
   *
   * @param authenticates whether the server expects authentication
   * @return whether the server is one of ours
   * @throws IOException if it closes the connection, or says nothing in time
   */
  static boolean ask(Socket socket, boolean authenticates, int timeoutMillis) throws IOException {
    int before = socket.getSoTimeout();
    socket.setSoTimeout(timeoutMillis);
    OutputStream out = socket.getOutputStream();
    out.write(authenticates ? AUTHENTICATED : PLAIN);
    out.flush();
    DataInputStream in = new DataInputStream(socket.getInputStream());
    long length = in.readLong() - Long.BYTES;
    if (length < 1 || length > ANSWER_MOST) {
      return false;
    }
    byte[] rest = new byte[(int) length];
    in.readFully(rest);
    socket.setSoTimeout(before);
    return Arrays.equals(rest, Arrays.copyOfRange(ANSWER, Long.BYTES, ANSWER.length));
  }
}

package org.apache.spark.network.rdma;

import io.howdah.engine.EngineStream;
import io.howdah.engine.RegisteredBuffer;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.util.function.Consumer;
import org.apache.spark.network.sasl.SecretKeyHolder;
import org.apache.spark.network.sasl.SparkSaslClient;
import org.apache.spark.network.sasl.SparkSaslServer;

/**
 * How a session begins, on a stream of its own: the client names its application and, if Spark's authentication is on,
 * proves by Spark's SASL that it knows the secret; so does the server. One end with and one without authentication do
 * not come together.
 */
final class Handshake {
  static final byte VERSION = 1;
  static final byte SESSION = 1;
  static final byte UPLOAD = 2;

  private static final byte ACCEPTED = 0;
  private static final byte REFUSED = 1;
  private static final byte CHALLENGE = 2;
  private static final int MESSAGE_MAX = 64 << 10;
  private static final int STEPS_MAX = 8;
  private static final SecureRandom RANDOM = new SecureRandom();

  /** The server said no; asking again or in another way would be no use. */
  static final class RefusedException extends IOException {
    private static final long serialVersionUID = 1;

    RefusedException(String message) {
      super(message);
    }
  }

  private final String appId;
  private final SecretKeyHolder secrets;

  /**
   * @param appId the one application there is; null in a server for all
   * @param secrets null if nobody has to prove anything
   */
  Handshake(String appId, SecretKeyHolder secrets) {
    this.appId = appId;
    this.secrets = secrets;
  }

  /** Whether clients and servers have to prove that they know a secret. */
  boolean authenticates() {
    return secrets != null;
  }

  // Messages.

  /** The next message, copied, or an exception if the peer has closed or sends too much. */
  static ByteBuffer receive(EngineStream stream) throws IOException {
    RegisteredBuffer message = stream.receive();
    if (message == null) {
      throw new EOFException(stream.peer() + " closed the stream");
    }
    return copy(message);
  }

  /** The next message if it is there, copied; else null. */
  static ByteBuffer tryReceive(EngineStream stream) throws IOException {
    RegisteredBuffer message = stream.tryReceive();
    return message == null ? null : copy(message);
  }

  private static ByteBuffer copy(RegisteredBuffer message) throws IOException {
    try {
      if (message.length() > MESSAGE_MAX) {
        throw new IOException("a control message of " + message.length() + " bytes");
      }
      byte[] copy = new byte[message.length()];
      message.buffer().get(copy);
      return ByteBuffer.wrap(copy);
    } finally {
      message.release();
    }
  }

  static void send(EngineStream stream, ByteBuffer message) throws IOException {
    message.flip();
    if (!stream.send(message)) {
      throw new IOException("no room for a control message");
    }
  }

  private static ByteBuffer message(byte[] first) {
    return ByteBuffer.allocate(1 + Long.BYTES + Integer.BYTES + first.length);
  }

  // The client.

  /** @return the session's number */
  long connect(EngineStream stream) throws IOException {
    SparkSaslClient sasl = secrets == null ? null : new SparkSaslClient(appId, secrets, false);
    try {
      return connect(stream, sasl);
    } catch (RuntimeException e) { // what Spark's SASL makes of every failure, or bytes that make no sense
      throw new RefusedException("the handshake failed: " + e);
    } finally {
      if (sasl != null) {
        sasl.dispose();
      }
    }
  }

  private long connect(EngineStream stream, SparkSaslClient sasl) throws IOException {
    byte[] token = sasl == null ? new byte[0] : sasl.firstToken();
    byte[] name = appId.getBytes(StandardCharsets.UTF_8);
    ByteBuffer hello = ByteBuffer.allocate(3 + 2 * Integer.BYTES + name.length + token.length);
    hello.put(VERSION).put(SESSION).put((byte) (sasl == null ? 0 : 1));
    hello.putInt(name.length).put(name).putInt(token.length).put(token);
    send(stream, hello);
    for (int step = 0; step < STEPS_MAX; step++) {
      ByteBuffer answer = receive(stream);
      byte status = answer.hasRemaining() ? answer.get() : -1;
      if (status == REFUSED) {
        throw new RefusedException(BlockRequest.text(answer));
      } else if (status == ACCEPTED && answer.remaining() >= Long.BYTES) {
        long session = answer.getLong();
        byte[] proof = BlockRequest.bytes(answer);
        if (sasl != null && !sasl.isComplete()) {
          sasl.response(proof);
        }
        if (sasl != null && !sasl.isComplete()) {
          throw new RefusedException("the server has not proved that it knows the secret");
        }
        return session;
      } else if (status != CHALLENGE || sasl == null) {
        throw new IOException("an answer of kind " + status);
      }
      byte[] response = sasl.response(BlockRequest.bytes(answer));
      ByteBuffer message = ByteBuffer.allocate(Integer.BYTES + response.length);
      send(stream, message.putInt(response.length).put(response));
    }
    throw new IOException("a handshake of too many steps");
  }

  // The server.

  /** Begins a handshake on a stream that does not wait. */
  Server server(EngineStream stream, Consumer<ServerSession> publish) {
    return new Server(stream, publish);
  }

  /** The server's half of one handshake, message by message. It never waits. Not thread-safe. */
  final class Server {
    private final EngineStream stream;
    private final Consumer<ServerSession> publish;
    private String application;
    private SparkSaslServer sasl;
    private int steps;

    /** @param publish makes the session known under its number, before the client can hear of it */
    private Server(EngineStream stream, Consumer<ServerSession> publish) {
      this.stream = stream;
      this.publish = publish;
    }

    /**
     * Takes the next message.
     *
     * @param message the first one from behind version and kind on
     * @return the session, or null if another message is needed
     * @throws RefusedException if the client was refused, which it was told
     */
    ServerSession hear(ByteBuffer message) throws IOException {
      return application == null ? begin(message) : step(BlockRequest.bytes(message));
    }

    private ServerSession begin(ByteBuffer hello) throws IOException {
      boolean authenticates = hello.hasRemaining() && hello.get() != 0;
      application = BlockRequest.text(hello);
      byte[] token = BlockRequest.bytes(hello);
      if (appId != null && !application.equals(appId)) {
        throw refused("this executor is of application " + appId + ", not " + application);
      }
      if (authenticates != (secrets != null)) {
        throw refused("spark.authenticate is " + (secrets != null) + " here and " + authenticates + " there");
      }
      if (!authenticates) {
        return accept(new byte[0]);
      }
      sasl = new SparkSaslServer(application, secrets, false);
      return step(token);
    }

    private ServerSession step(byte[] token) throws IOException {
      SparkSaslServer current = sasl;
      if (current == null) {
        throw new IOException("the handshake took too long");
      }
      byte[] answer;
      try {
        answer = current.response(token);
        if (current.isComplete()) {
          return accept(answer);
        }
      } catch (RuntimeException e) { // what Spark's SASL makes of every failure
        BlockLog.LOG.warn("{} could not authenticate: {}", stream.peer(), e.toString());
        throw refused("authentication failed");
      }
      if (++steps == STEPS_MAX) {
        throw refused("a handshake of too many steps");
      }
      send(stream, message(answer).put(CHALLENGE).putInt(answer.length).put(answer));
      return null;
    }

    private ServerSession accept(byte[] proof) throws IOException {
      ServerSession session = new ServerSession(RANDOM.nextLong(), stream, application);
      publish.accept(session);
      send(stream, message(proof).put(ACCEPTED).putLong(session.id()).putInt(proof.length).put(proof));
      dispose();
      return session;
    }

    private RefusedException refused(String cause) throws IOException {
      byte[] text = cause.getBytes(StandardCharsets.UTF_8);
      send(stream, message(text).put(REFUSED).putInt(text.length).put(text));
      stream.shutdownOutput();
      return new RefusedException(cause);
    }

    /** Frees what the handshake holds. */
    void dispose() {
      if (sasl != null) {
        sasl.dispose();
        sasl = null;
      }
    }
  }
}

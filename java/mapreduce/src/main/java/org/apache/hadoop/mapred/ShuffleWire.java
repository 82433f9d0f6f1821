package org.apache.hadoop.mapred;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * What a reducer and a ShuffleHandler say to each other over a stream of the engine. The reducer sends the path and
 * query of stock's HTTP request and its hash, as one message. The answer, one message too, is a refusal with HTTP's
 * status, or the session's number, the hash of the hash, the length of each map's part, and the parts of as many maps
 * as fit. The other parts are fetched in windows, by session and index of the map. Both ends check what the other one
 * says.
 */
public final class ShuffleWire {
  static final byte VERSION = 1;
  /** Longest message of a reducer. */
  static final int REQUEST_MAX = 64 << 10;
  /** Most maps of a request. Stock's reducers ask for 20. */
  static final int MAPS_MAX = 4096;
  private static final int OK = 200;
  /** Status of a server that has no memory for the answer: a socket serves. */
  public static final int BUSY = 503;
  private static final int TEXT_MAX = 32 << 10;

  private ShuffleWire() {
  }

  /** What a reducer asks for. Immutable. */
  public static final class Request {
    /** Path and query, as in HTTP's first line. */
    public final String uri;
    /** What {@code SecureShuffleUtils.hashFromString} made of port, path and query. */
    public final String hash;

    /** A request. */
    public Request(String uri, String hash) {
      this.uri = uri;
      this.hash = hash;
    }

    /** As it travels. */
    public ByteBuffer encode() {
      byte[] path = bytes(uri);
      byte[] proof = bytes(hash);
      ByteBuffer message = ByteBuffer.allocate(1 + 2 * Integer.BYTES + path.length + proof.length);
      message.put(VERSION);
      put(message, path);
      put(message, proof);
      message.flip();
      return message;
    }

    static Request decode(ByteBuffer message) {
      if (message.remaining() < 1 || message.get() != VERSION) {
        throw new IllegalArgumentException("a shuffle request of another version");
      }
      return new Request(text(message), text(message));
    }
  }

  /** A server's answer. Immutable, but for the position of {@link #inline}. */
  public static final class Answer {
    /** HTTP's status; 200 if all is well. */
    public final int status;
    /** Why it was refused, or the hash of the hash. */
    public final String text;
    /** Number of the session. */
    public final long session;
    /** Bytes of each map's part as they are in the file, and as they were before they were compressed. */
    public final long[] parts;
    public final long[] raw;
    /** The parts of the first {@link #inlined} maps, one behind the other. */
    public final ByteBuffer inline;
    public final int inlined;

    private Answer(int status, String text, long session, long[] parts, long[] raw, ByteBuffer inline, int inlined) {
      this.status = status;
      this.text = text;
      this.session = session;
      this.parts = parts;
      this.raw = raw;
      this.inline = inline;
      this.inlined = inlined;
    }

    /** Whether the request was granted. */
    public boolean isGranted() {
      return status == OK;
    }

    /** Reads an answer; its inline data stay in the message. @param maps how many were asked for */
    public static Answer decode(ByteBuffer message, int maps) {
      require(message, Integer.BYTES);
      int status = message.getInt();
      String text = text(message);
      if (status != OK) {
        return new Answer(status, text, 0, new long[0], new long[0], ByteBuffer.allocate(0), 0);
      }
      require(message, Long.BYTES + 2 * Integer.BYTES);
      long session = message.getLong();
      int count = message.getInt();
      int inlined = message.getInt();
      if (count != maps || inlined < 0 || inlined > count) {
        throw new IllegalArgumentException("an answer for " + count + " maps in place of " + maps);
      }
      require(message, 2L * Long.BYTES * count);
      long[] parts = new long[count];
      long[] raw = new long[count];
      long inline = 0;
      for (int i = 0; i < count; i++) {
        parts[i] = message.getLong();
        raw[i] = message.getLong();
        if (parts[i] < 0 || raw[i] < 0) {
          throw new IllegalArgumentException("a part of " + parts[i] + " bytes");
        }
        inline += i < inlined ? parts[i] : 0;
      }
      if (inline != message.remaining()) {
        throw new IllegalArgumentException(message.remaining() + " bytes of parts in place of " + inline);
      }
      return new Answer(status, text, session, parts, raw, message, inlined);
    }

    /** Bytes of an answer without its inline data. */
    static int sizeOf(String hash, int maps) {
      return 4 * Integer.BYTES + bytes(hash).length + Long.BYTES + 2 * Long.BYTES * maps;
    }

    /** Writes an answer up to its inline data. */
    static void encode(ByteBuffer to, String hash, long session, long[] parts, long[] raw, int inlined) {
      to.putInt(OK);
      put(to, bytes(hash));
      to.putLong(session).putInt(parts.length).putInt(inlined);
      for (int i = 0; i < parts.length; i++) {
        to.putLong(parts[i]).putLong(raw[i]);
      }
    }

    static ByteBuffer refusal(int status, String why) {
      byte[] text = bytes(why.length() > TEXT_MAX / 4 ? why.substring(0, TEXT_MAX / 4) : why);
      ByteBuffer message = ByteBuffer.allocate(2 * Integer.BYTES + text.length);
      message.putInt(status);
      put(message, text);
      message.flip();
      return message;
    }
  }

  /** Name of a map's part in a fetch. */
  public static byte[] part(long session, int map) {
    return ByteBuffer.allocate(Long.BYTES + Integer.BYTES).putLong(session).putInt(map).array();
  }

  /** The session and the map that a fetch's name says; null if it says none. */
  static ByteBuffer partOf(byte[] name) {
    return name.length == Long.BYTES + Integer.BYTES ? ByteBuffer.wrap(name) : null;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void put(ByteBuffer to, byte[] bytes) {
    to.putInt(bytes.length).put(bytes);
  }

  private static void require(ByteBuffer message, long bytes) {
    if (message.remaining() < bytes) {
      throw new IllegalArgumentException("a message that ends too early");
    }
  }

  private static String text(ByteBuffer message) {
    require(message, Integer.BYTES);
    int length = message.getInt();
    if (length < 0 || length > TEXT_MAX) {
      throw new IllegalArgumentException("a text of " + length + " bytes");
    }
    require(message, length);
    byte[] bytes = new byte[length];
    message.get(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}

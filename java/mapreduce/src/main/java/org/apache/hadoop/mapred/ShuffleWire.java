package org.apache.hadoop.mapred;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * What a reducer and a ShuffleHandler say to each other over a stream of the engine. The reducer sends the path and
 * query of stock's HTTP request and its hash, as one message. The answer, one message too, is a refusal with HTTP's
 * status, or the session's number, the hash of the hash, the length of each map's part, and the parts of as many maps
 * as fit. The other parts are fetched in windows, by session and index of the map. A reducer that can read the files
 * itself asks where they are; the answer has that in place of parts. Servers that do not know the question answer as
 * if it was not asked. Both ends check what the other one says.
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
  /** Behind a request whose answer is to have locations. */
  private static final byte LOCATE = 1;
  /** In place of the number of parts in an answer that has locations. */
  private static final int LOCATED = -1;
  private static final int ROOTS_MAX = 4096;
  /** Longest answer with locations. */
  private static final int LOCATIONS_MAX = 256 << 10;

  private ShuffleWire() {
  }

  /** What a reducer asks for. Immutable. */
  public static final class Request {
    /** Path and query, as in HTTP's first line. */
    public final String uri;
    /** What {@code SecureShuffleUtils.hashFromString} made of port, path and query. */
    public final String hash;
    /** Whether the answer is to say where the outputs are, if it can. */
    public final boolean locate;

    /** A request. */
    public Request(String uri, String hash, boolean locate) {
      this.uri = uri;
      this.hash = hash;
      this.locate = locate;
    }

    /** As it travels. */
    public ByteBuffer encode() {
      byte[] path = bytes(uri);
      byte[] proof = bytes(hash);
      ByteBuffer message = ByteBuffer.allocate(2 + 2 * Integer.BYTES + path.length + proof.length);
      message.put(VERSION);
      put(message, path);
      put(message, proof);
      if (locate) {
        message.put(LOCATE);
      }
      message.flip();
      return message;
    }

    static Request decode(ByteBuffer message) {
      if (message.remaining() < 1 || message.get() != VERSION) {
        throw new IllegalArgumentException("a shuffle request of another version");
      }
      return new Request(text(message), text(message), message.hasRemaining() && message.get() == LOCATE);
    }
  }

  /** Where a reducer's part of a map output is. Immutable. */
  public static final class Location {
    /** The local directory of the NodeManager in which the output is; its path in there is known to the reducer. */
    public final String root;
    /** Where the part begins in the file. */
    public final long start;
    /** Bytes of the whole file. */
    public final long size;
    /** When the file was modified last, in milliseconds since 1970. */
    public final long modified;

    /** A location. */
    public Location(String root, long start, long size, long modified) {
      this.root = root;
      this.start = start;
      this.size = size;
      this.modified = modified;
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
    /** Where each part is, null where that is not known; no elements if nobody asked or the server can't say. */
    public final Location[] locations;

    private Answer(int status, String why) {
      this.status = status;
      this.text = why;
      this.session = 0;
      this.parts = new long[0];
      this.raw = new long[0];
      this.inline = ByteBuffer.allocate(0);
      this.inlined = 0;
      this.locations = new Location[0];
    }

    private Answer(String text, long session, long[] parts, long[] raw, ByteBuffer inline, int inlined,
        Location... locations) {
      this.status = OK;
      this.text = text;
      this.session = session;
      this.parts = parts;
      this.raw = raw;
      this.inline = inline;
      this.inlined = inlined;
      this.locations = locations;
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
        return new Answer(status, text);
      }
      require(message, Long.BYTES + 2 * Integer.BYTES);
      long session = message.getLong();
      int count = message.getInt();
      int inlined = message.getInt();
      if (count != maps || inlined < LOCATED || inlined > count) {
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
      if (inlined == LOCATED) {
        return new Answer(text, session, parts, raw, ByteBuffer.allocate(0), 0, locations(message, parts));
      }
      if (inline != message.remaining()) {
        throw new IllegalArgumentException(message.remaining() + " bytes of parts in place of " + inline);
      }
      return new Answer(text, session, parts, raw, message, inlined);
    }

    private static Location[] locations(ByteBuffer message, long[] parts) {
      require(message, Integer.BYTES);
      int count = message.getInt();
      if (count < 0 || count > ROOTS_MAX) {
        throw new IllegalArgumentException("an answer with " + count + " folders");
      }
      String[] roots = new String[count];
      for (int i = 0; i < count; i++) {
        roots[i] = text(message);
      }
      Location[] locations = new Location[parts.length];
      for (int i = 0; i < parts.length; i++) {
        require(message, Integer.BYTES + 3L * Long.BYTES);
        int root = message.getInt();
        Location location = new Location(root < 0 || root >= count ? null : roots[root], message.getLong(),
            message.getLong(), message.getLong());
        boolean fits = location.start >= 0 && location.start <= location.size
            && parts[i] <= location.size - location.start;
        if (root >= count || root >= 0 && !fits) {
          throw new IllegalArgumentException("a part of " + parts[i] + " bytes at " + location.start + " of "
              + location.size + " in folder " + root + " of " + count);
        }
        locations[i] = root < 0 ? null : location;
      }
      if (message.hasRemaining()) {
        throw new IllegalArgumentException(message.remaining() + " bytes behind the locations");
      }
      return locations;
    }

    /**
     * An answer with locations.
     *
     * @param locations null where one is not known
     * @return null if they are too many for a message
     */
    static ByteBuffer located(String hash, long session, long[] parts, long[] raw, Location[] locations) {
      List<String> roots = new ArrayList<>();
      int bytes = sizeOf(hash, parts.length) + Integer.BYTES + parts.length * (Integer.BYTES + 3 * Long.BYTES);
      for (Location location : locations) {
        if (location != null && !roots.contains(location.root)) {
          roots.add(location.root);
          bytes += Integer.BYTES + bytes(location.root).length;
        }
      }
      if (bytes > LOCATIONS_MAX) {
        return null;
      }
      ByteBuffer message = ByteBuffer.allocate(bytes);
      encode(message, hash, session, parts, raw, LOCATED);
      message.putInt(roots.size());
      roots.forEach(root -> put(message, bytes(root)));
      for (Location location : locations) {
        if (location == null) {
          message.putInt(-1).putLong(0).putLong(0).putLong(0);
        } else {
          message.putInt(roots.indexOf(location.root)).putLong(location.start).putLong(location.size)
              .putLong(location.modified);
        }
      }
      message.flip();
      return message;
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

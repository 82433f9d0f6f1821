package io.howdah.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** How a meeting over a host protocol's connection ended: with a link, or with that protocol. Immutable. */
public final class Greeting {
  /** Bytes that tell a greeting from anything else; most that the caller of accept may have read of anything else. */
  public static final int PREFIX_MAX = 8;
  /** Most bytes that the caller of accept may have read of a connection that begins with a greeting. */
  public static final int GREETING_READ_MAX = 4096;

  // As native/jni/stream.c lays it out.
  private static final int LINK = 0;
  private static final int OUTCOME = 8;
  private static final int SHARED = 12;
  private static final int UNREAD_LENGTH = 16;
  private static final int UNREAD = 20;
  private static final int REASON = 28;
  private static final int REASON_MAX = 200;
  private static final int SERVICE = 228;
  private static final int SERVICE_MAX = 64;
  private static final int SIZE = 320;
  private static final int LINKED = 0;

  private final Link link;
  private final boolean shared;
  private final byte[] unread;
  private final String reason;
  private final String service;

  private Greeting(EngineCore core, ByteBuffer from) {
    link = from.getInt(OUTCOME) == LINKED ? new Link(core, from.getLong(LINK)) : null;
    shared = from.getInt(SHARED) != 0;
    unread = new byte[from.getInt(UNREAD_LENGTH)];
    for (int i = 0; i < unread.length; i++) {
      unread[i] = from.get(UNREAD + i);
    }
    reason = text(from, REASON, REASON_MAX);
    service = text(from, SERVICE, SERVICE_MAX);
  }

  private static String text(ByteBuffer from, int at, int max) {
    byte[] text = new byte[max];
    int length = 0;
    while (length < max && from.get(at + length) != 0) {
      text[length] = from.get(at + length);
      length++;
    }
    return new String(text, 0, length, StandardCharsets.US_ASCII);
  }

  static Greeting connect(EngineCore core, int fd, String address, long timeoutMillis) throws IOException {
    Objects.requireNonNull(address);
    ByteBuffer out = Memory.scratch();
    long engine = core.enter();
    try {
      int err = Native.connectSide(engine, fd, address, timeout(timeoutMillis), Memory.address(out));
      return result(core, err, out, address);
    } finally {
      core.exit();
    }
  }

  static Greeting accept(EngineCore core, int fd, ByteBuffer prefix, long timeoutMillis, String service)
      throws IOException {
    checkPrefix(prefix);
    ByteBuffer out = Memory.scratch();
    byte[] name = service.getBytes(StandardCharsets.US_ASCII);
    if (name.length > SERVICE_MAX) {
      throw new IllegalArgumentException("a service name has at most " + SERVICE_MAX + " bytes: " + service);
    }
    for (int i = 0; i <= SERVICE_MAX; i++) {
      out.put(SERVICE + i, i < name.length ? name[i] : 0);
    }
    int length = copyPrefix(prefix, out);
    long engine = core.enter();
    try {
      long address = Memory.address(out);
      int err = Native.acceptSide(engine, fd, address + SIZE, length, timeout(timeoutMillis), address);
      return result(core, err, out, null);
    } finally {
      core.exit();
    }
  }

  private static long timeout(long millis) {
    return millis == 0 ? 0 : Errno.nanos(millis); // 0: the engine's own option
  }

  private static Greeting result(EngineCore core, int err, ByteBuffer out, String peer) throws IOException {
    if (err < 0) {
      throw Errno.failure(err, peer);
    }
    return new Greeting(core, out);
  }

  private static void checkPrefix(ByteBuffer prefix) throws EngineUnavailableException {
    int length = prefix == null ? 0 : prefix.remaining();
    int most = length > PREFIX_MAX && isPossible(prefix) ? GREETING_READ_MAX : PREFIX_MAX;
    if (length > most) {
      throw new IllegalArgumentException(length + " bytes were read before; at most " + most + " can be");
    }
  }

  private static int copyPrefix(ByteBuffer prefix, ByteBuffer to) {
    if (prefix == null) {
      return 0;
    }
    ByteBuffer bytes = prefix.duplicate();
    int length = bytes.remaining();
    to.position(SIZE);
    to.put(bytes);
    return length;
  }

  /**
   * Whether a connection that begins with these bytes can be one of ours. With fewer than {@link #PREFIX_MAX} a true
   * may turn into a false later. A server with a selector looks so at its first bytes, and lets another thread accept.
   */
  public static boolean isPossible(ByteBuffer firstBytes) throws EngineUnavailableException {
    Engine.ensureAvailable();
    ByteBuffer scratch;
    try {
      scratch = Memory.scratch();
    } catch (MemoryLimitException e) {
      throw new EngineUnavailableException(e.getMessage(), e);
    }
    ByteBuffer bytes = firstBytes.duplicate();
    bytes.limit(bytes.position() + Math.min(bytes.remaining(), PREFIX_MAX));
    int length = bytes.remaining();
    scratch.put(bytes);
    return Native.isGreeting(Memory.address(scratch), length);
  }

  /** True: there is a link. False: go on with the host protocol on the connection. */
  public boolean isLinked() {
    return link != null;
  }

  /** The link, which the caller closes; null after a fallback. */
  public Link link() {
    return link;
  }

  /** Whether the link existed already; then the connection is not needed. */
  public boolean isShared() {
    return shared;
  }

  /** After a fallback: what was read of the host protocol, to be treated as read first. Often empty. */
  public ByteBuffer unread() {
    return ByteBuffer.wrap(unread.clone());
  }

  /** Why there is no link, "" if there is one. */
  public String reason() {
    return reason;
  }

  /** Client side: the service that the server means this connection's streams for; "" if it said none. */
  public String service() {
    return service;
  }
}

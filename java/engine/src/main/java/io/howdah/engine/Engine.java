package io.howdah.engine;

import java.io.Closeable;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The process's way to its peers. RPC, HDFS and shuffle each {@link #acquire} the one engine of the process and close
 * what they got; the last one to close ends it. Closing wakes every thread that waits in it. Thread-safe.
 */
public final class Engine implements Closeable {
  private static EngineCore shared;
  private static int sharers;

  private final EngineCore core;
  private final boolean isShared;
  private final AtomicBoolean closed = new AtomicBoolean();

  private Engine(EngineCore core, boolean isShared) {
    this.core = core;
    this.isShared = isShared;
  }

  // Availability.

  /** Loaded once, when somebody asks for the first time. */
  private static final class Availability {
    static final EngineUnavailableException CAUSE;
    static final String SOURCE;

    static {
      EngineUnavailableException cause = null;
      String source = null;
      try {
        source = NativeLibrary.ofThisProcess().load();
      } catch (EngineUnavailableException e) {
        cause = e;
      } catch (RuntimeException | LinkageError e) {
        cause = new EngineUnavailableException("the engine's library can't be used: " + e, e);
      } catch (OutOfMemoryError e) {
        if (Memory.isHeap(e)) {
          throw e;
        }
        cause = new EngineUnavailableException("the engine's library can't be used: " + e, e);
      }
      CAUSE = cause;
      SOURCE = source;
    }

    private Availability() {
    }
  }

  /** Whether the native library is there and usable. The answer stays the same for the life of the process. */
  public static boolean isAvailable() {
    return Availability.CAUSE == null;
  }

  /** Why it is not available, with what to do about it; null if it is. */
  public static Throwable unavailabilityCause() {
    return Availability.CAUSE;
  }

  /** Throws a new exception with the cause if the engine is not available. */
  public static void ensureAvailable() throws EngineUnavailableException {
    if (!isAvailable()) {
      throw new EngineUnavailableException(Availability.CAUSE.getMessage(), Availability.CAUSE);
    }
  }

  /** Where the library came from, and its version; for people. */
  public static String description() throws EngineUnavailableException {
    ensureAvailable();
    return "libhowdah " + Native.version() + " from " + Availability.SOURCE;
  }

  // Life.

  /**
   * The engine that the whole process shares; the first to acquire it makes it with its options. If a later one sets
   * other values, the larger {@code memory.limit} is in force, remote access is off if one wants it off, and the more
   * talkative {@code log.level}; for another network (transport, device, port, link layer, ...) it is refused; all else
   * stays as it is, and a warning names it once. What it does not set, it does not wish.
   *
   * @throws EngineException for options that are not valid, a transport that was asked for by name and can't be used,
   *     or a network that is not the one of the engine that is there
   * @throws EngineUnavailableException if the engine can't be used in this process
   */
  public static Engine acquire(EngineConf conf) throws IOException {
    ensureAvailable();
    synchronized (Engine.class) {
      if (shared == null) {
        shared = make(conf);
      } else {
        Merge.into(shared, conf);
      }
      sharers++;
      return new Engine(shared, true);
    }
  }

  /** An engine of the caller's own. */
  public static Engine create(EngineConf conf) throws IOException {
    ensureAvailable();
    return new Engine(make(conf), false);
  }

  /** What the JVM throws as an error and only the engine is without is an exception: the process goes on. */
  private static EngineCore make(EngineConf conf) throws IOException {
    try {
      return new EngineCore(conf);
    } catch (LinkageError e) {
      throw new EngineUnavailableException("the engine's library can't be used: " + e, e);
    } catch (OutOfMemoryError e) {
      if (Memory.isHeap(e)) {
        throw e;
      }
      throw new EngineUnavailableException("the engine finds no room: " + e.getMessage()
          + "; allow more threads (ulimit -u) or direct memory (-XX:MaxDirectMemorySize)", e);
    }
  }

  /** Whether neither this nor the engine was closed. */
  public boolean isOpen() {
    return !closed.get() && core.isOpen();
  }

  /**
   * Gives this use of the engine up; a second call has no effect. The last use of a shared engine, and the only one of
   * another, ends it: links and services are closed, whoever waits gets an exception, and this returns when nobody is
   * in it any more. Streams, links and buffers that are still held must be closed all the same.
   */
  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    EngineCore last = core;
    if (isShared) {
      synchronized (Engine.class) {
        if (--sharers > 0) {
          return;
        }
        shared = null;
      }
    }
    last.close();
  }

  EngineCore core() throws EngineClosedException {
    if (closed.get()) {
      throw new EngineClosedException("the engine was closed");
    }
    return core;
  }

  // What it is.

  /** The value in force of every option, by key, as a user would write it. */
  public Map<String, String> options() {
    return core.options();
  }

  /** The value in force of an option. */
  public String option(EngineOption option) {
    return core.options().get(option.key());
  }

  /** Each transport of this build: its name, and "" or why it can't be used here. */
  public Map<String, String> transports() throws IOException {
    Map<String, String> transports = new LinkedHashMap<>();
    EngineCore entered = core();
    long pointer = entered.enter();
    try {
      String[] fields = Native.engineTransports(pointer);
      for (int i = 0; i < fields.length; i += 2) {
        transports.put(fields[i], fields[i + 1]);
      }
    } finally {
      entered.exit();
    }
    return transports;
  }

  /** All counters now. */
  public Counters counters() throws IOException {
    return Counters.of(core());
  }

  /** Objects of this package that became garbage without being closed, in this process so far. */
  public static long leaks() {
    return Leaks.found();
  }

  // Buffers.

  /**
   * Takes a buffer that every transport can reach. Contents are undefined.
   *
   * @param size in bytes, from 1 on
   * @throws MemoryLimitException at the engine's limit; it never waits for memory
   */
  public RegisteredBuffer allocate(int size) throws IOException {
    return RegisteredBuffer.allocate(core(), size);
  }

  /**
   * Registers all of a direct buffer, whatever its position and limit are.
   *
   * @throws MemoryLimitException beyond the engine's limit
   * @throws EngineException if the memory is registered already, or cannot be written
   */
  public RegisteredMemory register(ByteBuffer memory) throws IOException {
    return RegisteredMemory.register(core(), memory);
  }

  /** Remembers that a thing of this kind (a hash of protocol and method, say) took so many bytes. */
  public void recordSize(long kind, long bytes) throws EngineClosedException {
    EngineCore entered = core();
    long pointer = entered.enter();
    try {
      Native.sizeRecord(pointer, kind, bytes);
    } finally {
      entered.exit();
    }
  }

  /** Expected size of the next thing of this kind, from history; `fallback` if there is none. */
  public long predictSize(long kind, long fallback) throws EngineClosedException {
    EngineCore entered = core();
    long pointer = entered.enter();
    try {
      return Native.sizePredict(pointer, kind, fallback);
    } finally {
      entered.exit();
    }
  }

  // Peers.

  /**
   * Client side of a meeting, on a connected socket on which nothing was sent yet. The caller keeps the socket: after
   * {@link Greeting#isLinked()} it may close it, else it goes on with the host protocol. A server that knows nothing of
   * us may drop the connection instead ({@link LinkException}); then connect anew without us. Blocks; interrupts have
   * no effect, closing the engine has.
   *
   * @param address "host:port": names the peer in messages, and finds the link again with {@link #findLink}
   * @param timeoutMillis 0 for {@code hadoop.rdma.connect.timeout}
   */
  public Greeting connect(SocketChannel socket, String address, long timeoutMillis) throws IOException {
    return Greeting.connect(core(), Descriptors.of(socket), address, timeoutMillis);
  }

  /** The same for a java.net.Socket. */
  public Greeting connect(Socket socket, String address, long timeoutMillis) throws IOException {
    return Greeting.connect(core(), Descriptors.of(socket), address, timeoutMillis);
  }

  /**
   * Server side of a meeting, on an accepted socket, blocking or not. If the client is not one of us, the result
   * falls back and has what was read of the host protocol, to be treated as read first.
   *
   * @param prefix what the caller has read of the connection before, at most {@link Greeting#PREFIX_MAX} bytes; its
   *     position is not changed. May be null
   * @param timeoutMillis 0 for {@code hadoop.rdma.connect.timeout}
   */
  public Greeting accept(SocketChannel socket, ByteBuffer prefix, long timeoutMillis) throws IOException {
    return accept(socket, prefix, timeoutMillis, "");
  }

  /**
   * The same, and tells the client which service its streams are meant for ({@link Greeting#service}): where ports are
   * forwarded, or a program has several servers, it cannot know otherwise.
   */
  public Greeting accept(SocketChannel socket, ByteBuffer prefix, long timeoutMillis, String service)
      throws IOException {
    return Greeting.accept(core(), Descriptors.of(socket), prefix, timeoutMillis, service);
  }

  /** The same for a java.net.Socket. */
  public Greeting accept(Socket socket, ByteBuffer prefix, long timeoutMillis) throws IOException {
    return Greeting.accept(core(), Descriptors.of(socket), prefix, timeoutMillis, "");
  }

  /** The living link that {@link #connect} made for an address; then there is no need to connect. */
  public Optional<Link> findLink(String address) throws IOException {
    return Link.find(core(), address);
  }

  // Services.

  /** A queue for events of this engine. */
  public EventQueue newQueue() throws IOException {
    return new EventQueue(core());
  }

  /**
   * Offers a service: streams and fetches of peers arrive at the queue's handler.
   *
   * @param name 1 to 64 bytes
   * @throws EngineException if the name is taken
   */
  public Service listen(String name, EventQueue queue, Object attachment) throws IOException {
    return Service.listen(core(), name, queue, attachment);
  }

  // Threads.

  /**
   * Says that the calling thread's work is communication: it is bound as {@code hadoop.rdma.affinity.*} says, once.
   * Cheap if it was said before. Threads that end need not take it back.
   *
   * @return the number of the set of processors that it got, -1 if it is not bound
   */
  public int declareCommunicationThread() throws EngineClosedException {
    EngineCore entered = core();
    long pointer = entered.enter();
    try {
      return Math.max(-1, Native.communicationEnter(pointer));
    } finally {
      entered.exit();
    }
  }

  /** Takes that back: the calling thread may run where it could before. */
  public void releaseCommunicationThread() throws EngineClosedException {
    EngineCore entered = core();
    long pointer = entered.enter();
    try {
      Native.communicationLeave(pointer);
    } finally {
      entered.exit();
    }
  }

  /** The affinity in force, for people: "o2ocs for mlx5_0, 10 sets: ...", or "none" with the reason. */
  public String affinity() throws EngineClosedException {
    EngineCore entered = core();
    long pointer = entered.enter();
    try {
      return Native.affinityText(pointer);
    } finally {
      entered.exit();
    }
  }
}

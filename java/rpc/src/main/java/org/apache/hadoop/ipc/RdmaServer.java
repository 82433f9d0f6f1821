package org.apache.hadoop.ipc;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineStream;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.Link;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.Service;
import io.howdah.upgrade.Acceptor;
import io.howdah.upgrade.Failures;
import io.howdah.upgrade.Pairing;
import io.howdah.upgrade.Traffic;
import io.howdah.upgrade.Upgrade;
import io.howdah.upgrade.nio.NioGreeter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.ipc.metrics.RpcMetrics;
import org.apache.hadoop.ipc.protobuf.RpcHeaderProtos.RpcResponseHeaderProto;
import org.apache.hadoop.util.ExitUtil;

/**
 * What a server does for clients that come over the engine: it reads their calls for Server's own connections, by the
 * thread that leads (see RdmaHandlers), and takes responses. Without the engine every method does what stock does.
 */
abstract class RdmaServer implements EventHandler {
  /** Size of the buffer that calls are read through, those that are not worth reading in place. */
  static final int ROOM = 64 * 1024;
  /** Calls of one connection before others have a turn. */
  private static final int BURST = 64;
  /** As the responder: a client that has taken no response for so long is cut off. */
  private static final long PURGE_INTERVAL = TimeUnit.MINUTES.toNanos(15);

  /** Name of the counts; their bytes are those of requests. */
  private static final String TRAFFIC = "rpc.server";
  private static final Traffic SOCKETS = Traffic.of(TRAFFIC, Traffic.SOCKET);
  private static final RdmaSizes SIZES = new RdmaSizes();

  private final Upgrade upgrade;
  private final RpcMetrics metrics;
  private final int port;
  private final int maxResponse;
  private final RdmaHandlers handlers = new RdmaHandlers(this);
  private final Set<RdmaChannel> delayed = ConcurrentHashMap.newKeySet();
  private final RdmaArrays arrays = new RdmaArrays();

  private Acceptor acceptor;
  private NioGreeter<Server.Connection> greeter;
  private Pairing<Greeted> pairing;
  private EventQueue events;
  private Service service;
  private volatile boolean on;
  private boolean opened;
  private boolean stopped;

  // The leader's.
  private final ArrayDeque<RdmaChannel> ready = new ArrayDeque<>();
  private ByteBuffer room;

  /**
   * Made with the server, before it takes connections.
   *
   * @throws IOException if the configuration is not valid
   */
  RdmaServer(Configuration conf, int port, RpcMetrics metrics) throws IOException {
    this.upgrade = RdmaRpc.of(conf);
    this.port = port;
    this.metrics = metrics;
    this.maxResponse = conf.getInt(CommonConfigurationKeys.IPC_SERVER_RPC_MAX_RESPONSE_SIZE_KEY,
        CommonConfigurationKeys.IPC_SERVER_RPC_MAX_RESPONSE_SIZE_DEFAULT);
    this.on = upgrade.isUsable();
    upgrade.checkNames();
  }

  // Server's.

  /** Reads from a connection as its reader would. */
  abstract void read(SelectionKey key) throws InterruptedException;

  /** Makes a connection use another channel. */
  abstract void adopt(Server.Connection connection, SocketChannel channel);

  abstract void close(Server.Connection connection);

  /** Where handlers take calls from. */
  abstract BlockingQueue<Server.Call> takes();

  /** Where calls are put; another queue than that of {@link #takes} while the queues are exchanged. */
  abstract BlockingQueue<Server.Call> puts();

  // Life.

  /** Offers the service when there are handlers, or somebody greets. @return whether it is offered */
  private boolean open() {
    if (!on) {
      return false;
    }
    synchronized (this) {
      if (opened || stopped) {
        return on && opened;
      }
      opened = true;
      try {
        Engine engine = upgrade.engine();
        room = ByteBuffer.allocateDirect(ROOM);
        acceptor = new Acceptor(upgrade, Acceptor.newService("hadoop.rpc." + port), "IPC Server greeting on " + port);
        pairing = Pairing.oneToOne(upgrade, new Pairs());
        greeter = new NioGreeter<>(acceptor, new Greetings());
        events = engine.newQueue();
        service = engine.listen(acceptor.service(), events, this);
        handlers.start(events, port);
        return true;
      } catch (IOException | RuntimeException | LinkageError | OutOfMemoryError e) {
        on = false;
        upgrade.fellBack(":" + port, "The server on port " + port + " takes calls over sockets only", Failures.text(e));
        return false;
      }
    }
  }

  /** Gives the engine up after it failed; sockets go on. */
  void fail(Throwable cause) {
    on = false;
    RdmaRpc.LOG.error("The server on port {} goes on with sockets only", port, cause);
  }

  /** What stock's readers do about an Error: the process is not to be trusted any more. */
  void die(Error cause) {
    Server.LOG.fatal("Error reading calls over the engine", cause);
    ExitUtil.terminate(1, "Error reading calls over the engine: " + cause);
  }

  final void stop() {
    synchronized (this) {
      stopped = true;
      if (!opened || service == null) {
        return;
      }
    }
    service.close();
    acceptor.close();
    pairing.close();
    handlers.stop();
  }

  /** The last thread has left. */
  void end() {
    events.close();
  }

  // Calls.

  /** In place of the queue's take. */
  final Server.Call take(CallQueueManager<Server.Call> queue) throws InterruptedException {
    return open() ? handlers.take(queue) : queue.take();
  }

  /** In place of the queue's put. */
  final void put(CallQueueManager<Server.Call> queue, Server.Call call) throws InterruptedException {
    if (!on || !handlers.keep(queue, call)) {
      queue.put(call);
    }
  }

  /** After a call was queued. */
  final void queued() {
    if (on) {
      handlers.queued();
    }
  }

  /** What a call of that length is read into. */
  final ByteBuffer allocate(SocketChannel channel, int length) {
    if (channel instanceof RdmaChannel) {
      ((RdmaChannel) channel).traffic().call(length);
      return arrays.take(length);
    }
    SOCKETS.call(length);
    return ByteBuffer.allocate(length);
  }

  // Greetings.

  /**
   * Looks at the first bytes of a connection, by its reader.
   *
   * @param first where Server reads them to; null if they were read
   * @return whether the reader has nothing to do with the connection for now
   */
  final boolean greets(SelectionKey key, Server.Connection connection, ByteBuffer first) {
    if (!on || first == null || !first.hasRemaining() || key.channel() instanceof RdmaChannel) {
      return false;
    }
    try {
      int n = ((SocketChannel) key.channel()).read(first);
      if (n > 0) {
        metrics.incrReceivedBytes(n);
      }
      ByteBuffer seen = first.duplicate();
      seen.flip();
      if (n < 0 || !seen.hasRemaining() || !Acceptor.isPossible(seen) || !open()) {
        if (!first.hasRemaining()) {
          countSocket();
        }
        return false;
      }
    } catch (IOException e) {
      return false; // the reader will see it too
    }
    if (!first.hasRemaining()) {
      greeter.greet(key, connection, first);
    }
    return true;
  }

  private static void countSocket() {
    RdmaMetrics.get().serverSocket();
    SOCKETS.connection();
  }

  /** A connection whose client goes on over a link. */
  private static final class Greeted {
    final Server.Connection connection;
    final SelectionKey key;

    Greeted(Server.Connection connection, SelectionKey key) {
      this.connection = connection;
      this.key = key;
    }

    SocketChannel tcp() {
      return (SocketChannel) key.channel();
    }
  }

  /** How greetings end. */
  private final class Greetings implements NioGreeter.Listener<Server.Connection> {
    @Override
    public void linked(Server.Connection connection, SelectionKey key, Link link) throws IOException {
      pairing.greeted(link, new Greeted(connection, key));
    }

    @Override
    public void plain(Server.Connection connection, boolean full) {
      if (full) { // greets() will not look at it again
        countSocket();
      }
    }

    @Override
    public void failed(Server.Connection connection, String cause) {
      RdmaRpc.LOG.info("Closing the connection from {}, whose greeting failed: {}", connection, cause);
      close(connection);
    }
  }

  /** Connections and their streams. */
  private final class Pairs implements Pairing.Pairs<Greeted> {
    @Override
    public void paired(EngineStream stream, Greeted greeted) throws IOException {
      attach(stream, greeted);
    }

    @Override
    public void abandoned(Greeted greeted, String cause) {
      RdmaRpc.LOG.info("Closing the connection from {}: {}", greeted.connection, cause);
      close(greeted.connection);
      greeted.key.selector().wakeup();
    }
  }

  private static Traffic traffic(EngineStream stream) throws IOException {
    try (Link link = stream.link()) {
      return Traffic.of(TRAFFIC, link.transport());
    }
  }

  /** A greeted connection goes on over its stream. */
  private void attach(EngineStream stream, Greeted greeted) throws IOException {
    try {
      RdmaChannel channel = new RdmaChannel(this, stream, greeted.tcp(), traffic(stream));
      channel.key().attach(greeted.connection);
      adopt(greeted.connection, channel);
      greeted.tcp().close(); // the engine keeps what it needs of it
      greeted.key.selector().wakeup(); // the descriptor is the selector's until it selects again
      RdmaMetrics.get().serverConnected();
      channel.traffic().connection();
      stream.register(events, channel);
    } catch (IOException e) {
      RdmaRpc.LOG.info("The connection from {} was lost: {}", greeted.connection, e.toString());
      stream.close();
      close(greeted.connection);
    }
  }

  // Events, for the leader.

  /** The leader's buffer; empty whenever it begins with a connection. */
  ByteBuffer room() {
    return room;
  }

  /** Takes what came, or waits for something. */
  void poll(long timeoutMillis) throws IOException {
    int count = ready.size();
    events.poll(this, count > 0 ? 0 : timeoutMillis);
    for (int i = 0; i < count && !handlers.isFull(); i++) {
      serve(ready.remove());
    }
  }

  boolean hasReady() {
    return !ready.isEmpty();
  }

  void wakePoll() {
    events.wakeup();
  }

  @Override
  public void accepted(EngineStream stream, Service of) throws IOException {
    try {
      pairing.accepted(stream);
    } catch (IOException e) {
      RdmaRpc.LOG.info("A stream was lost before it was served: {}", e.toString());
      stream.close();
    }
  }

  @Override
  public void readable(EngineStream stream) {
    serve((RdmaChannel) stream.attachment());
  }

  @Override
  public void writable(EngineStream stream) {
    flush((RdmaChannel) stream.attachment());
  }

  private void serve(RdmaChannel channel) {
    if (handlers.isFull()) {
      ready.add(channel);
      return;
    }
    try {
      for (int i = 0; i < BURST && channel.isOpen(); i++) {
        read(channel.key());
        if (channel.isEmpty()) {
          return;
        }
        if (handlers.isFull()) {
          break;
        }
      }
      if (channel.isOpen()) {
        ready.add(channel);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      ready.add(channel);
    } catch (Error e) { // the rest of the batch is served before it is thrown on
      close((Server.Connection) channel.key().attachment());
      throw e;
    } finally {
      channel.keepRest();
    }
  }

  // Responses.

  /**
   * Writes a response into memory of the engine.
   *
   * @return null if Server is to write it
   */
  final ByteBuffer serialize(SocketChannel channel, String protocol, Writable request, RpcResponseHeaderProto header,
      Writable value) throws IOException {
    if (!(channel instanceof RdmaChannel)) {
      return null;
    }
    int kind = value == null ? 0 : RdmaSizes.kind(protocol, request);
    RdmaBuffer buffer;
    try {
      buffer = RdmaBuffer.start(upgrade.engine(), value == null ? 0 : SIZES.expected(kind));
      buffer.write(header);
      if (value != null) {
        buffer.write(value);
        SIZES.record(kind, buffer.length());
      }
    } catch (MemoryLimitException e) {
      return null;
    }
    if (buffer.length() > maxResponse) {
      Server.LOG.warn("Large response size " + buffer.length() + " for call " + describe(header, request));
    }
    if (value != null && request instanceof ProtobufRpcEngine.RpcProtobufRequest) {
      arrays.giveBack((ProtobufRpcEngine.RpcProtobufRequest) request);
    }
    return buffer.finish();
  }

  /** A call without its parameters: those of WritableRpcEngine would be written out, at 19 ms for a megabyte. */
  private static String describe(RpcResponseHeaderProto header, Writable request) {
    String what = request instanceof RpcWritable ? request.toString()
        : request == null ? "" : request.getClass().getName();
    return "Call#" + header.getCallId() + " Retry#" + header.getRetryCount() + " " + what;
  }

  /** A client has no room for a response. */
  void delayed(RdmaChannel channel) {
    delayed.add(channel);
    handlers.watch();
  }

  void closed(RdmaChannel channel) {
    delayed.remove(channel);
  }

  private void flush(RdmaChannel channel) {
    try {
      if (channel.flush()) {
        delayed.remove(channel);
      }
    } catch (IOException e) {
      close((Server.Connection) channel.key().attachment());
    }
  }

  /** From time to time. @return whether there is nothing to come back for */
  boolean housekeep() {
    for (RdmaChannel channel : delayed) {
      if (channel.delay() > PURGE_INTERVAL) {
        close((Server.Connection) channel.key().attachment());
      } else {
        flush(channel);
      }
    }
    pairing.purge();
    return delayed.isEmpty() && pairing.isIdle();
  }
}

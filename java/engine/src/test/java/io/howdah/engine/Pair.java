package io.howdah.engine;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Two engines of this process with a link between them, and a service "test" of the second. Over self both are one. */
final class Pair implements Closeable {
  /** Longer than anything takes. */
  static final int PATIENCE = 30_000;
  /**
   * Options with which messages of 1000 bytes that nobody reads fill their stream's window. With fewer credits, as
   * links over devices in software have by default, the link fills up before, and room comes back without a reader.
   */
  static final String[] FULL_WINDOW = {"stream.window=16k", "link.credits=64"};

  final Engine client;
  final Engine server;
  final EventQueue serverQueue;
  final Link link;
  final Link serverLink;
  private final Service service;
  private final List<EngineStream> accepted = new ArrayList<>();

  Pair(String transport, String... options) throws Exception {
    client = Engine.create(conf(transport, options).name("client"));
    server = "self".equals(transport) ? client : Engine.create(conf(transport, options).name("server"));
    serverQueue = server.newQueue();
    service = server.listen("test", serverQueue, null);
    Greeting[] both = meet(client, server);
    link = both[0].link();
    serverLink = both[1].link();
  }

  static EngineConf conf(String transport, String... options) {
    EngineConf conf = new EngineConf().set(EngineOption.TRANSPORT, transport).environment(false);
    for (String option : options) {
      String[] parts = option.split("=", 2);
      conf.set(EngineConf.PREFIX + parts[0], parts[1], "the test");
    }
    return conf;
  }

  /** Two connected sockets. */
  static SocketChannel[] sockets() throws IOException {
    try (ServerSocketChannel listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      SocketChannel client = SocketChannel.open(listener.getLocalAddress());
      return new SocketChannel[] {client, listener.accept()};
    }
  }

  static Greeting[] meet(Engine client, Engine server) throws Exception {
    SocketChannel[] sockets = sockets();
    try (SocketChannel a = sockets[0]; SocketChannel b = sockets[1]) {
      CompletableFuture<Greeting> accepting = Threads.supply(() -> server.accept(b, null, PATIENCE));
      Greeting connected = client.connect(a, "peer:1", PATIENCE);
      return new Greeting[] {connected, accepting.get(PATIENCE, TimeUnit.MILLISECONDS)};
    }
  }

  /** A stream and its other end. */
  EngineStream[] streams() throws IOException {
    EngineStream stream = link.open("test");
    return new EngineStream[] {stream, nextAccepted()};
  }

  EngineStream nextAccepted() throws IOException {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE);
    while (accepted.isEmpty() && System.nanoTime() < end) {
      serverQueue.poll(new EventHandler() {
        @Override
        public void accepted(EngineStream stream, Service from) {
          accepted.add(stream);
        }
      }, PATIENCE);
    }
    if (accepted.isEmpty()) {
      throw new IOException("no stream came");
    }
    return accepted.remove(0);
  }

  @Override
  public void close() {
    service.close();
    serverQueue.close();
    link.close();
    serverLink.close();
    client.close();
    server.close();
  }
}

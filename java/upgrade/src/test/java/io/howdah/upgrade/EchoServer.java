package io.howdah.upgrade;

import io.howdah.engine.EngineStream;
import io.howdah.engine.EventHandler;
import io.howdah.engine.EventQueue;
import io.howdah.engine.Link;
import io.howdah.engine.Service;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A server on an ordinary port that gives back what it gets, over sockets and over the engine. */
final class EchoServer implements Closeable, EventHandler {
  final Acceptor acceptor;
  final Pairing<SocketChannel> pairing;
  /** What happened, in the order that it did. */
  final List<String> events = new CopyOnWriteArrayList<>();
  private final ServerSocketChannel listener;
  private final EventQueue queue;
  private final Service service;

  EchoServer(Upgrade upgrade) throws IOException {
    if (!upgrade.isUsable()) {
      throw new IOException("no engine");
    }
    acceptor = new Acceptor(upgrade, Acceptor.newService("test"), "greeting");
    pairing = Pairing.oneToOne(upgrade, new Pairing.Pairs<SocketChannel>() {
      @Override
      public void paired(EngineStream stream, SocketChannel connection) throws IOException {
        events.add("paired " + connection.getRemoteAddress());
        connection.close();
        stream.interruptible(false);
        start(() -> echo(stream.input(), stream.output()));
      }

      @Override
      public void abandoned(SocketChannel connection, String cause) {
        events.add("abandoned");
        close(connection);
      }
    });
    queue = upgrade.engine().newQueue();
    service = upgrade.engine().listen(acceptor.service(), queue, null);
    listener = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    start(this::accept);
    start(this::poll);
  }

  InetSocketAddress address() throws IOException {
    return (InetSocketAddress) listener.getLocalAddress();
  }

  interface Work {
    void run() throws IOException;
  }

  static void start(Work work) {
    Thread thread = new Thread(() -> {
      try {
        work.run();
      } catch (IOException e) {
        return; // closed by one of the ends
      }
    });
    thread.setDaemon(true);
    thread.start();
  }

  static void echo(java.io.InputStream in, java.io.OutputStream out) throws IOException {
    byte[] bytes = new byte[100_000];
    for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
      out.write(bytes, 0, n);
      out.flush();
    }
    out.close();
  }

  private void poll() throws IOException {
    while (queue.isOpen()) {
      queue.poll(this, 1000);
    }
  }

  @Override
  public void accepted(EngineStream stream, Service of) throws IOException {
    pairing.accepted(stream);
  }

  private void accept() throws IOException {
    while (listener.isOpen()) {
      SocketChannel socket = listener.accept();
      start(() -> serve(socket));
    }
  }

  private void serve(SocketChannel socket) throws IOException {
    ByteBuffer first = ByteBuffer.allocate(4);
    while (first.hasRemaining() && socket.read(first) >= 0) {
      ByteBuffer seen = first.duplicate();
      seen.flip();
      if (!Acceptor.isPossible(seen)) {
        plain(socket, seen);
        return;
      }
    }
    first.flip();
    acceptor.answer(socket, first, new Acceptor.Answer() {
      @Override
      public void linked(Link link) throws IOException {
        pairing.greeted(link, socket);
      }

      @Override
      public void plain(ByteBuffer unread) {
        start(() -> EchoServer.this.plain(socket, unread));
      }

      @Override
      public void failed(String cause) {
        events.add("failed");
        close(socket);
      }
    });
  }

  private void plain(SocketChannel socket, ByteBuffer unread) throws IOException {
    events.add("plain");
    FirstBytesInput in = new FirstBytesInput(socket.socket().getInputStream());
    in.unread(unread);
    echo(in, socket.socket().getOutputStream());
  }

  private static void close(Closeable what) {
    try {
      what.close();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() throws IOException {
    service.close();
    acceptor.close();
    pairing.close();
    queue.close();
    listener.close();
  }
}

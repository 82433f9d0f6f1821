package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Meeting over a host protocol's connection. */
@Timeout(120)
class SocketsTest {
  private static ByteBuffer text(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
  }

  @Test
  void plainSocketsAndChannelsMeet() throws Exception {
    try (Engine a = Engine.create(Pair.conf(Transports.LINKED)); Engine b = Engine.create(Pair.conf(Transports.LINKED));
        ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(listener.getInetAddress(), listener.getLocalPort());
        Socket server = listener.accept()) {
      CompletableFuture<Greeting> accepting = Threads.supply(() -> b.accept(server, null, Pair.PATIENCE));
      Greeting greeting = a.connect(client, "there:1", Pair.PATIENCE);
      assertThat(greeting.isLinked()).isTrue();
      assertThat(greeting.reason()).isEmpty();
      assertThat(a.findLink("elsewhere:1")).isEmpty();
      try (Link same = a.findLink("there:1").get()) {
        assertThat(same.peer()).isEqualTo(greeting.link().peer());
      }
      accepting.get(Pair.PATIENCE, TimeUnit.MILLISECONDS).link().close();
      greeting.link().close();
    }
  }

  @Test
  void aSecondMeetingFindsTheLink() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED)) {
      Greeting[] again = Pair.meet(pair.client, pair.server);
      assertThat(again[0].isShared()).isTrue();
      again[0].link().close();
      again[1].link().close();
    }
  }

  @Test
  void aForeignClientLosesNothing() throws Exception {
    SocketChannel[] sockets = Pair.sockets();
    try (Engine engine = Engine.create(Pair.conf(Transports.LINKED));
        SocketChannel a = sockets[0]; SocketChannel b = sockets[1]) {
      a.write(text("hrpc and more"));
      b.configureBlocking(false); // as a server with a selector has it
      ByteBuffer first = ByteBuffer.allocate(4);
      while (first.hasRemaining()) {
        b.read(first);
      }
      first.flip();
      assertThat(Greeting.isPossible(first)).isFalse();
      Greeting greeting = engine.accept(b, first, Pair.PATIENCE);
      assertThat(greeting.isLinked()).isFalse();
      assertThat(greeting.link()).isNull();
      assertThat(greeting.reason()).contains("host protocol");
      assertThat(first.remaining()).isEqualTo(4);
      ByteBuffer all = ByteBuffer.allocate(100);
      all.put(greeting.unread());
      b.configureBlocking(true);
      while (all.position() < 13) {
        b.read(all);
      }
      all.flip();
      assertThat(StandardCharsets.US_ASCII.decode(all).toString()).isEqualTo("hrpc and more");
      assertThatThrownBy(() -> engine.accept(b, ByteBuffer.allocate(9), 1))
          .isInstanceOf(IllegalArgumentException.class);
      assertThat(engine.counters().get(Counter.FALLBACKS_FOREIGN)).isEqualTo(1);
    }
  }

  @Test
  void withoutACommonTransportTheConnectionGoesOn() throws Exception {
    SocketChannel[] sockets = Pair.sockets();
    try (Engine engine = Engine.create(Pair.conf("auto")); Engine off = Engine.create(Pair.conf("tcp"));
        SocketChannel a = sockets[0]; SocketChannel b = sockets[1]) {
      CompletableFuture<Greeting> accepting = Threads.supply(() -> engine.accept(b, null, Pair.PATIENCE));
      assertThat(off.connect(a, "there:1", Pair.PATIENCE).isLinked()).isFalse();
      a.write(text("plain"));
      Greeting accepted = accepting.get(Pair.PATIENCE, TimeUnit.MILLISECONDS);
      assertThat(accepted.isLinked()).isFalse();
      ByteBuffer all = ByteBuffer.allocate(5);
      all.put(accepted.unread());
      while (all.hasRemaining()) {
        b.read(all);
      }
      assertThat(new String(all.array(), StandardCharsets.US_ASCII)).isEqualTo("plain");
    }
  }

  @Test
  void anOldServerIsAnError() throws Exception {
    SocketChannel[] sockets = Pair.sockets();
    try (Engine engine = Engine.create(Pair.conf(Transports.LINKED));
        SocketChannel a = sockets[0]; SocketChannel b = sockets[1]) {
      b.write(text("HTTP/1.1 404 Not Found\r\n\r\n"));
      assertThatThrownBy(() -> engine.connect(a, "web:80", Pair.PATIENCE)).isInstanceOf(LinkException.class)
          .hasMessageContaining("web:80");
    }
  }

  @Test
  void socketsWithoutADescriptorAreRefused() throws Exception {
    SocketChannel[] sockets = Pair.sockets();
    try (Engine engine = Engine.create(Pair.conf(Transports.LINKED));
        SocketChannel a = sockets[0]; SocketChannel b = sockets[1]) {
      a.socket().close();
      assertThatThrownBy(() -> engine.connect(a, "x:1", 0)).isInstanceOf(EngineClosedException.class);
      try (Socket tls = SSLContext.getDefault().getSocketFactory().createSocket()) {
        assertThatThrownBy(() -> engine.connect(tls, "x:1", 0)).isInstanceOf(EngineException.class)
            .hasMessageContaining("file descriptor");
      }
      Socket wrapped = new Socket() {
        @Override
        public InputStream getInputStream() {
          return null;
        }
      };
      assertThatThrownBy(() -> engine.accept(wrapped, null, 0)).hasMessageContaining("file descriptor");
      wrapped.close();
      assertThat(b.isOpen()).isTrue();
    }
  }

  @Test
  void silenceIsATimeout() throws Exception {
    SocketChannel[] sockets = Pair.sockets();
    try (Engine engine = Engine.create(Pair.conf(Transports.LINKED));
        SocketChannel a = sockets[0]; SocketChannel b = sockets[1]) {
      assertThatThrownBy(() -> engine.connect(a, "silent:1", 30)).isInstanceOf(java.net.SocketTimeoutException.class)
          .hasMessageContaining("silent:1");
      assertThat(b.isOpen()).isTrue();
    }
  }
}

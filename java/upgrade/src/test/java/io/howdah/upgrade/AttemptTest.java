package io.howdah.upgrade;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients of all kinds of servers. */
@Timeout(60)
class AttemptTest {
  private final AtomicInteger fallbacks = new AtomicInteger();
  private Upgrade upgrade;

  @BeforeEach
  void forget() {
    PeerCache.ofThisProcess().clear();
  }

  @AfterEach
  void close() {
    if (upgrade != null) {
      upgrade.close();
    }
  }

  private Upgrade given(String... settings) throws IOException {
    upgrade = Upgrade.of(Component.RPC, new Given(settings), Role.DAEMON).metrics(new UpgradeMetrics() {
      @Override
      public void clientFellBack() {
        fallbacks.incrementAndGet();
      }
    });
    return upgrade;
  }

  private static Socket connect(InetSocketAddress server) throws IOException {
    return new Socket(server.getAddress(), server.getPort());
  }

  /** As a host does it. @return a socket of either kind */
  private static Socket go(Attempt attempt, InetSocketAddress server, int most) throws IOException {
    for (int i = 0; i < most; i++) {
      Socket tcp = connect(server);
      switch (attempt.upgrade(tcp, 0)) {
        case LINKED:
          tcp.close();
          return new StreamSocket(attempt.linked());
        case SOCKET:
          return tcp;
        default:
          assertThat(tcp.isClosed()).isTrue();
      }
    }
    throw new AssertionError("still not connected after " + most + " sockets");
  }

  private static void echoes(Socket socket, int size) throws IOException {
    byte[] sent = new byte[size];
    for (int i = 0; i < size; i++) {
      sent[i] = (byte) (i * 7);
    }
    EchoServer.start(() -> socket.getOutputStream().write(sent));
    byte[] come = new byte[size];
    new DataInputStream(socket.getInputStream()).readFully(come);
    assertThat(come).isEqualTo(sent);
  }

  /** A server that knows nothing of us: it closes what it does not understand, and gives back four other bytes. */
  private static ServerSocket stock() throws IOException {
    ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    EchoServer.start(() -> {
      while (true) {
        Socket socket = listener.accept();
        EchoServer.start(() -> {
          byte[] first = new byte[4];
          new DataInputStream(socket.getInputStream()).readFully(first);
          if (first[0] == 0) {
            socket.getOutputStream().write(first);
          } else {
            socket.close();
          }
        });
      }
    });
    return listener;
  }

  private static InetSocketAddress address(ServerSocket listener) {
    return new InetSocketAddress(listener.getInetAddress(), listener.getLocalPort());
  }

  @Test
  void aServerWithTheEngineIsReachedOverIt() throws Exception {
    try (EchoServer server = new EchoServer(given())) {
      Attempt attempt = upgrade.connector().attempt(server.address());
      try (Socket socket = go(attempt, server.address(), 1)) {
        assertThat(socket).isInstanceOf(StreamSocket.class);
        for (int size : new int[] {1, 1000, 100_000, 3_000_000}) {
          echoes(socket, size);
        }
        assertThat(socket.getPort()).isEqualTo(server.address().getPort());
        assertThat(server.events).containsExactly("paired " + socket.getLocalSocketAddress());
        assertThat(attempt.linked().transport()).isIn("self", "shm");
      }
      assertThat(fallbacks).hasValue(0);
    }
  }

  @Test
  void aLinkIsUsedAgain() throws Exception {
    try (EchoServer server = new EchoServer(given("hadoop.rdma.transport=self"))) {
      Attempt first = upgrade.connector().attempt(server.address());
      assertThat(first.reuse()).isFalse();
      Socket socket = go(first, server.address(), 1);
      Attempt second = upgrade.connector().attempt(server.address());
      assertThat(second.reuse()).isTrue();
      assertThat(second.linked().local()).isEqualTo(first.linked().local());
      second.linked().stream().close();
      second.linked().forget();
      assertThat(upgrade.connector().attempt(server.address()).reuse()).isFalse();
      socket.close();
    }
  }

  @Test
  void aServerThatKnowsNothingOfItGetsASocket() throws Exception {
    given();
    try (ServerSocket listener = stock()) {
      try (Socket socket = go(upgrade.connector().attempt(address(listener)), address(listener), 2)) {
        echoes(socket, 4);
      }
      assertThat(upgrade.connector().isRefused(address(listener))).isTrue();
      Attempt next = upgrade.connector().attempt(address(listener));
      try (Socket socket = go(next, address(listener), 1)) {
        echoes(socket, 4);
      }
      assertThat(fallbacks).hasValue(2);
      assertThat(Traffic.reasons().keySet()).anyMatch(key -> key.startsWith("rpc: it takes no greetings ("));
    }
  }

  @Test
  void aRefusalThatIsNotRememberedEndsInASocketAllTheSame() throws Exception {
    given("hadoop.rdma.rpc.fallback.remember=0");
    try (ServerSocket listener = stock()) {
      for (int i = 0; i < 2; i++) {
        try (Socket socket = go(upgrade.connector().attempt(address(listener)), address(listener), 2)) {
          echoes(socket, 4);
        }
      }
    }
  }

  @Test
  void aSilentServerGetsASocketInTime() throws Exception {
    given("hadoop.rdma.connect.timeout=500ms");
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      long began = System.nanoTime();
      go(upgrade.connector().attempt(address(silent)), address(silent), 2).close();
      assertThat(System.nanoTime() - began).isBetween(250_000_000L, 30_000_000_000L);
    }
  }

  @Test
  void requiredIsAnErrorWithItsCause() throws Exception {
    given("hadoop.rdma.enabled=required", "hadoop.rdma.connect.timeout=500ms");
    try (ServerSocket listener = stock();
        ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      assertThatThrownBy(() -> go(upgrade.connector().attempt(address(listener)), address(listener), 1))
          .isInstanceOf(IOException.class).hasMessageContaining("has to go over the engine")
          .hasMessageContaining("hadoop.rdma.enabled=required (from test-site.xml)")
          .hasMessageContaining("takes no greetings");
      assertThatThrownBy(() -> go(upgrade.connector().attempt(address(silent)), address(silent), 1))
          .isInstanceOf(SocketTimeoutException.class);
      assertThat(upgrade.connector().isRefused(address(listener))).isFalse();
    }
  }

  @Test
  void offIsASocketAndNoFallback() throws Exception {
    given("hadoop.rdma.enabled=false");
    try (ServerSocket listener = stock();
        Socket socket = go(upgrade.connector().attempt(address(listener)), address(listener), 1)) {
      echoes(socket, 4);
      assertThat(fallbacks).hasValue(0);
    }
  }

  @Test
  void aServerThatOffersNothingOnThisPortIsRefused() throws Exception {
    given();
    try (ServerSocket listener = stock()) {
      Attempt attempt = upgrade.connector().attempt(address(listener));
      attempt.refuse("it has no such service");
      try (Socket socket = go(attempt, address(listener), 1)) {
        echoes(socket, 4);
      }
    }
  }
}

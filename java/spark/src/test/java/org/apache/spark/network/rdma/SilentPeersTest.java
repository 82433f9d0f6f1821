package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineStream;
import io.howdah.engine.Greeting;
import io.howdah.engine.Link;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Peers that have a link and streams, and do not say who they are, or slowly. */
@Timeout(120)
class SilentPeersTest {
  private static final String[] LONG = {RdmaBlockConf.REQUIRED + "=true", "spark.shuffle.io.maxRetries=0",
      "spark.shuffle.io.connectionTimeout=60s"};

  private final List<Silent> silent = new ArrayList<>();
  private TestService server;

  /** A process that has met the server. */
  private static final class Silent implements AutoCloseable {
    private final Engine engine = Engine.create(TestService.engineConf());
    private final List<EngineStream> streams = new ArrayList<>();
    private final Link link;
    private final String service;

    Silent(int port) throws IOException {
      try (SocketChannel socket = SocketChannel.open(new InetSocketAddress(TestService.HOST, port))) {
        Greeting greeting = engine.connect(socket, TestService.HOST + ":" + port, 0);
        link = greeting.link();
        service = greeting.service();
      }
    }

    EngineStream open() throws IOException {
      EngineStream stream = link.open(service).readTimeout(30_000);
      streams.add(stream);
      return stream;
    }

    @Override
    public void close() throws IOException {
      for (EngineStream stream : streams) {
        stream.close();
      }
      link.close();
      engine.close();
    }
  }

  private Silent silent() throws IOException {
    Silent peer = new Silent(server.port());
    silent.add(peer);
    return peer;
  }

  @AfterEach
  void close() throws IOException {
    for (Silent peer : silent) {
      peer.close();
    }
    server.close();
  }

  private void assertAnHonestPeerIsServed(String... options) throws Exception {
    server.blocks.put("rdd_1_1", new TestService.Counted(new byte[] {1, 2, 3}));
    long start = System.nanoTime();
    try (TestService client = TestService.rdma(options)) {
      Fetched fetched = Fetched.of(client, server, "rdd_1_1");
      assertThat(fetched.read("rdd_1_1")).containsExactly(1, 2, 3);
      fetched.release();
    }
    // Not after the silent ones' time is up: that would be 30 s.
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(20));
  }

  private void awaitCallers(int least, int most) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    int count;
    do {
      Thread.sleep(5);
      count = server.rdma.server().callerCount();
    } while ((count < least || count > most) && System.nanoTime() < end);
    assertThat(count).isBetween(least, most);
  }

  @Test
  void silentPeersHoldUpNobody() throws Exception {
    server = TestService.rdma(LONG);
    for (int i = 0; i < 3; i++) {
      Silent peer = silent();
      for (int j = 0; j < 10; j++) {
        peer.open();
      }
    }
    awaitCallers(30, 30);
    assertAnHonestPeerIsServed(LONG);
    assertThat(server.rdma.server().callerCount()).isEqualTo(30);
  }

  /** The engines of one process have one name; so they are one peer here. */
  @Test
  void theOldestOfAPeerIsClosedForOneTooMany() throws Exception {
    server = TestService.rdma(LONG);
    EngineStream oldest = silent().open();
    for (int i = 0; i < 3 * Callers.MOST_OF_A_PEER; i++) {
      silent.get(0).open();
    }
    awaitCallers(Callers.MOST_OF_A_PEER, Callers.MOST_OF_A_PEER);
    assertThatThrownBy(() -> Handshake.receive(oldest)).isInstanceOf(IOException.class)
        .isNotInstanceOf(java.net.SocketTimeoutException.class);
    assertAnHonestPeerIsServed(LONG);
  }

  @Test
  void theirTimeIsUpOnce() throws Exception {
    String[] brief = {RdmaBlockConf.REQUIRED + "=true", "spark.shuffle.io.maxRetries=0",
        "spark.shuffle.io.connectionTimeout=2s"};
    server = TestService.rdma(brief);
    EngineStream stream = silent().open();
    awaitCallers(1, 1);
    awaitCallers(0, 0);
    assertThatThrownBy(() -> Handshake.receive(stream)).isInstanceOf(IOException.class)
        .isNotInstanceOf(java.net.SocketTimeoutException.class);
    assertAnHonestPeerIsServed(LONG);
  }

  @Test
  void thoseThatStopInTheMiddleOrTalkNonsenseAreNoDifferent() throws Exception {
    String[] secret = {LONG[0], LONG[1], LONG[2], "spark.authenticate=true", "spark.authenticate.secret=sesame"};
    server = TestService.rdma(secret);
    Silent peer = silent();
    for (int i = 0; i < 20; i++) {
      EngineStream stream = peer.open();
      ByteBuffer hello = ByteBuffer.allocate(64).put(Handshake.VERSION).put(Handshake.SESSION).put((byte) 1);
      BlockRequest.putText(hello, TestService.APP);
      hello.putInt(0);
      Handshake.send(stream, hello);
      assertThat(Handshake.receive(stream).get()).isEqualTo((byte) 2); // a challenge, which is not answered
    }
    awaitCallers(20, 20);
    for (int size : new int[] {1, 2, 1000, 100_000}) {
      EngineStream stream = silent().open();
      ByteBuffer nonsense = ByteBuffer.allocate(size);
      nonsense.position(size);
      Handshake.send(stream, nonsense);
      assertThatThrownBy(() -> Handshake.receive(stream)).isInstanceOf(IOException.class);
    }
    EngineStream upload = silent().open();
    ByteBuffer header = ByteBuffer.allocate(64).put(Handshake.VERSION).put(Handshake.UPLOAD).putLong(7);
    Handshake.send(upload, header);
    assertThatThrownBy(() -> Handshake.receive(upload)).isInstanceOf(IOException.class);
    assertAnHonestPeerIsServed(secret);
  }
}

package io.howdah.upgrade.netty3;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.engine.Link;
import io.howdah.upgrade.Acceptor;
import io.howdah.upgrade.Attempt;
import io.howdah.upgrade.Component;
import io.howdah.upgrade.Role;
import io.howdah.upgrade.Settings;
import io.howdah.upgrade.Upgrade;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Collections;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jboss.netty.bootstrap.ServerBootstrap;
import org.jboss.netty.channel.Channel;
import org.jboss.netty.channel.ChannelHandlerContext;
import org.jboss.netty.channel.ChannelStateEvent;
import org.jboss.netty.channel.Channels;
import org.jboss.netty.channel.MessageEvent;
import org.jboss.netty.channel.SimpleChannelUpstreamHandler;
import org.jboss.netty.channel.socket.nio.NioServerSocketChannelFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What Netty 3 has read of a greeting goes along; greetings that are cut off. */
class CutGreetingTest {
  private final BlockingQueue<String> events = new LinkedBlockingQueue<>();
  private Upgrade upgrade;
  private Acceptor acceptor;
  private ServerBootstrap bootstrap;
  private Channel listening;

  @BeforeEach
  void start() throws IOException {
    upgrade = Upgrade.of(Component.SHUFFLE, Settings.of(
        Collections.singletonMap("hadoop.rdma.transport", System.getProperty("howdah.test.transport", "shm")), "test"),
        Role.TASK);
    assertThat(upgrade.isUsable()).isTrue();
    acceptor = new Acceptor(upgrade, Acceptor.newService("test.netty3"), "greeting");
    NettyGreeter greeter = new NettyGreeter(acceptor, new NettyGreeter.Listener() {
      @Override
      public void linked(Channel channel, Link link) {
        events.add("linked");
        link.close();
      }

      @Override
      public void plain(Channel channel) {
        events.add("plain");
      }

      @Override
      public void failed(Channel channel, String cause) {
        events.add("failed");
      }
    });
    bootstrap = new ServerBootstrap(new NioServerSocketChannelFactory());
    bootstrap.setPipelineFactory(() -> Channels.pipeline(new SimpleChannelUpstreamHandler() {
      @Override
      public void channelOpen(ChannelHandlerContext context, ChannelStateEvent event) {
        greeter.install(context.getPipeline());
      }

      @Override
      public void messageReceived(ChannelHandlerContext context, MessageEvent event) {
        context.getChannel().write(event.getMessage());
      }
    }));
    listening = bootstrap.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  @AfterEach
  void stop() {
    listening.close().awaitUninterruptibly();
    bootstrap.releaseExternalResources();
    acceptor.close();
    upgrade.close();
  }

  private Socket connect() throws IOException {
    InetSocketAddress server = (InetSocketAddress) listening.getLocalAddress();
    Socket socket = new Socket(server.getAddress(), server.getPort());
    socket.setSoTimeout(20_000);
    return socket;
  }

  private String event() throws InterruptedException {
    return events.poll(20, TimeUnit.SECONDS);
  }

  private static String read(Socket socket, int length) throws IOException {
    byte[] bytes = new byte[length];
    new java.io.DataInputStream(socket.getInputStream()).readFully(bytes);
    return new String(bytes, US_ASCII);
  }

  @Test
  void aGreetingEndsWithALink() throws Exception {
    try (Socket socket = connect()) {
      InetSocketAddress server = (InetSocketAddress) listening.getLocalAddress();
      Attempt attempt = upgrade.connector().attempt(server);
      assertThat(attempt.upgrade(socket, 0)).isEqualTo(Attempt.Step.LINKED);
      assertThat(attempt.linked().service()).isEqualTo(acceptor.service());
      attempt.linked().stream().close();
    }
    assertThat(event()).isEqualTo("linked");
  }

  @Test
  void bytesThatBeginAsAGreetingAndAreNoneAreHandedOnWhole() throws Exception {
    byte[] first = greetingsFirstByte();
    try (Socket socket = connect()) {
      socket.getOutputStream().write(first);
      socket.getOutputStream().flush();
      Thread.sleep(50); // so that it is likely read by itself; the result is the same if not
      socket.getOutputStream().write("!and more".getBytes(US_ASCII));
      assertThat(read(socket, 10)).isEqualTo(new String(first, US_ASCII) + "!and more");
    }
  }

  @Test
  void aGreetingThatIsCutOffEndsTheConnection() throws Exception {
    byte[] hello = greeting();
    try (Socket socket = connect()) {
      socket.getOutputStream().write(hello, 0, hello.length / 2);
      socket.shutdownOutput();
      assertThat(event()).isEqualTo("failed");
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
    }
  }

  private byte[] greetingsFirstByte() throws IOException {
    return new byte[] {greeting()[0]};
  }

  /** The first bytes that a client of ours sends. */
  private byte[] greeting() throws IOException {
    try (java.net.ServerSocket server = new java.net.ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Thread client = new Thread(() -> {
        try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
          upgrade.engine().connect(socket, "nobody:1", 2000).isLinked();
        } catch (IOException e) {
          events.remove("never"); // the server hangs up, which is an error here
        }
      });
      client.start();
      try (Socket accepted = server.accept()) {
        byte[] bytes = new byte[4096];
        int length = accepted.getInputStream().read(bytes);
        return java.util.Arrays.copyOf(bytes, length);
      }
    }
  }
}

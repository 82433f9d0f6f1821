package io.howdah.upgrade;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.jboss.netty.channel.Channels;
import org.jboss.netty.channel.MessageEvent;
import org.jboss.netty.channel.SimpleChannelUpstreamHandler;
import org.jboss.netty.channel.socket.nio.NioServerSocketChannelFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real servers on Netty 3 and Netty 4 that give back what they get, with clients of all kinds. */
@Timeout(60)
class NettyGreeterTest {
  private final AtomicInteger plain = new AtomicInteger();

  @BeforeEach
  void forget() {
    PeerCache.ofThisProcess().clear();
  }

  /** A running server. */
  private interface Server extends Closeable {
    InetSocketAddress address();
  }

  private Server start(int netty, Acceptor acceptor) throws Exception {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    return netty == 3 ? start3(acceptor, any) : start4(acceptor, any);
  }

  private Server start3(Acceptor acceptor, InetSocketAddress any) throws IOException {
    org.jboss.netty.bootstrap.ServerBootstrap bootstrap = new org.jboss.netty.bootstrap.ServerBootstrap(
        new NioServerSocketChannelFactory(Executors.newCachedThreadPool(), Executors.newCachedThreadPool(), 2));
    io.howdah.upgrade.netty3.NettyGreeter greeter = new io.howdah.upgrade.netty3.NettyGreeter(acceptor,
        new io.howdah.upgrade.netty3.NettyGreeter.Listener() {
          @Override
          public void plain(org.jboss.netty.channel.Channel channel) {
            plain.incrementAndGet();
          }
        });
    bootstrap.setPipelineFactory(() -> {
      org.jboss.netty.channel.ChannelPipeline pipeline = Channels.pipeline(new SimpleChannelUpstreamHandler() {
        @Override
        public void messageReceived(org.jboss.netty.channel.ChannelHandlerContext context, MessageEvent event) {
          event.getChannel().write(event.getMessage());
        }
      });
      greeter.install(pipeline);
      return pipeline;
    });
    org.jboss.netty.channel.Channel listener = bootstrap.bind(any);
    return new Server() {
      @Override
      public InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalAddress();
      }

      @Override
      public void close() throws IOException {
        listener.close().awaitUninterruptibly();
        bootstrap.releaseExternalResources();
      }
    };
  }

  private Server start4(Acceptor acceptor, InetSocketAddress any) throws Exception {
    io.howdah.upgrade.netty4.NettyGreeter greeter = new io.howdah.upgrade.netty4.NettyGreeter(acceptor,
        new io.howdah.upgrade.netty4.NettyGreeter.Listener() {
          @Override
          public void plain(io.netty.channel.Channel channel) {
            plain.incrementAndGet();
          }
        });
    NioEventLoopGroup threads = new NioEventLoopGroup(2);
    io.netty.channel.Channel listener = new ServerBootstrap().group(threads).channel(NioServerSocketChannel.class)
        .childHandler(new ChannelInitializer<io.netty.channel.Channel>() {
          @Override
          protected void initChannel(io.netty.channel.Channel channel) {
            channel.pipeline().addLast(new ChannelInboundHandlerAdapter() {
              @Override
              public void channelRead(ChannelHandlerContext context, Object message) {
                context.writeAndFlush(message);
              }
            });
            greeter.install(channel);
          }
        }).bind(any).sync().channel();
    return new Server() {
      @Override
      public InetSocketAddress address() {
        return (InetSocketAddress) listener.localAddress();
      }

      @Override
      public void close() {
        listener.close().awaitUninterruptibly();
        threads.shutdownGracefully();
      }
    };
  }

  private static Socket connect(Server server) throws IOException {
    return new Socket(server.address().getAddress(), server.address().getPort());
  }

  private static void echoes(Socket socket, String... pieces) throws Exception {
    for (String piece : pieces) {
      socket.getOutputStream().write(piece.getBytes(StandardCharsets.US_ASCII));
      Thread.sleep(20);
    }
    byte[] come = new byte[String.join("", pieces).length()];
    new DataInputStream(socket.getInputStream()).readFully(come);
    assertThat(new String(come, StandardCharsets.US_ASCII)).isEqualTo(String.join("", pieces));
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 4})
  void clientsWithTheEngineUseIt(int netty) throws Exception {
    try (Upgrade upgrade = Upgrade.of(Component.SHUFFLE, new Given(), Role.DAEMON);
        StreamEcho echo = new StreamEcho(upgrade);
        Server server = start(netty, echo.acceptor)) {
      for (int i = 0; i < 20; i++) {
        Attempt attempt = upgrade.connector().attempt(server.address());
        Socket tcp = connect(server);
        assertThat(attempt.upgrade(tcp, 0)).isEqualTo(Attempt.Step.LINKED);
        tcp.close();
        try (Socket socket = new StreamSocket(attempt.linked())) {
          echoes(socket, "over the engine");
        }
      }
      assertThat(plain).hasValue(0);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 4})
  void whatIsNoGreetingIsHandedOn(int netty) throws Exception {
    try (Upgrade upgrade = Upgrade.of(Component.SHUFFLE, new Given(), Role.DAEMON);
        StreamEcho echo = new StreamEcho(upgrade);
        Server server = start(netty, echo.acceptor); Socket silent = connect(server)) {
      String[][] all = {{"GET / HTTP/1.1\r\n\r\n"}, {"x"}, {"H"}, {"HO", "tel"}, {"H", "E", "A", "D ", "/"}};
      for (String[] pieces : all) {
        try (Socket socket = connect(server)) {
          if (pieces[0].equals("H")) { // could be one
            socket.getOutputStream().write('H');
            socket.shutdownOutput();
            assertThat(socket.getInputStream().read()).isIn(-1, (int) 'H');
            continue;
          }
          echoes(socket, pieces);
          echoes(socket, "and", "more");
        }
      }
      echoes(silent, "at last");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 4})
  void aGreetingThatIsGarbageCostsItsConnectionOnly(int netty) throws Exception {
    try (Upgrade upgrade = Upgrade.of(Component.SHUFFLE, new Given("hadoop.rdma.connect.timeout=1s"), Role.DAEMON);
        StreamEcho echo = new StreamEcho(upgrade);
        Server server = start(netty, echo.acceptor); Socket stuck = connect(server)) {
      stuck.getOutputStream().write("HOWD".getBytes(StandardCharsets.US_ASCII));
      try (Socket socket = connect(server)) {
        echoes(socket, "not a greeting");
      }
      stuck.setSoTimeout(20_000);
      assertThat(stuck.getInputStream().read()).isIn(-1, (int) 'H'); // closed, or handed on
    }
  }
}

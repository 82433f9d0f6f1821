package io.howdah.upgrade.netty3;

import io.howdah.engine.Link;
import io.howdah.upgrade.Acceptor;
import java.io.Closeable;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jboss.netty.buffer.ChannelBuffers;
import org.jboss.netty.channel.Channel;
import org.jboss.netty.channel.ChannelHandlerContext;
import org.jboss.netty.channel.ChannelPipeline;
import org.jboss.netty.channel.ChannelStateEvent;
import org.jboss.netty.channel.SimpleChannelUpstreamHandler;
import org.jboss.netty.channel.UpstreamMessageEvent;
import org.jboss.netty.channel.socket.nio.NioSocketChannel;

/**
 * Answers greetings on a port of a Netty 3 server. Netty 3 reads at least a kilobyte at once, and the engine must
 * read the rest of a greeting itself; so a new connection is not read by Netty until its first bytes were looked at,
 * by a thread of ours with a selector of its own. What is not a greeting is handed on. Thread-safe.
 */
public final class NettyGreeter implements Closeable {
  private static final String NAME = "howdah greeting";

  private final Acceptor acceptor;
  private final Listener listener;
  private final FirstBytes firstBytes;
  private final Field socket;

  /** What a server does with its connections. By default a link is left to the client, and needs no connection. */
  public interface Listener {
    /** A connection was greeted. The callee closes the link; the connection is closed afterwards. */
    default void linked(Channel channel, Link link) throws IOException {
      link.close(); // the client's first stream holds it
    }

    /** A connection stays what it was. */
    default void plain(Channel channel) {
    }

    /** A connection is closed, since its greeting failed. */
    default void failed(Channel channel, String cause) {
    }
  }

  /** A greeter of a server. @param name of its thread */
  public NettyGreeter(Acceptor acceptor, Listener listener, String name) throws IOException {
    this.acceptor = acceptor;
    this.listener = listener;
    try {
      socket = NioSocketChannel.class.getSuperclass().getDeclaredField("channel"); // Netty has no public way to it
      socket.setAccessible(true);
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException("this Netty is not 3.6 to 3.10", e);
    }
    firstBytes = new FirstBytes(name);
  }

  /** Has connections with this pipeline looked at. Called by the server's pipeline factory. */
  public void install(ChannelPipeline pipeline) {
    pipeline.addFirst(NAME, new Handler());
  }

  @Override
  public void close() throws IOException {
    firstBytes.close();
  }

  private final class Handler extends SimpleChannelUpstreamHandler {
    @Override
    public void channelOpen(ChannelHandlerContext context, ChannelStateEvent event) {
      if (context.getChannel() instanceof NioSocketChannel) {
        context.getChannel().setReadable(false); // before it is registered for reading
      }
      context.sendUpstream(event);
    }

    @Override
    public void channelConnected(ChannelHandlerContext context, ChannelStateEvent event) throws IOException {
      Channel channel = context.getChannel();
      if (channel instanceof NioSocketChannel) {
        firstBytes.watch(socket(channel), new FirstBytes.Reader() {
          @Override
          public void greets(SocketChannel tcp, ByteBuffer first) {
            greet(context, tcp, first);
          }

          @Override
          public void plain(ByteBuffer first) {
            handOn(context, first);
          }

          @Override
          public void failed(IOException cause) {
            channel.close();
          }
        });
      }
      context.sendUpstream(event);
    }

    private SocketChannel socket(Channel channel) throws IOException {
      try {
        return (SocketChannel) socket.get(channel);
      } catch (IllegalAccessException e) {
        throw new IOException(e);
      }
    }

    private void greet(ChannelHandlerContext context, SocketChannel tcp, ByteBuffer first) {
      Channel channel = context.getChannel();
      acceptor.answer(tcp, first, new Acceptor.Answer() {
        @Override
        public void linked(Link link) throws IOException {
          listener.linked(channel, link);
          channel.close(); // the engine has the connection by a descriptor of its own
        }

        @Override
        public void plain(ByteBuffer unread) {
          handOn(context, unread);
        }

        @Override
        public void failed(String cause) {
          listener.failed(channel, cause);
          channel.close();
        }
      });
    }

    private void handOn(ChannelHandlerContext context, ByteBuffer bytes) {
      Channel channel = context.getChannel();
      channel.getPipeline().execute(() -> {
        listener.plain(channel);
        if (bytes.hasRemaining()) {
          context.sendUpstream(new UpstreamMessageEvent(channel, ChannelBuffers.copiedBuffer(bytes),
              channel.getRemoteAddress()));
        }
        if (channel.getPipeline().get(NAME) != null) {
          channel.getPipeline().remove(this);
        }
        channel.setReadable(true);
      });
    }
  }
}

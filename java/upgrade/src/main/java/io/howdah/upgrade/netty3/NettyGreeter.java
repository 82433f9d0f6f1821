package io.howdah.upgrade.netty3;

import io.howdah.engine.Greeting;
import io.howdah.engine.Link;
import io.howdah.upgrade.Acceptor;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jboss.netty.buffer.ChannelBuffer;
import org.jboss.netty.buffer.ChannelBuffers;
import org.jboss.netty.channel.Channel;
import org.jboss.netty.channel.ChannelHandlerContext;
import org.jboss.netty.channel.ChannelPipeline;
import org.jboss.netty.channel.Channels;
import org.jboss.netty.channel.MessageEvent;
import org.jboss.netty.channel.SimpleChannelUpstreamHandler;
import org.jboss.netty.channel.socket.nio.NioSocketChannel;

/**
 * Answers greetings on a port of a Netty 3 server. It looks at the first bytes of each connection before any other
 * handler, and hands on everything that is not a greeting. Netty 3 reads up to 1 KB at once, so more of a greeting than
 * its first bytes has been read by then; the engine takes that along. Thread-safe.
 */
public final class NettyGreeter {
  private static final String NAME = "howdah greeting";

  private final Acceptor acceptor;
  private final Listener listener;
  private final Field javaChannel;

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

  /** A greeter of a server. */
  public NettyGreeter(Acceptor acceptor, Listener listener) {
    this.acceptor = acceptor;
    this.listener = listener;
    try {
      // Netty has no public way to it.
      javaChannel = Class.forName("org.jboss.netty.channel.socket.nio.AbstractNioChannel").getDeclaredField("channel");
      javaChannel.setAccessible(true);
    } catch (ClassNotFoundException | NoSuchFieldException e) {
      throw new IllegalStateException("this Netty is not 3.6 to 3.10", e);
    }
  }

  /** Has connections with this pipeline looked at: by the pipeline's factory, or before anything was read. */
  public void install(ChannelPipeline pipeline) {
    pipeline.addFirst(NAME, new Handler());
  }

  private final class Handler extends SimpleChannelUpstreamHandler {
    private final ChannelBuffer read = ChannelBuffers.dynamicBuffer(Acceptor.FIRST_BYTES);
    private boolean greets;

    @Override
    public void messageReceived(ChannelHandlerContext context, MessageEvent event) throws IOException {
      read.writeBytes((ChannelBuffer) event.getMessage());
      if (greets) {
        return; // read before reading stopped; handed on if the connection stays what it was
      }
      ByteBuffer all = read.toByteBuffer();
      ByteBuffer first = all.duplicate();
      first.limit(Math.min(all.remaining(), Greeting.PREFIX_MAX));
      if (!(context.getChannel() instanceof NioSocketChannel) || !Acceptor.isPossible(first)) {
        handOn(context);
      } else if (all.remaining() > Greeting.GREETING_READ_MAX) {
        listener.failed(context.getChannel(), "a greeting that does not end");
        context.getChannel().close();
      } else if (all.remaining() >= Acceptor.FIRST_BYTES) {
        greets = true;
        greet(context, ByteBuffer.wrap(bytes(all)));
      }
    }

    private void greet(ChannelHandlerContext context, ByteBuffer prefix) throws IOException {
      Channel channel = context.getChannel();
      channel.setReadable(false);
      read.clear();
      SocketChannel socket;
      try {
        socket = (SocketChannel) javaChannel.get(channel);
      } catch (IllegalAccessException e) {
        throw new IOException(e);
      }
      acceptor.answer(socket, prefix, new Acceptor.Answer() {
        @Override
        public void linked(Link link) throws IOException {
          listener.linked(channel, link);
          channel.close(); // the engine has the connection by a descriptor of its own
        }

        @Override
        public void plain(ByteBuffer unread) {
          context.getPipeline().execute(() -> {
            ChannelBuffer later = read.copy();
            read.clear();
            read.writeBytes(unread);
            read.writeBytes(later);
            handOn(context);
            channel.setReadable(true);
          });
        }

        @Override
        public void failed(String cause) {
          listener.failed(channel, cause);
          channel.close();
        }
      });
    }

    private void handOn(ChannelHandlerContext context) {
      listener.plain(context.getChannel());
      context.getPipeline().remove(this);
      if (read.readable()) {
        Channels.fireMessageReceived(context, read, context.getChannel().getRemoteAddress());
      }
    }
  }

  private static byte[] bytes(ByteBuffer from) {
    byte[] bytes = new byte[from.remaining()];
    from.duplicate().get(bytes);
    return bytes;
  }
}

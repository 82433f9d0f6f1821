package io.howdah.upgrade.netty4;

import io.howdah.engine.Link;
import io.howdah.upgrade.Acceptor;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.nio.AbstractNioChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * Answers greetings on a port of a Netty 4 server. It looks at the first bytes of each connection before any other
 * handler, reads no more than these, and hands on everything that is not a greeting. Thread-safe.
 */
public final class NettyGreeter {
  private static final String NAME = "howdah greeting";

  private final Acceptor acceptor;
  private final Listener listener;
  private final Method javaChannel;

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
      javaChannel = AbstractNioChannel.class.getDeclaredMethod("javaChannel"); // Netty has no public way to it
      javaChannel.setAccessible(true);
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException("this Netty is not 4.0 or 4.1", e);
    }
  }

  /** Has an accepted connection looked at. Before its first byte is read. Others than NIO sockets are left alone. */
  public void install(Channel channel) {
    if (channel instanceof NioSocketChannel) {
      FirstBytes sizes = new FirstBytes(channel.config().getRecvByteBufAllocator());
      channel.config().setRecvByteBufAllocator(sizes);
      channel.pipeline().addFirst(NAME, new Handler(sizes));
    }
  }

  /** Reads as few bytes as a greeting is told by, until it is known that this is none: the engine reads the rest. */
  private static final class FirstBytes implements RecvByteBufAllocator {
    private final RecvByteBufAllocator after;
    private int wanted = Acceptor.FIRST_BYTES;

    FirstBytes(RecvByteBufAllocator after) {
      this.after = after;
    }

    @Override
    public Handle newHandle() {
      Handle rest = after.newHandle();
      return new Handle() {
        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
          return wanted > 0 ? allocator.ioBuffer(wanted, wanted) : rest.allocate(allocator);
        }

        @Override
        public int guess() {
          return wanted > 0 ? wanted : rest.guess();
        }

        @Override
        public void record(int bytes) {
          if (wanted == 0) {
            rest.record(bytes);
          }
        }
      };
    }
  }

  private final class Handler extends ChannelInboundHandlerAdapter {
    private final FirstBytes sizes;
    private final ByteBuffer first = ByteBuffer.allocate(Acceptor.FIRST_BYTES);

    Handler(FirstBytes sizes) {
      this.sizes = sizes;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) throws IOException {
      ByteBuf bytes = (ByteBuf) message;
      try {
        first.limit(first.position() + bytes.readableBytes());
        bytes.readBytes(first);
        first.limit(first.capacity());
      } finally {
        bytes.release();
      }
      ByteBuffer prefix = first.duplicate();
      prefix.flip();
      if (!Acceptor.isPossible(prefix)) {
        handOn(context, prefix);
      } else if (first.hasRemaining()) {
        sizes.wanted = first.remaining();
      } else {
        greet(context, prefix);
      }
    }

    private void greet(ChannelHandlerContext context, ByteBuffer prefix) throws IOException {
      Channel channel = context.channel();
      channel.config().setAutoRead(false);
      SocketChannel socket;
      try {
        socket = (SocketChannel) javaChannel.invoke(channel);
      } catch (IllegalAccessException | InvocationTargetException e) {
        throw new IOException(e);
      }
      acceptor.answer(socket, prefix, new Acceptor.Answer() {
        @Override
        public void linked(Link link) throws IOException {
          listener.linked(channel, link);
          context.close(); // the engine has the connection by a descriptor of its own
        }

        @Override
        public void plain(ByteBuffer unread) {
          context.executor().execute(() -> {
            handOn(context, unread);
            channel.config().setAutoRead(true);
          });
        }

        @Override
        public void failed(String cause) {
          listener.failed(channel, cause);
          context.close();
        }
      });
    }

    private void handOn(ChannelHandlerContext context, ByteBuffer bytes) {
      sizes.wanted = 0;
      listener.plain(context.channel());
      context.pipeline().remove(this);
      if (bytes.hasRemaining()) {
        context.fireChannelRead(Unpooled.copiedBuffer(bytes));
        context.fireChannelReadComplete();
      }
    }
  }
}

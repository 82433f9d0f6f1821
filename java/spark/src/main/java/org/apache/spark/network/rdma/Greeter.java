package org.apache.spark.network.rdma;

import io.howdah.engine.Engine;
import io.howdah.engine.Greeting;
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
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.TransportServerBootstrap;

/**
 * Answers greetings on Spark's own block transfer port. It looks at the first bytes of each connection before any
 * handler of Spark does, reads no more than these, and hands everything that is not a greeting on. Thread-safe.
 */
final class Greeter implements TransportServerBootstrap {
  /** Each takes one greeting at a time, and ends when idle: so many slow ones hold up nobody. */
  private static final int THREADS = 256;
  private static final int WAITING = 4096;
  private static final int GREETING_TIMEOUT = 10_000;
  /** The same when all threads are taken and others wait. */
  private static final int CROWDED_TIMEOUT = 3000;
  private static final String NAME = "howdah greeting";

  private final Engine engine;
  private final String service;
  private final BlockMetrics metrics;
  private final Method javaChannel;
  private final ThreadPoolExecutor threads;

  /** @param service what clients are told to open streams to and fetch from */
  Greeter(Engine engine, String service, BlockMetrics metrics) {
    this.engine = engine;
    this.service = service;
    this.metrics = metrics;
    try {
      javaChannel = AbstractNioChannel.class.getDeclaredMethod("javaChannel"); // Netty has no public way to it
      javaChannel.setAccessible(true);
    } catch (NoSuchMethodException e) {
      throw new IllegalStateException("this Netty is not the one that Spark 2.1 comes with", e);
    }
    threads = new ThreadPoolExecutor(THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(WAITING),
        work -> {
          Thread thread = new Thread(work, "rdma-block-greeting");
          thread.setDaemon(true);
          return thread;
        });
    threads.allowCoreThreadTimeOut(true);
  }

  @Override
  public RpcHandler doBootstrap(Channel channel, RpcHandler handler) {
    if (channel instanceof NioSocketChannel) {
      FirstBytes sizes = new FirstBytes(channel.config().getRecvByteBufAllocator());
      channel.config().setRecvByteBufAllocator(sizes);
      channel.pipeline().addFirst(NAME, new Handler(sizes));
    }
    return handler;
  }

  void close() {
    threads.shutdownNow();
  }

  /** Reads as few bytes as a greeting is told by, until it is known that this is none: the engine reads the rest. */
  private static final class FirstBytes implements RecvByteBufAllocator {
    private final RecvByteBufAllocator after;
    private int wanted = Greeting.PREFIX_MAX;

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
    private final ByteBuffer first = ByteBuffer.allocate(Greeting.PREFIX_MAX);

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
      if (!Greeting.isPossible(prefix)) {
        handOn(context, prefix);
      } else if (first.hasRemaining()) {
        sizes.wanted = first.remaining();
      } else {
        greet(context, prefix);
      }
    }

    private void greet(ChannelHandlerContext context, ByteBuffer prefix) {
      context.channel().config().setAutoRead(false);
      metrics.greetings.inc();
      try {
        threads.execute(() -> answer(context, prefix));
      } catch (RejectedExecutionException e) {
        metrics.greetingsFailed.inc();
        BlockLog.LOG.warn("Too many greetings at a time: closing {}", context.channel());
        context.close();
      }
    }

    private void answer(ChannelHandlerContext context, ByteBuffer prefix) {
      try {
        SocketChannel socket = (SocketChannel) javaChannel.invoke(context.channel());
        int timeout = threads.getQueue().isEmpty() ? GREETING_TIMEOUT : CROWDED_TIMEOUT;
        Greeting greeting = engine.accept(socket, prefix, timeout, service);
        if (greeting.isLinked()) {
          greeting.link().close(); // the client's first stream holds it
          context.close(); // the engine has the connection by a descriptor of its own
          return;
        }
        metrics.greetingsFailed.inc();
        BlockLog.LOG.info("{} goes on over Netty: {}", context.channel(), greeting.reason());
        context.executor().execute(() -> {
          handOn(context, greeting.unread());
          context.channel().config().setAutoRead(true);
        });
      } catch (IOException | IllegalAccessException | InvocationTargetException | RuntimeException e) {
        metrics.greetingsFailed.inc();
        BlockLog.LOG.info("Closing {}, whose greeting failed: {}", context.channel(), e.toString());
        context.close();
      }
    }

    private void handOn(ChannelHandlerContext context, ByteBuffer bytes) {
      sizes.wanted = 0;
      metrics.nettyConnections.inc();
      context.pipeline().remove(this);
      if (bytes.hasRemaining()) {
        context.fireChannelRead(Unpooled.copiedBuffer(bytes));
        context.fireChannelReadComplete();
      }
    }
  }
}

package org.apache.spark.network.rdma;

import io.howdah.upgrade.Acceptor;
import io.howdah.upgrade.Upgrade;
import io.howdah.upgrade.netty4.NettyGreeter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.network.server.RpcHandler;
import org.apache.spark.network.server.TransportServerBootstrap;

/**
 * Answers the {@link Question} and greetings on Spark's own block transfer port. It looks at the first bytes of each
 * connection before any handler of Spark does, and hands everything else on. Thread-safe.
 */
final class Greeter implements TransportServerBootstrap {
  private final Acceptor acceptor;
  private final NettyGreeter greeter;

  /**
   * @param upgrade of which isUsable() was true
   * @param service what clients are told to open streams to and fetch from
   */
  Greeter(Upgrade upgrade, String service, BlockMetrics metrics) throws IOException {
    acceptor = new Acceptor(upgrade, service, "rdma-block-greeting");
    greeter = new NettyGreeter(acceptor, new NettyGreeter.Listener() {
      @Override
      public void plain(Channel channel) {
        metrics.nettyConnections.inc();
      }

      @Override
      public void failed(Channel channel, String cause) {
        BlockLog.LOG.info("Closing {}, whose greeting failed: {}", channel, cause);
      }
    });
  }

  @Override
  public RpcHandler doBootstrap(Channel channel, RpcHandler handler) {
    greeter.install(channel);
    if (channel instanceof NioSocketChannel) {
      QuestionBytes sizes = new QuestionBytes(channel.config().getRecvByteBufAllocator());
      channel.config().setRecvByteBufAllocator(sizes);
      channel.pipeline().addFirst("howdah question", new Answerer(sizes));
    }
    return handler;
  }

  void close() {
    acceptor.close();
  }

  /** Has Netty read no more than may belong to the question. */
  private static final class QuestionBytes implements RecvByteBufAllocator {
    private final RecvByteBufAllocator after;
    private int wanted = Acceptor.FIRST_BYTES;

    QuestionBytes(RecvByteBufAllocator after) {
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

  /** Answers the question if it comes first, and lets all else pass. */
  private static final class Answerer extends ChannelInboundHandlerAdapter {
    private final QuestionBytes sizes;
    private byte[] came = new byte[0];

    Answerer(QuestionBytes sizes) {
      this.sizes = sizes;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      ByteBuf bytes = (ByteBuf) message;
      int before = came.length;
      came = Arrays.copyOf(came, before + bytes.readableBytes());
      bytes.readBytes(came, before, came.length - before);
      bytes.release();
      int left = left();
      if (left < 0) {
        sizes.wanted = 0;
        handOn(context);
      } else if (left > 0) {
        // No more than a greeting is told by at first, and never more than is left of the question.
        sizes.wanted = came.length < Acceptor.FIRST_BYTES ? Acceptor.FIRST_BYTES - came.length : left;
      } else {
        sizes.wanted = 0;
        context.writeAndFlush(Unpooled.wrappedBuffer(Question.ANSWER));
        context.pipeline().remove(this);
      }
    }

    /** Bytes that are missing of the question, at least; -1 if it is none. */
    private int left() {
      int left = Integer.MAX_VALUE;
      for (byte[] form : Question.forms()) {
        if (came.length <= form.length && Arrays.equals(came, Arrays.copyOf(form, came.length))) {
          left = Math.min(left, form.length - came.length);
        }
      }
      return left == Integer.MAX_VALUE ? -1 : left;
    }

    /** In portions as the next handler would have read them. */
    private void handOn(ChannelHandlerContext context) {
      for (int at = 0; at < came.length; at += Acceptor.FIRST_BYTES) {
        int end = Math.min(came.length, at + Acceptor.FIRST_BYTES);
        context.fireChannelRead(Unpooled.copiedBuffer(came, at, end - at));
      }
      context.fireChannelReadComplete();
      context.pipeline().remove(this);
    }
  }
}

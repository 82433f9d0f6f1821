package org.apache.spark.network.rdma;

import io.howdah.engine.EngineException;
import io.howdah.engine.FetchParams;
import io.howdah.engine.LinkException;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;

/**
 * The blocks that a task asked for at once. As many as a name holds go into one request; what the answer had no room
 * for is asked for again, in requests side by side that are likely to fit, and large blocks come in pieces. The
 * listener is told of each block once.
 */
final class BlockFetch {
  private static final int EBUSY = 16;
  /** So many requests at most come of what one answer had no room for. */
  private static final int SPREAD = 16;

  private final ClientSession session;
  private final BlockClient client;
  private final String executor;
  private final BlockFetchingListener listener;

  private BlockFetch(ClientSession session, BlockClient client, String executor, BlockFetchingListener listener) {
    this.session = session;
    this.client = client;
    this.executor = executor;
    this.listener = listener;
  }

  /** @param executor whose blocks they are if the peer is a shuffle service, else null */
  static void start(ClientSession session, BlockClient client, String executor, String[] blocks,
      BlockFetchingListener listener) {
    new BlockFetch(session, client, executor, listener).ask(Arrays.asList(blocks), session.together());
  }

  /** @param together most blocks in one request */
  private void ask(List<String> blocks, int together) {
    for (int from = 0; from < blocks.size();) {
      BlockRequest.Writer name = new BlockRequest.Writer(session.id(), executor);
      int to = from;
      while (to < blocks.size() && to - from < together && name.add(blocks.get(to))) {
        to++;
      }
      session.submit(new Batch(blocks.subList(from, to), name.name()));
      from = to;
    }
  }

  // What the listener is told.

  private void succeed(String block, ManagedBuffer data) {
    client.metrics().blocks.inc();
    client.metrics().bytes.inc(data.size());
    try {
      listener.onBlockFetchSuccess(block, data);
    } catch (RuntimeException | Error e) {
      BlockLog.LOG.error("Block {} was fetched, but its reader failed", block, e);
    } finally {
      data.release();
    }
  }

  private void fail(String block, Throwable cause) {
    try {
      listener.onBlockFetchFailure(block, cause);
    } catch (RuntimeException | Error e) {
      BlockLog.LOG.error("Block {} was not fetched, and its reader failed", block, e);
    }
  }

  /** Spark tries again after an IOException. What the peer refused on purpose it would refuse again. */
  private Throwable cause(IOException failure) {
    boolean refused = failure instanceof EngineException && !(failure instanceof LinkException)
        && !(failure instanceof MemoryLimitException) && ((EngineException) failure).errno() != EBUSY
        && !ClientSession.isOutlived(failure);
    String text = "the fetch from " + session.link().peer() + " failed: " + failure.getMessage();
    return refused ? new RuntimeException(text, failure) : new IOException(text, failure);
  }

  // Some blocks.

  private final class Batch implements ClientSession.Request {
    private final List<String> blocks;
    private final byte[] name;

    Batch(List<String> blocks, byte[] name) {
      this.blocks = blocks;
      this.name = name;
    }

    @Override
    public FetchParams params() {
      return new FetchParams(session.service(), name);
    }

    @Override
    public void failed(IOException failure) {
      Throwable cause = cause(failure);
      blocks.forEach(block -> fail(block, cause));
    }

    @Override
    public void fetched(RegisteredBuffer answer) {
      BlockMemory memory = new BlockMemory(answer, client.metrics());
      try {
        take(memory, BatchReply.parse(answer.buffer(), blocks.size()));
      } catch (IllegalArgumentException e) {
        failed(new IOException(session.link().peer() + " gave " + e.getMessage(), e));
      } finally {
        memory.release();
      }
    }

    private void take(BlockMemory memory, BatchReply reply) {
      List<String> later = new ArrayList<>();
      int fitted = 0;
      long bytes = 0;
      for (int i = 0; i < reply.count(); i++) {
        String block = blocks.get(i);
        switch (reply.status(i)) {
          case BatchReply.DATA:
            succeed(block, new RdmaManagedBuffer(memory, reply.offset(i), (int) reply.length(i)));
            fitted++;
            bytes += reply.length(i);
            break;
          case BatchReply.REFUSED:
            fail(block, new RuntimeException(session.link().peer() + " has no " + block + ": " + reply.cause(i)));
            break;
          case BatchReply.OPENED:
            large(block, reply.length(i), reply.handle(i));
            break;
          default:
            later.add(block);
        }
      }
      if (later.size() == blocks.size()) {
        later.forEach(block -> fail(block, new IOException(session.link().peer() + " gave an empty answer")));
      } else if (!later.isEmpty()) {
        client.metrics().fullAnswers.inc();
        int next = Math.max(fitted, (later.size() + SPREAD - 1) / SPREAD);
        session.wasFull(next);
        ask(later, next);
      } else if (fitted == blocks.size() && bytes * 2 <= client.options().batchBytes()) {
        session.hadRoom(fitted);
      }
    }

    private void large(String block, long length, long handle) {
      if (length < 1 || length > Integer.MAX_VALUE) {
        fail(block, new IllegalArgumentException("Too large frame: " + length));
        session.giveUp(handle);
        return;
      }
      new LargeBlock(block, (int) length, handle).start();
    }
  }

  // A large one.

  private final class LargeBlock {
    private final String block;
    private final int length;
    private final long handle;
    private final BlockMemory[] pieces;
    private int left;
    private IOException failure;

    LargeBlock(String block, int length, long handle) {
      this.block = block;
      this.length = length;
      this.handle = handle;
      int size = client.options().pieceBytes();
      pieces = new BlockMemory[(int) (((long) length + size - 1) / size)];
      left = pieces.length;
    }

    void start() {
      int size = client.options().pieceBytes();
      for (int i = 0; i < pieces.length; i++) {
        long from = (long) i * size;
        session.submit(new Piece(this, i, from, (int) Math.min(size, length - from)));
      }
    }

    synchronized boolean hasFailed() {
      return failure != null;
    }

    void ended(int index, BlockMemory memory, IOException cause) {
      synchronized (this) {
        pieces[index] = memory;
        if (cause != null && failure == null) {
          failure = cause;
        }
        if (--left > 0) {
          return;
        }
      }
      if (failure == null) {
        succeed(block, new RdmaManagedBuffer(pieces, length));
        return;
      }
      for (BlockMemory piece : pieces) {
        if (piece != null) {
          piece.release();
        }
      }
      session.giveUp(handle);
      fail(block, cause(failure));
    }
  }

  private final class Piece implements ClientSession.Request {
    private final LargeBlock of;
    private final int index;
    private final long from;
    private final int bytes;

    Piece(LargeBlock of, int index, long from, int bytes) {
      this.of = of;
      this.index = index;
      this.from = from;
      this.bytes = bytes;
    }

    @Override
    public FetchParams params() {
      return new FetchParams(session.service(), BlockRequest.piece(session.id(), of.handle)).range(from, bytes);
    }

    @Override
    public boolean isPointless() {
      if (of.hasFailed()) {
        of.ended(index, null, null);
        return true;
      }
      return false;
    }

    @Override
    public void fetched(RegisteredBuffer answer) {
      if (answer.length() != bytes) {
        int came = answer.length();
        answer.release();
        of.ended(index, null, new IOException("a piece of " + came + " bytes in place of " + bytes));
      } else {
        of.ended(index, new BlockMemory(answer, client.metrics()), null);
      }
    }

    @Override
    public void failed(IOException cause) {
      of.ended(index, null, cause);
    }
  }
}

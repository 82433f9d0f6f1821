package org.apache.spark.network.rdma;

import io.howdah.engine.EngineException;
import io.howdah.engine.FetchParams;
import io.howdah.engine.LinkException;
import io.howdah.engine.MemoryLimitException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
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
    session.count(data.size());
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
    /** Blocks that the listener was not told of. */
    private final BitSet open;

    Batch(List<String> blocks, byte[] name) {
      this.blocks = blocks;
      this.name = name;
      this.open = new BitSet(blocks.size());
      open.set(0, blocks.size());
    }

    @Override
    public FetchParams params() {
      return new FetchParams(session.service(), name).range(0, most());
    }

    @Override
    public long most() {
      return BatchReply.tableSize(blocks.size()) + (long) client.batchBytes();
    }

    @Override
    public boolean isKept(int bytes) {
      return client.shares().keep(MemoryShares.charge(bytes));
    }

    @Override
    public void failed(IOException failure) {
      Throwable cause = cause(failure);
      for (int i; (i = open.nextSetBit(0)) >= 0;) {
        open.clear(i);
        fail(blocks.get(i), cause);
      }
    }

    @Override
    public void fetched(BlockMemory answer) throws IOException {
      try {
        take(answer, BatchReply.parse(answer.slice(0, answer.length()), blocks.size()));
      } catch (IllegalArgumentException e) {
        throw new IOException(session.link().peer() + " gave " + e.getMessage(), e);
      } finally {
        answer.release();
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
            RdmaManagedBuffer data = new RdmaManagedBuffer(memory, reply.offset(i), (int) reply.length(i));
            open.clear(i);
            succeed(block, data);
            fitted++;
            bytes += reply.length(i);
            break;
          case BatchReply.REFUSED:
            open.clear(i);
            fail(block, new RuntimeException(session.link().peer() + " has no " + block + ": " + reply.cause(i)));
            break;
          case BatchReply.OPENED:
            LargeBlock large = large(reply.length(i), reply.handle(i), block);
            open.clear(i);
            large.start();
            break;
          default:
            later.add(block);
        }
      }
      again(later, fitted);
      if (later.isEmpty() && fitted == blocks.size() && bytes * 2 <= client.batchBytes()) {
        session.hadRoom(fitted);
      }
    }

    /** Asks for what the answer had no room for. */
    private void again(List<String> later, int fitted) {
      if (later.size() == blocks.size()) {
        failed(new IOException(session.link().peer() + " gave an empty answer"));
      } else if (!later.isEmpty()) {
        client.metrics().fullAnswers.inc();
        int next = Math.max(fitted, (later.size() + SPREAD - 1) / SPREAD);
        session.wasFull(next);
        open.clear();
        ask(later, next);
      }
    }

    private LargeBlock large(long length, long handle, String block) {
      return new LargeBlock(block, length, handle, client.pieceBytes());
    }
  }

  // A large one.

  /** A block that comes in pieces: all stay in the engine's memory, if there is room for them, or none does. */
  private final class LargeBlock {
    private final String block;
    private final long length;
    private final long handle;
    private final int size;
    private final BlockMemory[] pieces;
    private final boolean admitted;
    private int left;
    private IOException failure;

    LargeBlock(String block, long length, long handle, int size) {
      this.block = block;
      this.length = length;
      this.handle = handle;
      this.size = size;
      boolean possible = length > 0 && length <= Integer.MAX_VALUE;
      pieces = new BlockMemory[possible ? (int) ((length + size - 1) / size) : 0];
      left = pieces.length;
      admitted = possible && client.shares().keep(charge());
    }

    private long charge() {
      return MemoryShares.charge(size) * (pieces.length - 1) + MemoryShares.charge(bytes(pieces.length - 1));
    }

    private int bytes(int index) {
      return (int) Math.min(size, length - (long) index * size);
    }

    void start() {
      if (pieces.length == 0) {
        fail(block, new IllegalArgumentException("Too large frame: " + length));
        session.giveUp(handle);
        return;
      }
      for (int i = 0; i < pieces.length; i++) {
        Piece piece = new Piece(this, i);
        try {
          session.submit(piece);
        } catch (RuntimeException | Error e) {
          piece.failed(new IOException(e.toString(), e));
        }
      }
    }

    synchronized boolean hasFailed() {
      return failure != null;
    }

    /** @param memory null if the piece did not come; then its room is free again */
    void ended(int index, BlockMemory memory, IOException cause) {
      if (memory == null && admitted) {
        client.shares().release(MemoryShares.charge(bytes(index)));
      }
      synchronized (this) {
        pieces[index] = memory;
        if (cause != null && failure == null) {
          failure = cause;
        }
        if (--left > 0) {
          return;
        }
      }
      RdmaManagedBuffer data = whole();
      if (data != null) {
        succeed(block, data);
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

    private RdmaManagedBuffer whole() {
      if (failure == null) {
        try {
          return new RdmaManagedBuffer(pieces, length);
        } catch (RuntimeException | Error e) {
          failure = new IOException(e.toString(), e);
        }
      }
      return null;
    }
  }

  private final class Piece implements ClientSession.Request {
    private final LargeBlock of;
    private final int index;
    private boolean ended;

    Piece(LargeBlock of, int index) {
      this.of = of;
      this.index = index;
    }

    @Override
    public FetchParams params() {
      return new FetchParams(session.service(), BlockRequest.piece(session.id(), of.handle))
          .range((long) index * of.size, most());
    }

    @Override
    public long most() {
      return of.bytes(index);
    }

    @Override
    public boolean isKept(int bytes) {
      return of.admitted;
    }

    @Override
    public boolean isPointless() {
      if (of.hasFailed()) {
        end(null, null);
        return true;
      }
      return false;
    }

    @Override
    public void fetched(BlockMemory answer) {
      if (answer.length() == most()) {
        end(answer, null);
        return;
      }
      IOException cause = new IOException("a piece of " + answer.length() + " bytes in place of " + most());
      answer.release();
      if (of.admitted) {
        client.shares().release(-MemoryShares.charge(answer.length())); // the end gives all of the piece's room back
      }
      end(null, cause);
    }

    @Override
    public void failed(IOException cause) {
      end(null, cause);
    }

    private void end(BlockMemory answer, IOException cause) {
      if (!ended) {
        ended = true;
        of.ended(index, answer, cause);
      }
    }
  }
}

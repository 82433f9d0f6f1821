package org.apache.spark.network.rdma;

import io.howdah.engine.FetchRequest;
import io.howdah.engine.MemoryLimitException;
import io.howdah.engine.RegisteredBuffer;
import io.netty.buffer.ByteBuf;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;

/** Reads blocks of this process into registered memory and answers with them. Thread-safe. */
final class BlockReader {
  static final int EIO = 5;
  static final int EINVAL = 22;
  static final int ENOMEM = 12;
  /** Stock Spark's frames go no further, and its clients fail with these words. */
  private static final long BLOCK_MAX = Integer.MAX_VALUE - 21L;
  private static final int PIECE_MAX = 64 << 20;

  private final MemoryGate memory;
  private final int batchBytes;
  private final int timeoutMillis;
  private final BlockMetrics metrics;

  BlockReader(MemoryGate memory, ServerOptions options, BlockMetrics metrics) {
    this.memory = memory;
    this.batchBytes = (int) Math.min(options.batchBytes, options.memory.serving() / 8);
    this.timeoutMillis = options.timeoutMillis;
    this.metrics = metrics;
  }

  // Some blocks.

  /** What becomes of each block of a request. */
  private static final class Plan {
    final int[] status;
    final long[] lengths;
    final long[] handles;
    final ManagedBuffer[] found;
    final byte[][] causes;
    /** Most bytes of blocks. */
    final int room;
    int bytes;

    Plan(int count, int room) {
      this.room = room;
      status = new int[count];
      lengths = new long[count];
      handles = new long[count];
      found = new ManagedBuffer[count];
      causes = new byte[count][];
      bytes = BatchReply.tableSize(count);
    }

    int left() {
      return BatchReply.tableSize(status.length) + room - bytes;
    }

    void release() {
      for (ManagedBuffer block : found) {
        if (block != null) {
          block.release();
        }
      }
    }
  }

  void batch(FetchRequest request, ServerSession session, BlockRequest asked, BlockSource blocks) throws IOException {
    Plan plan = new Plan(asked.blocks.size(), room(request, asked.blocks.size()));
    try {
      boolean full = false;
      for (int i = 0; i < plan.status.length; i++) {
        full = full || !look(plan, i, asked, blocks, session);
        if (full) {
          plan.status[i] = BatchReply.LATER;
        }
      }
      answer(request, plan);
    } finally {
      plan.release();
    }
  }

  /** Bytes of blocks that the answer may have: the client says how much memory it has for the whole answer. */
  private int room(FetchRequest request, int count) {
    long most = request.length() < 0 ? Integer.MAX_VALUE : request.length() - BatchReply.tableSize(count);
    if (most < 0) {
      throw new IllegalArgumentException("an answer of " + request.length() + " bytes for " + count + " blocks");
    }
    return (int) Math.min(most, batchBytes);
  }

  /** @return false if there is no room in the answer */
  private boolean look(Plan plan, int i, BlockRequest asked, BlockSource blocks, ServerSession session) {
    ManagedBuffer block = null;
    try {
      block = blocks.find(session, asked.executor, asked.blocks.get(i));
      long length = block.size();
      if (length > BLOCK_MAX) {
        throw new IllegalArgumentException("Too large frame: " + length);
      }
      if (length > plan.room) {
        plan.status[i] = BatchReply.OPENED;
        plan.lengths[i] = length;
        plan.handles[i] = session.open(block);
        block = null;
      } else if (length > plan.left()) {
        return false;
      } else {
        plan.status[i] = BatchReply.DATA;
        plan.lengths[i] = length;
        plan.bytes += (int) length;
        plan.found[i] = block;
        block = null;
      }
    } catch (Exception e) { // Scala's methods throw what they like
      refused(plan, i, e);
    } finally {
      if (block != null) {
        block.release();
      }
    }
    return true;
  }

  private void refused(Plan plan, int i, Exception cause) {
    metrics.refused.inc();
    byte[] text = BatchReply.cause(cause);
    plan.causes[i] = Arrays.copyOf(text, Math.min(text.length, plan.left()));
    plan.status[i] = BatchReply.REFUSED;
    plan.lengths[i] = plan.causes[i].length;
    plan.bytes += plan.causes[i].length;
  }

  private void answer(FetchRequest request, Plan plan) throws IOException {
    RegisteredBuffer answer = allocate(request, plan.bytes);
    if (answer == null) {
      return;
    }
    try {
      ByteBuffer to = answer.buffer();
      int served = 0;
      int at = BatchReply.tableSize(plan.status.length);
      for (int i = 0; i < plan.status.length; i++) {
        BatchReply.put(to, i, plan.status[i], plan.lengths[i], plan.handles[i]);
        if (plan.status[i] == BatchReply.DATA) {
          copy(plan.found[i], 0, answer.slice(at, (int) plan.lengths[i]));
          at += (int) plan.lengths[i];
          served++;
        } else if (plan.status[i] == BatchReply.REFUSED) {
          answer.slice(at, plan.causes[i].length).put(plan.causes[i]);
          at += plan.causes[i].length;
        }
      }
      request.reply(answer, 0, plan.bytes);
      metrics.servedRequests.inc();
      metrics.servedBlocks.inc(served);
      metrics.servedBytes.inc(plan.bytes);
    } finally {
      answer.release();
    }
  }

  /** @return null if there is no memory, which the peer was told */
  private RegisteredBuffer allocate(FetchRequest request, int bytes) throws IOException {
    try {
      return memory.allocate(bytes, timeoutMillis / 2);
    } catch (MemoryLimitException e) {
      metrics.refused.inc();
      request.refuse(ENOMEM, e.getMessage());
      return null;
    }
  }

  // A piece of one.

  void piece(FetchRequest request, ServerSession session, long handle) throws IOException {
    long length = request.length();
    ServerSession.Opened opened = session.find(handle, request.offset(), length);
    if (length > PIECE_MAX) {
      throw new IllegalArgumentException("a piece of " + length + " bytes");
    }
    if (opened.block instanceof FileSegmentManagedBuffer) {
      FileSegmentManagedBuffer segment = (FileSegmentManagedBuffer) opened.block;
      try (FileChannel file = FileChannel.open(segment.getFile().toPath(), StandardOpenOption.READ)) {
        request.reply(file, segment.getOffset() + request.offset(), length);
      }
    } else {
      RegisteredBuffer answer = allocate(request, (int) length);
      if (answer == null) {
        return;
      }
      try {
        copy(opened.block, (int) request.offset(), answer.buffer());
        request.reply(answer, 0, (int) length);
      } finally {
        answer.release();
      }
    }
    metrics.servedRequests.inc();
    metrics.servedBytes.inc(length);
    if (request.offset() == 0) {
      metrics.servedBlocks.inc();
    }
    session.served(handle, opened, length);
  }

  /** Fills the buffer with the block's bytes from the offset on. */
  private static void copy(ManagedBuffer block, int offset, ByteBuffer to) throws IOException {
    if (!to.hasRemaining()) {
      return;
    }
    if (block instanceof FileSegmentManagedBuffer) {
      FileSegmentManagedBuffer segment = (FileSegmentManagedBuffer) block;
      read(segment, segment.getOffset() + offset, to);
      return;
    }
    if (block instanceof RdmaManagedBuffer) {
      ((RdmaManagedBuffer) block).copyTo(offset, to);
      return;
    }
    Object netty = block.convertToNetty();
    if (netty instanceof ByteBuf) {
      ByteBuf bytes = (ByteBuf) netty;
      try {
        bytes.getBytes(bytes.readerIndex() + offset, to);
      } finally {
        bytes.release();
      }
    } else {
      ByteBuffer bytes = block.nioByteBuffer();
      bytes.limit(bytes.position() + offset + to.remaining()).position(bytes.limit() - to.remaining());
      to.put(bytes);
    }
  }

  private static void read(FileSegmentManagedBuffer segment, long from, ByteBuffer to) throws IOException {
    try (FileChannel file = FileChannel.open(segment.getFile().toPath(), StandardOpenOption.READ)) {
      long at = from;
      while (to.hasRemaining()) {
        int bytes = file.read(to, at);
        if (bytes < 0) {
          throw new EOFException(segment + " ends at " + at);
        }
        at += bytes;
      }
    }
  }
}

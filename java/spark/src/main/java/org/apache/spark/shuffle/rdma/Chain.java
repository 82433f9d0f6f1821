package org.apache.spark.shuffle.rdma;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Bytes written one after the other: on the heap while they are few, then in segments, and in the draft's spill file if
 * there is no memory. Closing has no effect, as serializers close what they write to. Not thread-safe.
 */
final class Chain extends OutputStream {
  private static final int FIRST = 1 << 10;
  /** From here on a segment is taken. */
  private static final int HEAP = 16 << 10;
  private static final ByteBuffer EMPTY = ByteBuffer.allocate(0);

  private final Draft draft;
  private final List<Piece> pieces = new ArrayList<>(1);
  private long ended;
  private ByteBuffer current = EMPTY;
  /** The segment that is written to; null while that is the heap. */
  private Segment segment;

  Chain(Draft draft) {
    this.draft = draft;
  }

  long length() {
    return ended + current.position();
  }

  @Override
  public void write(int value) throws IOException {
    if (!current.hasRemaining()) {
      makeRoom();
    }
    current.put((byte) value);
  }

  @Override
  public void write(byte[] from, int offset, int length) throws IOException {
    int at = offset;
    int left = length;
    while (left > 0) {
      if (!current.hasRemaining()) {
        makeRoom();
      }
      int bytes = Math.min(left, current.remaining());
      current.put(from, at, bytes);
      at += bytes;
      left -= bytes;
    }
  }

  private void write(ByteBuffer from) throws IOException {
    int end = from.limit();
    while (from.position() < end) {
      if (!current.hasRemaining()) {
        makeRoom();
      }
      from.limit(Math.min(end, from.position() + current.remaining()));
      current.put(from);
    }
  }

  private void makeRoom() throws IOException {
    if (segment != null) {
      add(new Piece(segment, 0, segment.size()));
      segment = null;
      current = EMPTY;
    }
    boolean atStart = pieces.isEmpty() && current.capacity() < HEAP;
    Segment next = atStart ? null : draft.take();
    if (next != null) {
      segment = next;
      refill(next.view(0, next.size()));
    } else if (current.capacity() < OutputMemory.SEGMENT) {
      refill(ByteBuffer.allocate(atStart ? Math.max(FIRST, current.capacity() * 4) : OutputMemory.SEGMENT));
    } else {
      spill();
    }
  }

  private void refill(ByteBuffer larger) {
    current.flip();
    larger.put(current);
    current = larger;
  }

  private void spill() throws IOException {
    current.flip();
    if (current.hasRemaining()) {
      add(draft.spill(current));
    }
    current.clear();
  }

  private void add(Piece piece) {
    pieces.add(piece);
    ended += piece.length;
  }

  /** Ends it; what half a segment has room for goes to the end of another chain. */
  void end(Chain rest) throws IOException {
    if (segment != null && current.position() > OutputMemory.SEGMENT / 2) {
      endSegment();
      return;
    }
    current.flip();
    rest.write(current);
    giveSegment();
  }

  /** Ends it, with no more memory than its bytes take. */
  void end() throws IOException {
    if (segment != null && current.position() > OutputMemory.SEGMENT / 2) {
      endSegment();
      return;
    }
    current.flip();
    int end = current.limit();
    while (current.position() < end) {
      Segment part = draft.takePart();
      if (part == null) {
        current.limit(end);
        add(draft.spill(current));
        break;
      }
      int bytes = Math.min(end - current.position(), part.size());
      current.limit(current.position() + bytes);
      part.view(0, bytes).put(current);
      add(new Piece(part, 0, bytes));
    }
    giveSegment();
  }

  private void endSegment() {
    add(new Piece(segment, 0, current.position()));
    segment = null;
    current = EMPTY;
  }

  private void giveSegment() {
    if (segment != null) {
      draft.give(segment);
      segment = null;
    }
    current = EMPTY;
  }

  /** Reads the pieces of a chain that was ended, in order. */
  final class Cursor {
    private int piece;
    private int used;

    /** Adds the pieces of the next bytes. */
    void next(long bytes, List<Piece> to) {
      long left = bytes;
      while (left > 0) {
        Piece at = pieces.get(piece);
        int some = (int) Math.min(left, at.length - used);
        to.add(at.part(used, some));
        left -= some;
        used += some;
        if (used == at.length) {
          piece++;
          used = 0;
        }
      }
    }
  }
}

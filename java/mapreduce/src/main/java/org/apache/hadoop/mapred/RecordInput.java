package org.apache.hadoop.mapred;

import java.io.EOFException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.mapred.RecordPages.Vints;

/**
 * Records in an IFile's form, which come in pieces of any size. A record within a piece stays where it is; one that
 * crosses pieces is copied together with the rest of the last one. Not thread-safe.
 */
public abstract class RecordInput extends MergeInput {
  /** In place of both lengths, behind the last record. */
  private static final byte END = -1;
  private static final int END_BYTES = 2;
  private static final int LENGTH_MOST = 5;

  private byte[] data = new byte[0];
  private int at;
  private int end;
  /** Bytes that are not in {@link #data} yet. */
  private long left;
  private boolean ended;

  /** @param bytes of all records with their lengths, and of the mark behind them */
  protected RecordInput(long bytes) {
    left = bytes;
  }

  /** The next bytes, which the input keeps. Bytes behind those of the records are ignored. @return null at the end */
  protected abstract byte[] more() throws IOException;

  @Override
  public boolean next() throws IOException {
    if (ended) {
      return false;
    }
    need(END_BYTES);
    if (data[at] == END && data[at + 1] == END) {
      if (left + end - at != END_BYTES) {
        throw new IOException((left + end - at - END_BYTES) + " bytes behind the last record");
      }
      ended = true;
      return false;
    }
    int first = lengthBytes(0);
    int head = first + lengthBytes(first);
    need(head);
    int key = Vints.read(data, at);
    int value = Vints.read(data, at + first);
    if (key < 0 || value < 0) {
      throw new IOException("a record with lengths " + key + " and " + value);
    }
    need((long) head + key + value);
    keyData = data;
    keyAt = at + head;
    keyLength = key;
    valueData = data;
    valueAt = keyAt + key;
    valueLength = value;
    at = valueAt + value;
    return true;
  }

  /** How many bytes a length has. @param offset where it is from here */
  private int lengthBytes(int offset) throws IOException {
    need(offset + 1L);
    byte first = data[at + offset];
    int bytes = Vints.sizeAt(data, at + offset);
    if (first < 0 && (bytes <= 1 || bytes > LENGTH_MOST)) {
      throw new IOException("a record whose length begins with the byte " + first);
    }
    return bytes;
  }

  private void need(long bytes) throws IOException {
    if (end - at < bytes) {
      if (bytes > Integer.MAX_VALUE || bytes > left + end - at) {
        throw new EOFException("a record that goes on for " + bytes + " bytes where " + (left + end - at)
            + " are left");
      }
      fill((int) bytes);
    }
  }

  private void fill(int bytes) throws IOException {
    List<byte[]> pieces = new ArrayList<>();
    long total = (long) end - at;
    while (total < bytes) {
      byte[] piece = left == 0 ? null : more();
      if (piece == null) {
        throw new EOFException("records that end " + left + " bytes too early");
      }
      int used = (int) Math.min(piece.length, left);
      left -= used;
      total += used;
      pieces.add(piece);
    }
    if (at == end && pieces.size() == 1) {
      data = pieces.get(0);
    } else {
      byte[] joined = new byte[Math.toIntExact(total)];
      int to = end - at;
      System.arraycopy(data, at, joined, 0, to);
      for (byte[] piece : pieces) {
        int used = (int) Math.min(piece.length, total - to);
        System.arraycopy(piece, 0, joined, to, used);
        to += used;
      }
      data = joined;
    }
    at = 0;
    end = (int) total;
  }
}

package org.apache.hadoop.mapred;

import java.io.EOFException;
import java.io.IOException;

/**
 * Records in an IFile's form, which come in pieces of any size. A key or a value within a piece stays where it is; one
 * that crosses pieces is copied together. A value that crosses pieces is not read before {@link #load}, so an input
 * holds one piece and a key, however long its records are. Not thread-safe.
 */
public abstract class RecordInput extends MergeInput {
  /** In place of both lengths, behind the last record. */
  private static final int END = -1;
  /** Bytes that follow a length's first byte are as many as that is below this. */
  private static final int LONG_LENGTH = -112;
  private static final byte[] NOTHING = new byte[0];

  private byte[] data = NOTHING;
  private int at;
  private int end;
  /** Bytes that are not in {@link #data} yet. */
  private long left;
  /** Bytes of the current value that were not read. */
  private int unread;
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
    skip();
    int key = length();
    int value = length();
    if (key == END && value == END) {
      if (left() > 0) {
        throw new IOException(left() + " bytes behind the last record");
      }
      end();
      return false;
    }
    if (key < 0 || value < 0) {
      throw new IOException("a record with lengths " + key + " and " + value);
    }
    if ((long) key + value > left()) {
      throw new EOFException("a record that goes on for " + ((long) key + value) + " bytes where " + left()
          + " are left");
    }
    takeKey(key);
    takeValue(value);
    return true;
  }

  /** Keeps no piece: its memory was given back. */
  private void end() {
    ended = true;
    data = NOTHING;
    keyData = NOTHING;
    valueData = NOTHING;
  }

  private void takeKey(int length) throws IOException {
    keyLength = length;
    if (length <= end - at) {
      keyData = data;
      keyAt = at;
      at += length;
    } else {
      keyData = gather(length);
      keyAt = 0;
    }
  }

  private void takeValue(int length) {
    valueLength = length;
    if (length <= end - at) {
      valueData = data;
      valueAt = at;
      at += length;
    } else {
      valueData = NOTHING;
      unread = length;
    }
  }

  @Override
  void load() throws IOException {
    if (unread > 0) {
      valueData = gather(unread);
      valueAt = 0;
      unread = 0;
    }
  }

  private long left() {
    return left + end - at;
  }

  private void skip() throws IOException {
    while (unread > 0) {
      int bytes = Math.min(unread, here());
      at += bytes;
      unread -= bytes;
    }
  }

  private int length() throws IOException {
    int first = one();
    if (first >= END) {
      return first;
    }
    int bytes = LONG_LENGTH - first;
    if (bytes < 1 || bytes > Integer.BYTES) {
      throw new IOException("a record whose length begins with the byte " + first);
    }
    int length = 0;
    for (int i = 0; i < bytes; i++) {
      length = length << Byte.SIZE | one() & 0xff;
    }
    return length;
  }

  private byte one() throws IOException {
    here();
    return data[at++];
  }

  private byte[] gather(int length) throws IOException {
    byte[] all = new byte[length];
    for (int have = 0; have < length;) {
      int bytes = Math.min(length - have, here());
      System.arraycopy(data, at, all, have, bytes);
      at += bytes;
      have += bytes;
    }
    return all;
  }

  /** Bytes of this piece that are left, or of the next one. */
  private int here() throws IOException {
    while (at == end) {
      byte[] piece = left == 0 ? null : more();
      if (piece == null) {
        throw new EOFException("records that end " + left + " bytes too early");
      }
      data = piece;
      at = 0;
      end = (int) Math.min(piece.length, left);
      left -= end;
    }
    return end - at;
  }
}

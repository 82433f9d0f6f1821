package org.apache.hadoop.mapreduce.task.reduce;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import org.apache.hadoop.mapred.ShuffleWire.Answer;
import org.apache.hadoop.mapred.ShuffleWire.Location;

/**
 * The parts of an answer that the reducer reads from the files itself. Maps are read one after the other, so one file
 * is open at a time. One thread reads; any may close, which ends a read.
 */
final class SharedParts implements Closeable {
  private final SharedReads reads;
  private final String[] maps;
  private final Location[] locations;
  private final boolean[] chosen;
  private FileChannel open;
  private int opened = -1;
  private long count;
  private volatile boolean closed;

  /** Parts of an answer with locations. */
  SharedParts(SharedReads reads, String[] maps, Answer answer) {
    this.reads = reads;
    this.maps = maps;
    this.locations = answer.locations;
    this.chosen = reads.choose(maps, answer);
  }

  /** Whether a map's part is read here. */
  boolean has(int map) {
    return chosen[map];
  }

  /** Bytes that were read. */
  long count() {
    return count;
  }

  /** Reads bytes of a part. @param at where in the part */
  int read(int map, long at, byte[] to, int offset, int length) throws IOException {
    Location where = locations[map];
    try {
      FileChannel file = file(map);
      long began = System.nanoTime();
      int n = file.read(ByteBuffer.wrap(to, offset, Math.min(length, reads.packetBytes())), where.start + at);
      if (n <= 0) {
        throw new EOFException("the output of " + maps[map] + " in " + where.root + " ends at " + (where.start + at)
            + " of " + where.size);
      }
      reads.succeeded(n, System.nanoTime() - began);
      count += n;
      return n;
    } catch (ClosedChannelException e) {
      throw e; // closed, or this thread was interrupted: the file is not to blame
    } catch (IOException e) {
      reads.failed(where.root, e);
      throw e;
    }
  }

  private synchronized FileChannel file(int map) throws IOException {
    if (closed) {
      throw new ClosedChannelException();
    }
    if (opened != map) {
      closeFile();
      open = reads.open(maps[map], locations[map]);
      opened = map;
    }
    return open;
  }

  private void closeFile() {
    FileChannel file = open;
    open = null;
    opened = -1;
    try {
      if (file != null) {
        file.close();
      }
    } catch (IOException e) {
      SharedReads.LOG.debug("closing a file that was read", e);
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    closeFile();
  }
}

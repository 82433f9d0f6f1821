package io.howdah.bench.hdfs;

import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * What one client does. Its bytes are those of one buffer again and again, each time rotated by one more, so that what
 * is read can be compared without being kept.
 */
final class HdfsLoad {
  private final FileSystem files;
  private final byte[] pattern;
  private final byte[] buffer;
  private final boolean verifies;

  HdfsLoad(FileSystem files, int bufferSize, boolean verifies) {
    this.files = files;
    this.verifies = verifies;
    pattern = new byte[2 * bufferSize];
    new Random(bufferSize).nextBytes(pattern);
    System.arraycopy(pattern, 0, pattern, bufferSize, bufferSize);
    buffer = new byte[bufferSize];
  }

  /** Where the bytes of a position's buffer begin in the pattern. */
  private int rotation(long position) {
    return (int) (position / buffer.length % buffer.length);
  }

  /** The byte at a position. */
  private byte expected(long position) {
    return pattern[rotation(position) + (int) (position % buffer.length)];
  }

  /** Writes a file. @return nanoseconds from create to the end of close */
  long write(Path path, long size, short replication, long blockSize) throws IOException {
    long start = System.nanoTime();
    try (FSDataOutputStream out = files.create(path, true, 4096, replication, blockSize)) {
      for (long at = 0; at < size; at += buffer.length) {
        out.write(pattern, rotation(at), (int) Math.min(buffer.length, size - at));
      }
    }
    return System.nanoTime() - start;
  }

  /** Writes files of a folder, one after the other. @return nanoseconds of each */
  long[] writeMany(Path folder, int count, int size, short replication, long blockSize) throws IOException {
    long[] times = new long[count];
    for (int i = 0; i < count; i++) {
      times[i] = write(new Path(folder, "file-" + i), size, replication, blockSize);
    }
    return times;
  }

  /** Reads a file from begin to end. @return nanoseconds from open to the end */
  long read(Path path, long size) throws IOException {
    long start = System.nanoTime();
    try (FSDataInputStream in = files.open(path)) {
      for (long at = 0; at < size; at += buffer.length) {
        int length = (int) Math.min(buffer.length, size - at);
        in.readFully(buffer, 0, length);
        if (verifies) {
          check(path, at, length);
        }
      }
      if (in.read() != -1) {
        throw new IOException(path + " is longer than the " + size + " bytes that were written");
      }
    }
    return System.nanoTime() - start;
  }

  private void check(Path path, long at, int length) throws IOException {
    byte[] wanted = Arrays.copyOfRange(pattern, rotation(at), rotation(at) + length);
    byte[] come = length == buffer.length ? buffer : Arrays.copyOf(buffer, length);
    if (!Arrays.equals(wanted, come)) {
      throw new IOException(path + " does not hold what was written, from byte " + at + " on");
    }
  }

  /** Reads parts of a file anywhere, by positional reads. @return nanoseconds of each */
  long[] readRandom(Path path, long size, int part, int count) throws IOException {
    if (size < part) {
      throw new EOFException(path + " is smaller than a read of " + part + " bytes");
    }
    Random random = new Random(7);
    long[] times = new long[count];
    byte[] bytes = new byte[part];
    try (FSDataInputStream in = files.open(path)) {
      for (int i = 0; i < count; i++) {
        long at = (long) (random.nextDouble() * (size - part + 1));
        long start = System.nanoTime();
        in.readFully(at, bytes);
        times[i] = System.nanoTime() - start;
        if (bytes[0] != expected(at) || bytes[part - 1] != expected(at + part - 1)) {
          throw new IOException(path + " does not hold what was written, at byte " + at);
        }
      }
    }
    return times;
  }
}

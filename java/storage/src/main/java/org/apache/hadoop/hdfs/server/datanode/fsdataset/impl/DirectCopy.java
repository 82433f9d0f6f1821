package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.io.nativeio.NativeIO;
import org.apache.hadoop.io.nativeio.NativeIO.POSIX;

/**
 * Copies a file of a tmpfs to a disk past the kernel's cache: the disk reads the pages of the file themselves. That
 * takes a third of the processor's time that the way through the cache does, and no memory, which would hold each block
 * twice. It needs libhadoop, for O_DIRECT, and a file system that has that; whatever cannot be copied so is left.
 *
 * <p>Only the kernel touches the pages that are mapped: a file that gets shorter meanwhile fails a system call.
 */
final class DirectCopy {
  /** Bytes that are mapped at a time. */
  static final int PIECE = 4 << 20;
  /** Disks and pages of all kinds are multiples of less. */
  private static final int UNIT = 64 << 10;
  private static final int O_DIRECT = flag(System.getProperty("os.arch"));

  private DirectCopy() {
  }

  /** The flag of open(2) by architecture; 0: not known. */
  private static int flag(String architecture) {
    switch (architecture) {
      case "amd64":
        return 0x4000;
      case "ppc64le":
        return 0x20000;
      default:
        return 0;
    }
  }

  /**
   * Copies the begin of a file, all of it but less than 64 KB if nothing is in the way. The thread's interrupt ends it
   * with an exception.
   *
   * @param to a file that is there
   * @return the bytes that were copied: 0 if the file is short, or it cannot be done this way; fewer than there are if
   *     it failed, which the caller sees as well if it goes on in another way
   */
  static long copy(FileChannel in, File to, DataTransferThrottler throttler) throws IOException {
    long whole = in.size() / UNIT * UNIT;
    long copied = 0;
    if (O_DIRECT == 0 || whole < PIECE || !NativeIO.isAvailable()) {
      return 0;
    }
    try (FileOutputStream stream = new FileOutputStream(POSIX.open(to.getPath(), POSIX.O_WRONLY | O_DIRECT, 0))) {
      while (copied < whole) {
        int bytes = (int) Math.min(PIECE, whole - copied);
        write(in.map(MapMode.READ_ONLY, copied, bytes), stream.getChannel());
        copied += bytes;
        if (throttler != null) {
          throttler.throttle(bytes);
        }
      }
    } catch (ClosedByInterruptException e) {
      throw e;
    } catch (IOException e) {
      TierDataset.LOG.debug("{} goes through the kernel's cache from byte {}", to, copied, e);
    }
    return copied;
  }

  private static void write(MappedByteBuffer piece, FileChannel out) throws IOException {
    try {
      while (piece.hasRemaining()) {
        out.write(piece);
      }
    } finally {
      POSIX.munmap(piece);
    }
  }
}

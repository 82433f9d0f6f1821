package org.apache.hadoop.mapreduce.task.reduce;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** The local file system, as a reducer of these tests sees it: with room for so many bytes. */
public final class SmallLocalFs extends LocalFileSystem {
  /** Bytes that can still be written. */
  static final AtomicLong ROOM = new AtomicLong(Long.MAX_VALUE);

  /** As FileSystem makes it. */
  public SmallLocalFs() {
    super(new Raw());
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public FSDataOutputStream create(Path file, boolean overwrite, int buffer, short replication, long block,
        Progressable progress) throws IOException {
      return limited(super.create(file, overwrite, buffer, replication, block, progress));
    }

    @Override
    public FSDataOutputStream create(Path file, FsPermission permission, boolean overwrite, int buffer,
        short replication, long block, Progressable progress) throws IOException {
      return limited(super.create(file, permission, overwrite, buffer, replication, block, progress));
    }

    private static FSDataOutputStream limited(FSDataOutputStream out) throws IOException {
      return new FSDataOutputStream(new FilterOutputStream(out) {
        @Override
        public void write(int b) throws IOException {
          take(1);
          out.write(b);
        }

        @Override
        public void write(byte[] from, int offset, int length) throws IOException {
          take(length);
          out.write(from, offset, length);
        }
      }, null);
    }

    private static void take(int bytes) throws IOException {
      if (ROOM.addAndGet(-bytes) < 0) {
        throw new IOException("No space left on device");
      }
    }
  }
}

package org.apache.hadoop.hdfs.net;

import static org.apache.hadoop.hdfs.net.RdmaTestCluster.forced;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.staged;
import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.engine.Engine;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Files of random sizes are written in random pieces, flushed, synced and appended to at random points, and read in
 * every way. The seed that it prints makes the same files again: -Dhowdah.test.seed, -Dhowdah.test.files, and
 * -Dhowdah.test.size for larger ones (3221225472 is what was asked for; needs room for three replicas).
 */
@Timeout(7200)
class RdmaVerifyTest {
  private static final int PIECE = 300_000;
  private static final short REPLICAS = 3;

  private final Random random = new Random();
  private final long largest = Long.getLong("howdah.test.size", 6 << 20);
  /** Its length is prime, so that no two blocks or packets of a file begin alike. */
  private final byte[] pattern = new byte[1_000_003];
  private final byte[] piece = new byte[PIECE];
  private final ByteBuffer direct = ByteBuffer.allocateDirect(PIECE);

  @Test
  void whatIsWrittenIsRead() throws Exception {
    verifyFiles(forced());
  }

  @Test
  void whatStagesReceiveIsRead() throws Exception {
    verifyFiles(staged());
  }

  private void verifyFiles(Configuration conf) throws Exception {
    long seed = Long.getLong("howdah.test.seed", System.nanoTime());
    System.out.println("-Dhowdah.test.seed=" + seed);
    random.setSeed(seed);
    random.nextBytes(pattern);
    long leaks = Engine.leaks();
    Configuration parallel = forced();
    parallel.setBoolean("dfs.replication.parallel.enabled", true);
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, conf); DistributedFileSystem fs = hdfs.client(conf);
        DistributedFileSystem other = hdfs.client(parallel)) {
      for (int i = Integer.getInteger("howdah.test.files", 12); i > 0; i--) {
        // The last one is as large as any may be, the one before has nothing.
        long size = i == 1 ? largest : i == 2 ? 0 : size();
        Path path = new Path("/file-" + i);
        long length = write(random.nextInt(3) == 0 ? other : fs, path, size);
        verify(fs, path, length);
        fs.delete(path, false);
      }
      hdfs.assertOverTheEngineOnly();
    }
    System.gc();
    assertThat(Engine.leaks()).isEqualTo(leaks);
  }

  /** Small ones are as likely as large ones. */
  private long size() {
    return (long) Math.exp(random.nextDouble() * Math.log(largest));
  }

  // Writing.

  private long write(FileSystem fs, Path path, long size) throws Exception {
    long block = Math.max(RdmaTestCluster.BLOCK, size / 7 / 512 * 512);
    FSDataOutputStream out = fs.create(path, true, 4096, REPLICAS, block);
    try {
      long at = 0;
      int events = 0;
      while (at < size) {
        int length = (int) Math.min(size - at, 1 + random.nextInt(random.nextInt(3) == 0 ? 1000 : PIECE));
        copy(at, length);
        out.write(piece, 0, length);
        at += length;
        // A dozen events a file, or it would take for ever.
        if (events < 12 && random.nextInt((int) (size / PIECE / 6) + 4) == 0) {
          events++;
          out = event(fs, path, out, at);
        }
      }
      return at;
    } finally {
      out.close();
    }
  }

  private FSDataOutputStream event(FileSystem fs, Path path, FSDataOutputStream out, long at) throws Exception {
    switch (random.nextInt(3)) {
      case 0:
        out.hflush();
        break;
      case 1:
        out.hsync();
        break;
      default:
        out.close();
        // Else the NameNode may know of two replicas only, and the client makes the third once more.
        DFSTestUtil.waitReplication(fs, path, REPLICAS);
        return fs.append(path);
    }
    long from = Math.max(0, at - PIECE);
    try (FSDataInputStream in = fs.open(path)) {
      assertPart(in, from, (int) (at - from)); // what was acknowledged is there for all
    }
    return out;
  }

  private void copy(long position, int length) {
    for (int done = 0; done < length;) {
      int start = (int) ((position + done) % pattern.length);
      int n = Math.min(length - done, pattern.length - start);
      System.arraycopy(pattern, start, piece, done, n);
      done += n;
    }
  }

  // Reading.

  private void verify(FileSystem fs, Path path, long size) throws IOException {
    assertThat(fs.getFileStatus(path).getLen()).isEqualTo(size);
    byte[] got = new byte[PIECE];
    try (FSDataInputStream in = fs.open(path)) {
      for (long at = 0; at < size;) {
        int length = (int) Math.min(size - at, PIECE);
        in.readFully(got, 0, length);
        assertSame(ByteBuffer.wrap(got, 0, length), at);
        at += length;
      }
      assertThat(in.read()).isEqualTo(-1);
    }
    try (FSDataInputStream in = fs.open(path)) {
      for (int i = 0; i < 50 && size > 0; i++) {
        long at = (long) (random.nextDouble() * size);
        assertPart(in, at, (int) Math.min(size - at, 1 + random.nextInt(i % 5 == 0 ? PIECE : 5000)));
      }
      in.seek(0);
      long at = 0;
      direct.clear();
      for (int n = in.read(direct); n > 0; n = in.read(direct)) {
        direct.flip();
        assertSame(direct, at);
        at += n;
        direct.clear();
      }
      assertThat(at).isEqualTo(size);
    }
  }

  private void assertPart(FSDataInputStream in, long at, int length) throws IOException {
    byte[] got = new byte[length];
    in.readFully(at, got);
    assertSame(ByteBuffer.wrap(got), at);
  }

  private void assertSame(ByteBuffer got, long position) {
    int length = got.remaining();
    copy(position, length);
    assertThat(got.equals(ByteBuffer.wrap(piece, 0, length))).as("%s bytes from %s on", length, position).isTrue();
  }
}

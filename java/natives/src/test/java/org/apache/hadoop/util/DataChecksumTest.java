package org.apache.hadoop.util;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import org.apache.hadoop.fs.ChecksumException;
import org.junit.jupiter.api.Test;

/** DataChecksum gives the library what it takes, and nothing else. */
class DataChecksumTest {
  private static final int CHUNK = 512;

  private final byte[] data = new byte[70_000];
  private final byte[] sums = new byte[(data.length + CHUNK - 1) / CHUNK * 4];
  private final DataChecksum checksum = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, CHUNK);

  DataChecksumTest() {
    new Random(1).nextBytes(data);
    for (int at = 0; at < data.length; at += CHUNK) {
      PureJavaCrc32C java = new PureJavaCrc32C();
      java.update(data, at, Math.min(CHUNK, data.length - at));
      ByteBuffer.wrap(sums).putInt(at / CHUNK * 4, (int) java.getValue());
    }
  }

  private static ByteBuffer buffer(byte[] of, boolean direct) {
    ByteBuffer copy = direct ? ByteBuffer.allocateDirect(of.length) : ByteBuffer.allocate(of.length);
    copy.put(of).flip();
    return copy;
  }

  @Test
  void arraysAndDirectBuffersAreTheLibrarys() throws Exception {
    checksum.update(1);
    long untouched = checksum.getValue(); // Java's code leaves something else
    byte[] found = new byte[sums.length];
    checksum.calculateChunkedSums(data, 0, data.length, found, 0);
    assertThat(found).isEqualTo(sums);
    for (boolean direct : new boolean[] {false, true}) {
      ByteBuffer computed = buffer(new byte[sums.length], direct);
      checksum.calculateChunkedSums(buffer(data, direct), computed);
      assertThat(computed).isEqualTo(buffer(sums, direct));
      checksum.verifyChunkedSums(buffer(data, direct), buffer(sums, direct), "file", 0);
    }
    assertThat(checksum.getValue()).isEqualTo(untouched);
  }

  @Test
  void whatDoesNotMatchIsToldWithItsPlace() {
    for (int at : new int[] {0, 511, 512, 40_000, data.length - 1}) {
      byte[] bad = Arrays.copyOf(data, data.length);
      bad[at] ^= 8;
      for (boolean direct : new boolean[] {false, true}) {
        assertThatThrownBy(() -> checksum.verifyChunkedSums(buffer(bad, direct), buffer(sums, direct), "file", 1000))
            .isInstanceOfSatisfying(ChecksumException.class,
                e -> assertThat(e.getPos()).isEqualTo(1000 + at / CHUNK * CHUNK))
            .hasMessageContaining(" file at ");
      }
    }
  }

  /** As DataNodes compute them of packets in the engine's memory. */
  @Test
  void directBufferWithAnArrayIsJavas() throws Exception {
    for (DataChecksum.Type type : new DataChecksum.Type[] {DataChecksum.Type.CRC32, DataChecksum.Type.CRC32C}) {
      DataChecksum each = DataChecksum.newDataChecksum(type, CHUNK);
      ByteBuffer expected = buffer(sums, true);
      each.calculateChunkedSums(buffer(data, true), expected);
      ByteBuffer found = buffer(sums, false);
      each.calculateChunkedSums(buffer(data, true), found);
      assertThat(found).isEqualTo(expected);
      each.verifyChunkedSums(buffer(data, true), found, "file", 0);
      found.array()[0] ^= 1;
      assertThatThrownBy(() -> each.verifyChunkedSums(buffer(data, true), found, "file", 0))
          .isInstanceOf(ChecksumException.class);
    }
  }
}

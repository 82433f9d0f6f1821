package org.apache.hadoop.hdfs.net;

import static org.apache.hadoop.hdfs.net.RdmaTestCluster.bytes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.howdah.engine.Crc32c;
import io.howdah.engine.Engine;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.util.DataChecksum;
import org.apache.hadoop.util.PureJavaCrc32C;
import org.junit.jupiter.api.Test;

/** Hadoop's checksums are computed by the processor where the engine is loaded, and are the same. */
class RdmaChecksumTest {
  private static final int CHUNK = 512;

  private final byte[] data = bytes(70_000);
  private final byte[] sums = new byte[(data.length + CHUNK - 1) / CHUNK * 4];
  private final DataChecksum checksum = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, CHUNK);

  @Test
  void theProcessorComputesAndComparesThem() throws Exception {
    assertThat(Engine.isAvailable()).isTrue();
    assumeTrue(Crc32c.isFast(), "this processor has no instruction for it");
    checksum.update(1);
    long untouched = checksum.getValue(); // what computes in Java leaves something else
    checksum.calculateChunkedSums(data, 0, data.length, sums, 0);
    for (int at = 0; at < data.length; at += CHUNK) {
      PureJavaCrc32C java = new PureJavaCrc32C();
      java.update(data, at, Math.min(CHUNK, data.length - at));
      assertThat(ByteBuffer.wrap(sums).getInt(at / CHUNK * 4)).isEqualTo((int) java.getValue());
    }
    for (boolean direct : new boolean[] {false, true}) {
      checksum.verifyChunkedSums(buffer(data, direct), buffer(sums, direct), "file", 0);
    }
    assertThat(checksum.getValue()).isEqualTo(untouched);
  }

  @Test
  void whatDoesNotMatchIsToldAsEver() throws Exception {
    assertThat(Engine.isAvailable()).isTrue();
    checksum.calculateChunkedSums(data, 0, data.length, sums, 0);
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

  /** As DataNodes compute them of packets in the engine's memory; with libhadoop loaded in tests/e2e/native.bats. */
  @Test
  void aDirectBufferGoesWithAnArray() throws Exception {
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

  private static ByteBuffer buffer(byte[] of, boolean direct) {
    ByteBuffer copy = direct ? ByteBuffer.allocateDirect(of.length) : ByteBuffer.allocate(of.length);
    copy.put(of).flip();
    return copy;
  }
}

package org.apache.hadoop.util;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.Checksum;
import org.apache.hadoop.fs.ChecksumException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Checksums of chunks against those of Java. */
class NativeCrc32Test {
  private static final int[] TYPES = {NativeCrc32.CHECKSUM_CRC32, NativeCrc32.CHECKSUM_CRC32C};

  @BeforeAll
  static void available() {
    assertThat(NativeCrc32.isAvailable()).isTrue();
  }

  private static int sum(int type, byte[] data, int offset, int length) {
    Checksum sum = type == NativeCrc32.CHECKSUM_CRC32 ? new CRC32() : new PureJavaCrc32C();
    sum.update(data, offset, length);
    return (int) sum.getValue();
  }

  private static byte[] sums(int type, int chunk, byte[] data, int offset, int length) {
    ByteBuffer sums = ByteBuffer.allocate((length + chunk - 1) / chunk * 4);
    for (int at = 0; at < length; at += chunk) {
      sums.putInt(sum(type, data, offset + at, Math.min(chunk, length - at)));
    }
    return sums.array();
  }

  private static ByteBuffer direct(byte[] bytes, int before) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(before + bytes.length);
    buffer.position(before);
    buffer.put(bytes).position(before);
    return buffer;
  }

  @Test
  void computesWhatJavaComputes() {
    Random random = new Random(1);
    for (int type : TYPES) {
      for (int round = 0; round < 200; round++) {
        int chunk = 1 + random.nextInt(round % 2 == 0 ? 20 : 2000);
        byte[] data = new byte[7 + random.nextInt(300000)];
        random.nextBytes(data);
        byte[] expected = sums(type, chunk, data, 3, data.length - 5);
        byte[] found = new byte[expected.length + 9];
        NativeCrc32.calculateChunkedSumsByteArray(chunk, type, found, 6, data, 3, data.length - 5);
        assertThat(ByteBuffer.wrap(found, 6, expected.length)).isEqualTo(ByteBuffer.wrap(expected));
        ByteBuffer in = direct(data, 5);
        ByteBuffer out = direct(new byte[expected.length], 1);
        in.position(8).limit(5 + data.length - 2);
        NativeCrc32.calculateChunkedSums(chunk, type, out, in);
        assertThat(out).isEqualTo(ByteBuffer.wrap(expected));
      }
    }
  }

  @Test
  void namesTheFirstChunkThatIsBad() throws Exception {
    byte[] data = new byte[5000];
    new Random(2).nextBytes(data);
    for (int type : TYPES) {
      byte[] sums = sums(type, 512, data, 0, data.length);
      NativeCrc32.verifyChunkedSums(512, type, direct(sums, 0), direct(data, 0), "f", 0);
      NativeCrc32.verifyChunkedSumsByteArray(512, type, sums, 0, data, 0, data.length, "f", 0);
      for (int bad = 0; bad < data.length; bad += 311) {
        byte[] wrong = data.clone();
        wrong[bad] ^= 1;
        wrong[data.length - 1] ^= 1;
        int at = bad / 512 * 512;
        int length = Math.min(512, data.length - at);
        String said = "Checksum error: the/file at " + (10000 + at) + " exp: " + sum(type, data, at, length) + " got: "
            + sum(type, wrong, at, length);
        assertThatThrownBy(() -> NativeCrc32.verifyChunkedSums(512, type, direct(sums, 0), direct(wrong, 0),
            "the/file", 10000))
            .isInstanceOf(ChecksumException.class).hasMessage(said)
            .satisfies(e -> assertThat(((ChecksumException) e).getPos()).isEqualTo(10000 + at));
        assertThatThrownBy(() -> NativeCrc32.verifyChunkedSumsByteArray(512, type, sums, 0, wrong, 0, wrong.length,
            "the/file", 10000))
            .isInstanceOf(ChecksumException.class).hasMessage(said);
      }
    }
  }

  @Test
  void whatIsOutOfBoundsIsRefused() {
    byte[] data = new byte[1000];
    byte[] sums = new byte[8];
    int type = NativeCrc32.CHECKSUM_CRC32C;
    assertThatThrownBy(() -> NativeCrc32.calculateChunkedSumsByteArray(512, type, sums, 1, data, 0, 1000))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    assertThatThrownBy(() -> NativeCrc32.calculateChunkedSumsByteArray(512, type, sums, 0, data, 500, 501))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    assertThatThrownBy(() -> NativeCrc32.calculateChunkedSumsByteArray(512, type, sums, 0, data, -1, 5))
        .isInstanceOf(ArrayIndexOutOfBoundsException.class);
    assertThatThrownBy(() -> NativeCrc32.calculateChunkedSums(512, type, direct(new byte[7], 0), direct(data, 0)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> NativeCrc32.calculateChunkedSums(512, type, ByteBuffer.wrap(sums), direct(data, 0)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> NativeCrc32.calculateChunkedSumsByteArray(0, type, sums, 0, data, 0, 1000))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> NativeCrc32.calculateChunkedSumsByteArray(512, 9, sums, 0, data, 0, 1000))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> NativeCrc32.calculateChunkedSumsByteArray(512, type, null, 0, data, 0, 1000))
        .isInstanceOf(NullPointerException.class);
    NativeCrc32.calculateChunkedSumsByteArray(512, type, sums, 8, data, 1000, 0);
  }
}

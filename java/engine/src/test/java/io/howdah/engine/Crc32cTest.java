package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Sums by the processor are those of the definition, and what does not match is seen. */
class Crc32cTest {
  private final Random random = new Random(4);

  @BeforeEach
  void load() {
    assertThat(Engine.isAvailable()).isTrue();
    assumeTrue(Crc32c.isFast(), "this processor has no instruction for it");
  }

  /** By the definition, a bit at a time. */
  private static int sum(byte[] data, int offset, int length) {
    int crc = -1;
    for (int i = offset; i < offset + length; i++) {
      crc ^= data[i] & 0xff;
      for (int bit = 0; bit < 8; bit++) {
        crc = (crc >>> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
      }
    }
    return ~crc;
  }

  private static ByteBuffer sums(byte[] data, int offset, int length, int chunk) {
    ByteBuffer sums = ByteBuffer.allocate((length + chunk - 1) / chunk * 4);
    for (int at = 0; at < length; at += chunk) {
      sums.putInt(sum(data, offset + at, Math.min(chunk, length - at)));
    }
    sums.flip();
    return sums;
  }

  private static ByteBuffer direct(ByteBuffer of, int before) {
    ByteBuffer copy = ByteBuffer.allocateDirect(before + of.remaining() + 5);
    copy.position(before);
    copy.put(of.duplicate()).flip().position(before);
    return copy;
  }

  @Test
  void theWellKnownSum() {
    byte[] sum = new byte[4];
    assertThat(Crc32c.compute("123456789".getBytes(StandardCharsets.US_ASCII), 0, 9, sum, 0, 512)).isTrue();
    assertThat(ByteBuffer.wrap(sum).getInt()).isEqualTo(0xe3069283);
  }

  @Test
  void sumsOfAnySizeAreRight() {
    for (int i = 0; i < 300; i++) {
      int chunk = i % 3 == 0 ? 512 : 1 + random.nextInt(700);
      int offset = random.nextInt(20);
      int length = random.nextInt(i % 10 == 0 ? 200_000 : 5000);
      byte[] data = new byte[offset + length + 3];
      random.nextBytes(data);
      ByteBuffer expected = sums(data, offset, length, chunk);
      byte[] found = new byte[7 + expected.remaining()];
      assertThat(Crc32c.compute(data, offset, length, found, 7, chunk)).isTrue();
      assertThat(ByteBuffer.wrap(found, 7, found.length - 7)).isEqualTo(expected);
      ByteBuffer part = ByteBuffer.wrap(data, offset, length);
      assertThat(Crc32c.matches(part, expected, chunk)).isTrue();
      assertThat(Crc32c.matches(direct(part, 1), direct(expected, 2), chunk)).isTrue();
      assertThat(Crc32c.matches(direct(part, 1), expected, chunk)).isEqualTo(expected.remaining() <= Memory.SCRATCH);
      assertThat(part.position()).isEqualTo(offset);
    }
  }

  @Test
  void anyBitThatIsWrongIsSeen() {
    byte[] data = new byte[512 * 5 + 100];
    random.nextBytes(data);
    ByteBuffer sums = sums(data, 0, data.length, 512);
    ByteBuffer whole = ByteBuffer.wrap(data);
    for (int bit = 0; bit < data.length * 8; bit += 1 + random.nextInt(5)) {
      data[bit / 8] ^= (byte) (1 << bit % 8);
      assertThat(Crc32c.matches(whole, sums, 512)).isFalse();
      assertThat(Crc32c.matches(direct(whole, 0), direct(sums, 0), 512)).isFalse();
      assertThat(Crc32c.matches(direct(whole, 0), sums, 512)).isFalse();
      data[bit / 8] ^= (byte) (1 << bit % 8);
    }
    for (int i = 0; i < sums.remaining(); i++) {
      sums.array()[i] ^= 1;
      assertThat(Crc32c.matches(whole, sums, 512)).isFalse();
      sums.array()[i] ^= 1;
    }
    assertThat(Crc32c.matches(whole, sums, 512)).isTrue();
  }

  @Test
  void whatItDoesNotTakeIsLeftAlone() {
    byte[] data = new byte[1000];
    byte[] sums = new byte[8];
    assertThat(Crc32c.compute(data, 0, 1000, sums, 1, 512)).isFalse();
    assertThat(Crc32c.compute(data, 1, 1000, sums, 0, 512)).isFalse();
    assertThat(Crc32c.compute(data, -1, 10, sums, 0, 512)).isFalse();
    assertThat(Crc32c.compute(data, 0, -1, sums, 0, 512)).isFalse();
    assertThat(Crc32c.compute(data, 0, 1000, sums, 0, 0)).isFalse();
    assertThat(Crc32c.compute(data, 0, 1000, sums, Integer.MAX_VALUE, 512)).isFalse();
    assertThat(Crc32c.compute(data, 0, 1000, sums, 0, 1)).isFalse();
    assertThat(Crc32c.matches(ByteBuffer.allocateDirect(1000), ByteBuffer.wrap(sums), 512)).isFalse();
    assertThat(Crc32c.matches(ByteBuffer.wrap(data), ByteBuffer.wrap(sums).asReadOnlyBuffer(), 512)).isFalse();
    assertThat(Crc32c.matches(ByteBuffer.wrap(data), ByteBuffer.wrap(sums, 0, 7), 512)).isFalse();
    assertThat(sums).containsOnly(0);
    assertThat(Crc32c.compute(data, 0, 0, sums, 8, 512)).isTrue();
    assertThat(sums).containsOnly(0);
  }
}

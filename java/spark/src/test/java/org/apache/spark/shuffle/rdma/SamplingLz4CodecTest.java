package org.apache.spark.shuffle.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import net.jpountz.lz4.LZ4Compressor;
import org.apache.spark.SparkConf;
import org.apache.spark.io.CompressionCodec;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.io.LZ4CompressionCodec;
import org.apache.spark.io.SnappyCompressionCodec;
import org.junit.jupiter.api.Test;

class SamplingLz4CodecTest {
  private static final int BLOCK = 32 << 10;

  private final SparkConf conf = new SparkConf(false);

  private static byte[] random(int length) {
    byte[] bytes = new byte[length];
    new Random(1).nextBytes(bytes);
    return bytes;
  }

  private static byte[] write(CompressionCodec codec, byte[] data) throws IOException {
    ByteArrayOutputStream to = new ByteArrayOutputStream();
    try (OutputStream out = codec.compressedOutputStream(to)) {
      out.write(data);
    }
    return to.toByteArray();
  }

  private static byte[] read(CompressionCodec codec, byte[] stream, int length) throws IOException {
    byte[] data = new byte[length];
    try (InputStream in = codec.compressedInputStream(new ByteArrayInputStream(stream))) {
      for (int at = 0; at < length;) {
        at += in.read(data, at, length - at);
      }
      assertThat(in.read()).isEqualTo(-1);
    }
    return data;
  }

  @Test
  void sparksOwnCodecReadsIt() throws IOException {
    byte[] mixed = random(100 * BLOCK + 7);
    Arrays.fill(mixed, 40 * BLOCK, 60 * BLOCK, (byte) 1);
    CompressionCodec ours = new SamplingLz4Codec(conf);
    CompressionCodec sparks = new LZ4CompressionCodec(conf);
    for (byte[] data : new byte[][] {new byte[0], random(1), random(BLOCK), new byte[9 * BLOCK], mixed}) {
      byte[] stream = write(ours, data);
      assertThat(read(sparks, stream, data.length)).isEqualTo(data);
      assertThat(read(ours, write(sparks, data), data.length)).isEqualTo(data);
    }
    assertThat(write(ours, new byte[9 * BLOCK])).isEqualTo(write(sparks, new byte[9 * BLOCK]));
    assertThat(write(ours, random(9 * BLOCK))).isEqualTo(write(sparks, random(9 * BLOCK)));
    // Of 20 blocks that compress a few are stored until the next one is tried.
    assertThat(write(ours, mixed).length).isLessThan(mixed.length - (20 - SamplingLz4Codec.SKIPPED) * BLOCK * 9 / 10);
  }

  @Test
  void incompressibleBlocksAreTriedSeldom() {
    Counting counting = new Counting();
    SamplingLz4Codec.Sampling sampling = new SamplingLz4Codec.Sampling(counting);
    byte[] from = new byte[100];
    counting.smaller = false;
    for (int block = 0; block < 152; block++) {
      assertThat(sampling.compress(from, 0, 100, from, 0, 200)).isGreaterThanOrEqualTo(100);
    }
    assertThat(counting.calls).isEqualTo(2 + 10);
    counting.smaller = true;
    for (int block = 0; block < 100; block++) {
      sampling.compress(from, 0, 100, from, 0, 200);
    }
    assertThat(counting.calls).isEqualTo(12 + 100 - SamplingLz4Codec.SKIPPED);
  }

  @Test
  void onlyLz4IsReplacedAndStreamsMayStillBeMerged() {
    SamplingLz4Codec.replaceLz4(conf);
    CompressionCodec codec = CompressionCodec$.MODULE$.createCodec(conf);
    assertThat(codec).isInstanceOf(SamplingLz4Codec.class);
    assertThat(CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(codec)).isTrue();
    conf.set("spark.io.compression.codec", "snappy");
    SamplingLz4Codec.replaceLz4(conf);
    assertThat(CompressionCodec$.MODULE$.createCodec(conf)).isInstanceOf(SnappyCompressionCodec.class);
  }

  private static final class Counting extends LZ4Compressor {
    private boolean smaller;
    private int calls;

    @Override
    public int compress(byte[] from, int offset, int length, byte[] to, int toOffset, int most) {
      calls++;
      return smaller ? length - 1 : length + 1;
    }

    @Override
    public int compress(ByteBuffer from, int offset, int length, ByteBuffer to, int toOffset, int most) {
      throw new AssertionError("not called");
    }
  }
}

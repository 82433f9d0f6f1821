package org.apache.hadoop.io.compress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.InflaterInputStream;
import net.jpountz.lz4.LZ4Factory;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.io.compress.bzip2.Bzip2Factory;
import org.apache.hadoop.io.compress.bzip2.CBZip2InputStream;
import org.apache.hadoop.io.compress.bzip2.CBZip2OutputStream;
import org.apache.hadoop.io.compress.snappy.SnappyDecompressor.SnappyDirectDecompressor;
import org.apache.hadoop.io.compress.zlib.ZlibCompressor;
import org.apache.hadoop.io.compress.zlib.ZlibDecompressor;
import org.apache.hadoop.io.compress.zlib.ZlibFactory;
import org.junit.jupiter.api.Test;
import org.xerial.snappy.Snappy;

/** Codecs against implementations of others: what one writes, the other reads. */
class NativeCodecsTest {
  private final Configuration conf = new Configuration();

  /** What has some text and some noise: 0 bytes, a few, and more than any buffer. */
  private static byte[][] contents() {
    byte[][] all = new byte[5][];
    int[] sizes = {0, 1, 1000, 65536, 1500000};
    Random random = new Random(4);
    for (int i = 0; i < sizes.length; i++) {
      all[i] = new byte[sizes[i]];
      for (int at = 0; at < sizes[i]; at++) {
        all[i][at] = (byte) (at / 7 % 3 == 0 ? random.nextInt() : 'a' + at % 13);
      }
    }
    return all;
  }

  private <T extends CompressionCodec> T codec(Class<T> type) throws Exception {
    T codec = type.getConstructor().newInstance();
    ((org.apache.hadoop.conf.Configurable) codec).setConf(conf);
    return codec;
  }

  private static byte[] compress(CompressionCodec codec, byte[] plain) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Compressor compressor = codec.createCompressor();
    try (CompressionOutputStream stream = codec.createOutputStream(out, compressor)) {
      stream.write(plain);
    }
    compressor.end();
    return out.toByteArray();
  }

  private static byte[] decompress(CompressionCodec codec, byte[] packed) throws IOException {
    Decompressor decompressor = codec.createDecompressor();
    try (InputStream stream = codec.createInputStream(new ByteArrayInputStream(packed), decompressor)) {
      return all(stream);
    } finally {
      decompressor.end();
    }
  }

  private static byte[] all(InputStream in) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    IOUtils.copyBytes(in, out, 4096, false);
    return out.toByteArray();
  }

  @Test
  void zlibAndGzip() throws Exception {
    assertThat(ZlibFactory.isNativeZlibLoaded(conf)).isTrue();
    for (byte[] plain : contents()) {
      DefaultCodec zlib = codec(DefaultCodec.class);
      byte[] packed = compress(zlib, plain);
      assertThat(all(new InflaterInputStream(new ByteArrayInputStream(packed)))).isEqualTo(plain);
      assertThat(decompress(zlib, packed)).isEqualTo(plain);
      GzipCodec gzip = codec(GzipCodec.class);
      assertThat(all(new GZIPInputStream(new ByteArrayInputStream(compress(gzip, plain))))).isEqualTo(plain);
      ByteArrayOutputStream members = new ByteArrayOutputStream();
      for (int i = 0; i < 3; i++) { // each is a stream of its own, one behind the other
        GZIPOutputStream member = new GZIPOutputStream(members);
        member.write(plain);
        member.finish();
      }
      byte[] found = decompress(gzip, members.toByteArray());
      assertThat(found).hasSize(3 * plain.length);
      assertThat(Arrays.copyOf(found, plain.length)).isEqualTo(plain);
    }
  }

  @Test
  void zlibCountsAndTakesDictionaries() throws Exception {
    byte[] plain = contents()[2];
    byte[] dictionary = Arrays.copyOf(plain, 300);
    ZlibCompressor compressor = new ZlibCompressor();
    compressor.setDictionary(dictionary, 0, dictionary.length);
    compressor.setInput(plain, 0, plain.length);
    compressor.finish();
    byte[] packed = new byte[5000];
    int size = compressor.compress(packed, 0, packed.length);
    assertThat(compressor.finished()).isTrue();
    assertThat(compressor.getBytesRead()).isEqualTo(dictionary.length + plain.length); // zlib counts both
    assertThat(compressor.getBytesWritten()).isEqualTo(size);
    ZlibDecompressor decompressor = new ZlibDecompressor();
    decompressor.setInput(packed, 0, size);
    byte[] found = new byte[plain.length];
    assertThat(decompressor.decompress(found, 0, found.length)).isZero();
    assertThat(decompressor.needsDictionary()).isTrue();
    assertThatThrownBy(() -> decompressor.setDictionary(plain, 5, 20)).isInstanceOf(IllegalArgumentException.class);
    decompressor.setDictionary(dictionary, 0, dictionary.length);
    assertThat(decompressor.decompress(found, 0, found.length)).isEqualTo(plain.length);
    assertThat(found).isEqualTo(plain);
    assertThat(decompressor.finished()).isTrue();
    decompressor.reset();
    assertThat(decompressor.getBytesRead()).isZero();
    assertThat(decompressor.getRemaining()).isZero();
    compressor.reinit(conf);
    compressor.end();
    decompressor.end();
    assertThatThrownBy(decompressor::getBytesRead).isInstanceOf(NullPointerException.class);
  }

  @Test
  void bzip2() throws Exception {
    assertThat(Bzip2Factory.isNativeBzip2Loaded(conf)).isTrue();
    BZip2Codec codec = codec(BZip2Codec.class);
    for (byte[] plain : contents()) {
      byte[] packed = compress(codec, plain);
      assertThat(new String(packed, 0, 2, java.nio.charset.StandardCharsets.US_ASCII)).isEqualTo("BZ");
      if (plain.length > 0) { // Java's reads no empty stream
        ByteArrayInputStream in = new ByteArrayInputStream(packed, 2, packed.length - 2);
        assertThat(all(new CBZip2InputStream(in))).isEqualTo(plain);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write('B');
        out.write('Z');
        CBZip2OutputStream java = new CBZip2OutputStream(out);
        java.write(plain);
        java.close();
        assertThat(decompress(codec, out.toByteArray())).isEqualTo(plain);
      }
      assertThat(decompress(codec, packed)).isEqualTo(plain);
    }
  }

  /** The blocks of a stream: each has its plain length, then pieces with theirs. */
  private interface Piece {
    byte[] unpack(byte[] packed, int room) throws IOException;
  }

  private static byte[] unpackBlocks(byte[] stream, Piece piece) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteBuffer in = ByteBuffer.wrap(stream);
    while (in.hasRemaining()) {
      int left = in.getInt();
      while (left > 0) {
        byte[] packed = new byte[in.getInt()];
        in.get(packed);
        byte[] plain = piece.unpack(packed, left);
        out.write(plain);
        left -= plain.length;
      }
    }
    return out.toByteArray();
  }

  private static byte[] block(byte[] plain, byte[] packed) {
    return ByteBuffer.allocate(8 + packed.length).putInt(plain.length).putInt(packed.length).put(packed).array();
  }

  @Test
  void snappy() throws Exception {
    SnappyCodec codec = codec(SnappyCodec.class);
    for (byte[] plain : contents()) {
      byte[] packed = compress(codec, plain);
      assertThat(unpackBlocks(packed, (bytes, room) -> Snappy.uncompress(bytes))).isEqualTo(plain);
      assertThat(decompress(codec, packed)).isEqualTo(plain);
      if (plain.length > 0 && plain.length <= 200000) {
        assertThat(decompress(codec, block(plain, Snappy.compress(plain)))).isEqualTo(plain);
      }
    }
    byte[] plain = contents()[3];
    byte[] packed = Snappy.compress(plain);
    ByteBuffer in = ByteBuffer.allocateDirect(packed.length);
    in.put(packed).flip();
    ByteBuffer out = ByteBuffer.allocateDirect(plain.length + 10);
    out.position(10);
    new SnappyDirectDecompressor().decompress(in, out);
    out.position(10);
    assertThat(out).isEqualTo(ByteBuffer.wrap(plain));
  }

  @Test
  void lz4() throws Exception {
    LZ4Factory java = LZ4Factory.safeInstance();
    for (boolean high : new boolean[] {false, true}) {
      conf.setBoolean("io.compression.codec.lz4.use.lz4hc", high);
      Lz4Codec codec = codec(Lz4Codec.class);
      for (byte[] plain : contents()) {
        byte[] packed = compress(codec, plain);
        assertThat(unpackBlocks(packed, (bytes, room) -> java.safeDecompressor().decompress(bytes, room)))
            .isEqualTo(plain);
        assertThat(decompress(codec, packed)).isEqualTo(plain);
        if (plain.length > 0 && plain.length <= 200000) {
          assertThat(decompress(codec, block(plain, java.fastCompressor().compress(plain)))).isEqualTo(plain);
        }
      }
    }
  }

  /** Damage ends in an exception or in other bytes, never in a crash. */
  @Test
  void damagedInputIsSurvived() throws Exception {
    byte[] plain = contents()[2];
    Random random = new Random(5);
    for (Class<? extends CompressionCodec> type : Arrays.asList(DefaultCodec.class, GzipCodec.class, BZip2Codec.class,
        SnappyCodec.class, Lz4Codec.class)) {
      CompressionCodec codec = codec(type);
      byte[] packed = compress(codec, plain);
      int failed = 0;
      for (int round = 0; round < 300; round++) {
        byte[] damaged = packed.clone();
        // The lengths before a block are Java's; wrong ones have it allocate what they say.
        int first = type == SnappyCodec.class || type == Lz4Codec.class ? 8 : 0;
        for (int i = 0; i <= random.nextInt(4); i++) {
          damaged[first + random.nextInt(damaged.length - first)] ^= (byte) (1 << random.nextInt(8));
        }
        try {
          decompress(codec, damaged);
        } catch (IOException | InternalError | IllegalArgumentException | IndexOutOfBoundsException e) {
          failed++;
        }
      }
      assertThat(failed).as(type.getSimpleName()).isPositive();
    }
  }

  @Test
  void buffersThatAreTooSmallAreRefused() throws Exception {
    byte[] packed = Snappy.compress(new byte[5000]);
    Decompressor small = new org.apache.hadoop.io.compress.snappy.SnappyDecompressor(1000);
    small.setInput(packed, 0, packed.length);
    assertThatThrownBy(() -> small.decompress(new byte[1000], 0, 1000)).isInstanceOf(InternalError.class)
        .hasMessage("Could not decompress data. Buffer length is too small.");
    Compressor tight = new org.apache.hadoop.io.compress.snappy.SnappyCompressor(100);
    byte[] noise = new byte[100];
    new Random(6).nextBytes(noise);
    tight.setInput(noise, 0, 100);
    assertThatThrownBy(() -> tight.compress(new byte[1000], 0, 1000)).isInstanceOf(InternalError.class);
    Decompressor lz4 = new org.apache.hadoop.io.compress.lz4.Lz4Decompressor(100);
    lz4.setInput(new byte[] {(byte) 0xf0, (byte) 0xff, (byte) 0xff}, 0, 3);
    assertThatThrownBy(() -> lz4.decompress(new byte[100], 0, 100)).isInstanceOf(InternalError.class);
  }
}

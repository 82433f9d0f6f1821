package org.apache.spark.shuffle.rdma;

import java.io.OutputStream;
import java.nio.ByteBuffer;
import net.jpountz.lz4.LZ4BlockOutputStream;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.xxhash.XXHashFactory;
import org.apache.spark.SparkConf;
import org.apache.spark.io.LZ4CompressionCodec;

/**
 * Spark's LZ4 codec, same format, which stores what does not become smaller without trying each block: after
 * {@link #MISSES} blocks in a row that did not, the next {@link #SKIPPED} are stored as they are, then one is tried
 * again. What it writes Spark's own codec reads. Thread-safe; its streams are not.
 */
public final class SamplingLz4Codec extends LZ4CompressionCodec {
  static final int MISSES = 2;
  static final int SKIPPED = 14;
  private static final String CODEC = "spark.io.compression.codec";
  private static final String BLOCK_SIZE = "spark.io.compression.lz4.blockSize";
  private static final int SEED = 0x9747b28c; // that of LZ4BlockInputStream

  private final SparkConf conf;

  /** The parameter is what Spark's CompressionCodec passes. */
  public SamplingLz4Codec(SparkConf conf) {
    super(conf);
    this.conf = conf;
  }

  /** Takes the place of Spark's LZ4 codec, if that is what an executor compresses with. Before anything does. */
  static void replaceLz4(SparkConf conf) {
    String codec = conf.get(CODEC, "lz4");
    if (codec.equalsIgnoreCase("lz4") || codec.equals(LZ4CompressionCodec.class.getName())) {
      conf.set(CODEC, SamplingLz4Codec.class.getName());
    }
  }

  @Override
  public OutputStream compressedOutputStream(OutputStream to) {
    int blockSize = (int) conf.getSizeAsBytes(BLOCK_SIZE, "32k");
    return new LZ4BlockOutputStream(to, blockSize, new Sampling(LZ4Factory.fastestInstance().fastCompressor()),
        XXHashFactory.fastestInstance().newStreamingHash32(SEED).asChecksum(), false);
  }

  /** What a stream asks for each block; it stores a block that is said to become no smaller. Not thread-safe. */
  static final class Sampling extends LZ4Compressor {
    private final LZ4Compressor compressor;
    private int misses;
    private int skipped;

    Sampling(LZ4Compressor compressor) {
      this.compressor = compressor;
    }

    @Override
    public int compress(byte[] from, int offset, int length, byte[] to, int toOffset, int most) {
      if (isSkipped()) {
        return length;
      }
      return counted(length, compressor.compress(from, offset, length, to, toOffset, most));
    }

    @Override
    public int compress(ByteBuffer from, int offset, int length, ByteBuffer to, int toOffset, int most) {
      if (isSkipped()) {
        return length;
      }
      return counted(length, compressor.compress(from, offset, length, to, toOffset, most));
    }

    private boolean isSkipped() {
      if (misses < MISSES) {
        return false;
      }
      if (skipped++ < SKIPPED) {
        return true;
      }
      skipped = 0;
      return false;
    }

    private int counted(int length, int compressed) {
      misses = compressed < length ? 0 : Math.min(misses + 1, MISSES);
      return compressed;
    }
  }
}

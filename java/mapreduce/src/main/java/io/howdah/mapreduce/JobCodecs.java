package io.howdah.mapreduce;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.io.compress.SnappyCodec;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.util.NativeCodeLoader;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * Refuses a job that compresses its map output or its own output by a codec that does not work on the submitting host:
 * each task would fail, and the job with the last attempt of one. The patched JobSubmitter calls it. Thread-safe.
 */
public final class JobCodecs {
  /** Whether codecs are tried out, true by default. A host that has fewer libraries than the nodes sets it to false. */
  static final String CHECKED = "mapreduce.job.codecs.checked";

  private static final byte[] SAMPLE = "some bytes, bytes, bytes".getBytes(StandardCharsets.US_ASCII);

  private JobCodecs() {
  }

  /**
   * Tries out the codecs that a job is to use.
   *
   * @throws IOException if one does not work; it names the codec, its property, the cause and what to do
   * @throws ClassNotFoundException if the job's output format does not exist
   */
  public static void check(Job job) throws IOException, ClassNotFoundException {
    JobConf conf = (JobConf) job.getConfiguration();
    if (!conf.getBoolean(CHECKED, true)) {
      return;
    }
    if (conf.getNumReduceTasks() > 0 && conf.getCompressMapOutput()) {
      check(conf, "Map output", MRJobConfig.MAP_OUTPUT_COMPRESS_CODEC, true, true);
    }
    if (FileOutputFormat.getCompressOutput(conf)) {
      Class<?> format = outputFormat(job, conf);
      if (isAny(format, FileOutputFormat.class, org.apache.hadoop.mapreduce.lib.output.FileOutputFormat.class,
          org.apache.hadoop.mapred.lib.FilterOutputFormat.class,
          org.apache.hadoop.mapreduce.lib.output.FilterOutputFormat.class)) {
        check(conf, "Job output", org.apache.hadoop.mapreduce.lib.output.FileOutputFormat.COMPRESS_CODEC, false,
            isOfRecords(format));
      }
    }
  }

  /** As JobSubmitter chooses it. */
  private static Class<?> outputFormat(Job job, JobConf conf) throws ClassNotFoundException {
    boolean isNew = conf.getNumReduceTasks() == 0 ? conf.getUseNewMapper() : conf.getUseNewReducer();
    return isNew ? job.getOutputFormatClass() : conf.getOutputFormat().getClass();
  }

  /** Whether its files are compressed by record or block, which takes a compressor; others take a stream. */
  private static boolean isOfRecords(Class<?> format) {
    return isAny(format, org.apache.hadoop.mapred.SequenceFileOutputFormat.class,
        org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat.class,
        org.apache.hadoop.mapred.MapFileOutputFormat.class,
        org.apache.hadoop.mapreduce.lib.output.MapFileOutputFormat.class);
  }

  private static boolean isAny(Class<?> type, Class<?>... bases) {
    return Arrays.stream(bases).anyMatch(base -> base.isAssignableFrom(type));
  }

  private static void check(JobConf conf, String what, String property, boolean isRead, boolean needsCompressor)
      throws IOException {
    String name = conf.get(property, DefaultCodec.class.getName());
    try {
      CompressionCodec codec =
          ReflectionUtils.newInstance(conf.getClassByName(name).asSubclass(CompressionCodec.class), conf);
      byte[] packed = pack(codec, needsCompressor);
      if (isRead && !Arrays.equals(unpack(codec, packed), SAMPLE)) {
        throw new IOException("it does not read what it writes");
      }
    } catch (IOException | ClassNotFoundException | RuntimeException | LinkageError | InternalError e) {
      throw new IOException(what + " cannot be compressed by " + name + " (" + property + "): " + cause(name, e)
          + ". Install what is missing on every node, or set another codec; " + CHECKED
          + "=false submits the job all the same", e);
    }
  }

  private static byte[] pack(CompressionCodec codec, boolean needsCompressor) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    Compressor compressor = CodecPool.getCompressor(codec);
    try {
      if (compressor == null && needsCompressor) {
        throw new IOException("it has no compressor, only a stream");
      }
      OutputStream out =
          compressor == null ? codec.createOutputStream(packed) : codec.createOutputStream(packed, compressor);
      out.write(SAMPLE);
      out.close();
    } finally {
      CodecPool.returnCompressor(compressor);
    }
    return packed.toByteArray();
  }

  private static byte[] unpack(CompressionCodec codec, byte[] packed) throws IOException {
    byte[] found = new byte[SAMPLE.length];
    Decompressor decompressor = CodecPool.getDecompressor(codec);
    try (InputStream in = codec.createInputStream(new ByteArrayInputStream(packed), decompressor)) {
      IOUtils.readFully(in, found, 0, found.length);
    } finally {
      CodecPool.returnDecompressor(decompressor);
    }
    return found;
  }

  /** Hadoop's own codecs say little of a library that is missing. */
  private static String cause(String codec, Throwable failure) {
    if (codec.startsWith(CompressionCodec.class.getPackage().getName() + ".") && !(failure instanceof
        ClassNotFoundException)) {
      if (!NativeCodeLoader.isNativeCodeLoaded()) {
        return "libhadoop.so is not loaded: " + whyNotLoaded();
      }
      if (codec.equals(SnappyCodec.class.getName()) && !SnappyCodec.isNativeCodeLoaded()) {
        return SnappyCodec.getLibraryName();
      }
    }
    boolean speaks = failure.getMessage() != null && !(failure instanceof ClassNotFoundException);
    return speaks ? failure.getMessage() : failure.toString();
  }

  /** NativeCodeLoader does not keep the cause; another attempt has it. */
  private static String whyNotLoaded() {
    try {
      System.loadLibrary("hadoop");
      return "it was not there when this JVM started";
    } catch (UnsatisfiedLinkError e) {
      return e.getMessage();
    }
  }
}

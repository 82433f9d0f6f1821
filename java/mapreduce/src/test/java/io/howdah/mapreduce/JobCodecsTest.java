package io.howdah.mapreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.BZip2Codec;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.io.compress.GzipCodec;
import org.apache.hadoop.io.compress.Lz4Codec;
import org.apache.hadoop.io.compress.SnappyCodec;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.OutputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.LazyOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.NullOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Jobs whose codec does not work, submitted to the local runner by the patched JobSubmitter. There is no libhadoop. */
@Timeout(300)
class JobCodecsTest {
  private static final String MAP_CODEC = "mapreduce.map.output.compress.codec";
  private static final String JOB_CODEC = "mapreduce.output.fileoutputformat.compress.codec";

  @TempDir
  Path temp;
  private Configuration conf;

  /** A codec whose library is there and fails. */
  public static final class FailingCodec extends DefaultCodec {
    @Override
    public CompressionOutputStream createOutputStream(OutputStream out, Compressor compressor) {
      throw new InternalError("libfailing.so.1 has the wrong version");
    }
  }

  /** A codec that damages what it writes. */
  public static final class DamagingCodec extends DefaultCodec {
    @Override
    public CompressionOutputStream createOutputStream(OutputStream out, Compressor compressor) throws IOException {
      CompressionOutputStream packed = super.createOutputStream(out, compressor);
      packed.write('x');
      return packed;
    }
  }

  @BeforeEach
  void configure() throws IOException {
    conf = new Configuration();
    conf.set("hadoop.tmp.dir", temp.resolve("tmp").toString());
    conf.set("fs.defaultFS", "file:///");
    conf.set("mapreduce.output.lazyoutputformat.outputformat", TextOutputFormat.class.getName());
    Files.write(temp.resolve("in"), Collections.singletonList("some text"), StandardCharsets.US_ASCII);
  }

  private void compressMaps(String codec) {
    conf.setBoolean("mapreduce.map.output.compress", true);
    conf.set(MAP_CODEC, codec);
  }

  private void compressOutput(String codec) {
    conf.setBoolean("mapreduce.output.fileoutputformat.compress", true);
    conf.set(JOB_CODEC, codec);
  }

  private Job job(Class<? extends OutputFormat<?, ?>> format) throws IOException {
    Job job = Job.getInstance(conf);
    job.getConfiguration().setBoolean("mapred.mapper.new-api", true); // as submit() does
    job.getConfiguration().setBoolean("mapred.reducer.new-api", true);
    FileInputFormat.addInputPath(job, new org.apache.hadoop.fs.Path(temp.resolve("in").toString()));
    FileOutputFormat.setOutputPath(job, new org.apache.hadoop.fs.Path(temp.resolve("out").toString()));
    job.setOutputFormatClass(format);
    job.setOutputKeyClass(org.apache.hadoop.io.LongWritable.class);
    job.setOutputValueClass(org.apache.hadoop.io.Text.class);
    return job;
  }

  @SuppressWarnings("unchecked")
  private static Class<? extends OutputFormat<?, ?>> format(Class<?> type) {
    return (Class<? extends OutputFormat<?, ?>>) type;
  }

  /** The job is refused by one line, and nothing is left of it. */
  private void isRefused(Class<?> format, String what, String codec, String property, String cause) throws IOException {
    Job job = job(format(format));
    assertThatThrownBy(job::submit).isInstanceOf(IOException.class)
        .hasMessageStartingWith(what + " cannot be compressed by " + codec + " (" + property + "): " + cause)
        .hasMessageEndingWith("; mapreduce.job.codecs.checked=false submits the job all the same")
        .hasMessageNotContaining("\n");
    assertThat(temp.resolve("out")).doesNotExist();
    assertThat(temp.resolve("tmp/mapred")).doesNotExist();
  }

  private void areMapsRefused(Class<?> codec, String cause) throws IOException {
    compressMaps(codec.getName());
    isRefused(TextOutputFormat.class, "Map output", codec.getName(), MAP_CODEC, cause);
  }

  @Test
  void mapOutputWithoutItsLibrary() throws Exception {
    areMapsRefused(SnappyCodec.class, "libhadoop.so is not loaded: no hadoop in java.library.path");
    areMapsRefused(Lz4Codec.class, "libhadoop.so is not loaded: no hadoop in java.library.path");
    areMapsRefused(GzipCodec.class, "libhadoop.so is not loaded: no hadoop in java.library.path");
    areMapsRefused(FailingCodec.class, "libfailing.so.1 has the wrong version");
    areMapsRefused(DamagingCodec.class, "it does not read what it writes");
    areMapsRefused(String.class, "class java.lang.String");
    compressMaps("no.such.Codec");
    isRefused(TextOutputFormat.class, "Map output", "no.such.Codec", MAP_CODEC,
        "java.lang.ClassNotFoundException: Class no.such.Codec not found");
  }

  @Test
  void jobOutputWithoutItsLibrary() throws Exception {
    compressOutput(SnappyCodec.class.getName());
    for (Class<?> format : new Class<?>[] {TextOutputFormat.class, SequenceFileOutputFormat.class,
        LazyOutputFormat.class}) {
      isRefused(format, "Job output", SnappyCodec.class.getName(), JOB_CODEC, "libhadoop.so is not loaded: ");
    }
    conf.setInt("mapreduce.job.reduces", 0);
    isRefused(TextOutputFormat.class, "Job output", SnappyCodec.class.getName(), JOB_CODEC, "libhadoop.so ");
    compressOutput(GzipCodec.class.getName());
    isRefused(SequenceFileOutputFormat.class, "Job output", GzipCodec.class.getName(), JOB_CODEC, "libhadoop.so ");
  }

  @Test
  void jobsOfTheOldInterface() throws Exception {
    compressOutput(Lz4Codec.class.getName());
    JobConf job = new JobConf(conf);
    org.apache.hadoop.mapred.FileInputFormat.setInputPaths(job, temp.resolve("in").toString());
    org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(job,
        new org.apache.hadoop.fs.Path(temp.resolve("out").toString()));
    assertThatThrownBy(() -> new JobClient(job).submitJob(job)).isInstanceOf(IOException.class)
        .hasMessageStartingWith("Job output cannot be compressed by " + Lz4Codec.class.getName());
    job.setOutputFormat(org.apache.hadoop.mapred.lib.NullOutputFormat.class);
    assertThatCode(() -> JobCodecs.check(Job.getInstance(job))).doesNotThrowAnyException();
  }

  @Test
  void whatIsNotUsedIsNotTried() throws Exception {
    conf.set(MAP_CODEC, "no.such.Codec");
    conf.set(JOB_CODEC, "no.such.Codec");
    JobCodecs.check(job(format(TextOutputFormat.class)));
    conf.setBoolean("mapreduce.map.output.compress", true);
    conf.setBoolean("mapreduce.output.fileoutputformat.compress", true);
    conf.setInt("mapreduce.job.reduces", 0);
    JobCodecs.check(job(format(NullOutputFormat.class)));
    conf.setInt("mapreduce.job.reduces", 1);
    conf.setBoolean("mapreduce.job.codecs.checked", false);
    JobCodecs.check(job(format(TextOutputFormat.class)));
  }

  @Test
  void codecsOfJavaAreTaken() throws Exception {
    compressMaps(DefaultCodec.class.getName());
    compressOutput(GzipCodec.class.getName());
    JobCodecs.check(job(format(TextOutputFormat.class)));
    compressMaps(BZip2Codec.class.getName());
    compressOutput(DefaultCodec.class.getName());
    Job job = job(format(SequenceFileOutputFormat.class));
    assertThat(job.waitForCompletion(false)).isTrue();
    assertThat(temp.resolve("out/part-r-00000")).exists();
  }
}

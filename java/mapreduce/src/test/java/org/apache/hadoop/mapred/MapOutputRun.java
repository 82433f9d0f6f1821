package org.apache.hadoop.mapred;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.mapreduce.CryptoUtils;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.util.Progress;
import org.apache.hadoop.util.ReflectionUtils;

/** A map task that collects records with one collector or the other, and the files that it leaves. */
final class MapOutputRun<K, V> {
  /** Setting of a job: the number of the map's attempt. */
  static final String ATTEMPT = "howdah.test.attempt";

  final JobConf job;
  final MapTask task;
  final Task.TaskReporter reporter;
  final MapOutputCollector<K, V> collector;
  /** What the task told its master that it ends for. */
  volatile Throwable fatal;

  MapOutputRun(JobConf base, Path folder, MapOutputCollector<K, V> collector) throws Exception {
    this.collector = collector;
    Files.createDirectories(folder);
    job = new JobConf(base);
    job.set("mapreduce.cluster.local.dir", folder.toString());
    TaskAttemptID id = TaskAttemptID.downgrade(new org.apache.hadoop.mapreduce.TaskAttemptID(
        new org.apache.hadoop.mapreduce.TaskID(new JobID("1", 1), TaskType.MAP, 0), base.getInt(ATTEMPT, 0)));
    task = new MapTask("", id, 0, null, 1) {
      @Override
      public Progress getSortPhase() {
        return sort;
      }

      private final Progress sort = new Progress().addPhase("sort");

      @Override
      protected void reportFatalError(TaskAttemptID attempt, Throwable throwable, String message) {
        fatal = throwable;
      }
    };
    task.setConf(job);
    reporter = task.new TaskReporter(new Progress(), null);
    collector.init(new MapOutputCollector.Context(task, job, reporter));
  }

  long count(TaskCounter counter) {
    return reporter.getCounter(counter).getCounter();
  }

  byte[] file() throws IOException {
    return Files.readAllBytes(java.nio.file.Paths.get(task.getMapOutputFile().getOutputFile().toUri().getPath()));
  }

  byte[] index() throws IOException {
    return Files.readAllBytes(java.nio.file.Paths.get(task.getMapOutputFile().getOutputIndexFile().toUri().getPath()));
  }

  /** The raw records of a partition: key, value, key, value. */
  List<byte[]> records(int partition) throws IOException {
    CompressionCodec codec = job.getCompressMapOutput()
        ? ReflectionUtils.newInstance(job.getMapOutputCompressorClass(DefaultCodec.class), job) : null;
    IndexRecord part = new SpillRecord(task.getMapOutputFile().getOutputIndexFile(), job).getIndex(partition);
    FSDataInputStream in = FileSystem.getLocal(job).getRaw().open(task.getMapOutputFile().getOutputFile());
    in.seek(part.startOffset);
    IFile.Reader<K, V> reader = new IFile.Reader<>(job, CryptoUtils.wrapIfNecessary(job, in),
        part.partLength - CryptoUtils.cryptoPadding(job), codec, null);
    List<byte[]> records = new ArrayList<>();
    DataInputBuffer buffer = new DataInputBuffer();
    while (reader.nextRawKey(buffer)) {
      records.add(bytes(buffer));
      DataInputBuffer value = new DataInputBuffer();
      reader.nextRawValue(value);
      records.add(bytes(value));
    }
    reader.close();
    return records;
  }

  private static byte[] bytes(DataInputBuffer buffer) {
    return java.util.Arrays.copyOfRange(buffer.getData(), buffer.getPosition(), buffer.getLength());
  }
}

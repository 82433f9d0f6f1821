package org.apache.hadoop.mapred;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.mapreduce.CryptoUtils;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.util.Progress;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * The files of a map's output: spills, and the final file with its index, in stock's places and format. Codec,
 * encryption, combiner, counters and the merge of spills are stock's. Not thread-safe.
 */
final class MapSpills<K, V> {
  private static final int HEADER_BYTES = 150;
  private static final int INDEX_MEMORY = 1 << 20;
  private static final int INDEX_RECORD_BYTES = 24;
  /** Memory for each file that a merge has open: its buffers, and the file system's. */
  private static final int SEGMENT_BYTES = IFileReadBuffer.SIZE + (8 << 10);

  /** Writes one partition. */
  private interface Source<K, V> {
    void write(IFile.Writer<K, V> writer, int partition) throws IOException, InterruptedException,
        ClassNotFoundException;
  }

  private final MapTask task;
  private final JobConf job;
  private final Task.TaskReporter reporter;
  private final int partitions;
  private final FileSystem local;
  private final MapOutputFile files;
  private final Class<K> keyClass;
  private final Class<V> valueClass;
  private final CompressionCodec codec;
  private final Counters.Counter spilled;
  private final Task.CombinerRunner<K, V> combiner;
  private final Task.CombineOutputCollector<K, V> combined;
  private final List<SpillRecord> indexes = new ArrayList<>();
  private int spills;

  /** Spills of a task. @param files where they go */
  @SuppressWarnings("unchecked")
  MapSpills(MapOutputCollector.Context context, MapOutputFile files) throws IOException, ClassNotFoundException {
    this.files = files;
    task = context.getMapTask();
    job = context.getJobConf();
    reporter = context.getReporter();
    partitions = job.getNumReduceTasks();
    local = FileSystem.getLocal(job).getRaw();
    keyClass = (Class<K>) job.getMapOutputKeyClass();
    valueClass = (Class<V>) job.getMapOutputValueClass();
    codec = job.getCompressMapOutput()
        ? ReflectionUtils.newInstance(job.getMapOutputCompressorClass(DefaultCodec.class), job) : null;
    spilled = reporter.getCounter(TaskCounter.SPILLED_RECORDS);
    combiner = Task.CombinerRunner.create(job, task.getTaskID(),
        reporter.getCounter(TaskCounter.COMBINE_INPUT_RECORDS), reporter, null);
    combined = combiner == null ? null : new Task.CombineOutputCollector<>(
        reporter.getCounter(TaskCounter.COMBINE_OUTPUT_RECORDS), reporter, job);
  }

  // Spills.

  /** Writes records to a spill file. */
  void spill(SortedRecords records) throws IOException, InterruptedException, ClassNotFoundException {
    spill(records.bytes(), (writer, partition) -> write(records, writer, partition));
  }

  /** Writes a record that has no room in memory to a spill file of its own. @return its bytes in the file */
  long spill(K key, V value, int partition) throws IOException, InterruptedException, ClassNotFoundException {
    long[] size = new long[1];
    spill((long) job.getInt(JobContext.IO_SORT_MB, 100) << 20, (writer, each) -> {
      if (each == partition) {
        writer.append(key, value);
        size[0] = writer.decompressedBytesWritten;
      }
    });
    return size[0];
  }

  private void spill(long size, Source<K, V> source) throws IOException, InterruptedException,
      ClassNotFoundException {
    SpillRecord index;
    long most = size + (long) partitions * HEADER_BYTES;
    Path file = files.getSpillFileForWrite(spills, most);
    try (FSDataOutputStream out = local.create(file)) {
      index = write(out, source, spilled);
    }
    long indexBytes = (long) partitions * INDEX_RECORD_BYTES;
    if (indexes.size() * indexBytes >= job.getInt(JobContext.INDEX_CACHE_MEMORY_LIMIT, INDEX_MEMORY)) {
      index.writeToFile(files.getSpillIndexFileForWrite(spills, indexBytes), job);
    } else {
      indexes.add(index);
    }
    spills++;
  }

  private SpillRecord write(FSDataOutputStream out, Source<K, V> source, Counters.Counter counter)
      throws IOException, InterruptedException, ClassNotFoundException {
    SpillRecord index = new SpillRecord(partitions);
    for (int partition = 0; partition < partitions; partition++) {
      long start = out.getPos();
      IFile.Writer<K, V> writer = new IFile.Writer<>(job, CryptoUtils.wrapIfNecessary(job, out), keyClass, valueClass,
          codec, counter);
      boolean whole = false;
      try {
        source.write(writer, partition);
        writer.close();
        whole = true;
      } finally {
        if (!whole) {
          abandon(writer);
        }
      }
      int padding = CryptoUtils.cryptoPadding(job);
      index.putIndex(new IndexRecord(start, writer.getRawLength() + padding, writer.getCompressedLength() + padding),
          partition);
    }
    return index;
  }

  /** Gives its compressor back. The exception that is on its way says more than another one. */
  private static void abandon(IFile.Writer<?, ?> writer) {
    try {
      writer.close();
    } catch (IOException | RuntimeException e) {
      PagedMapOutput.LOG.debug("closing a file that failed", e);
    }
  }

  private void write(SortedRecords records, IFile.Writer<K, V> writer, int partition) throws IOException,
      InterruptedException, ClassNotFoundException {
    if (combiner == null) {
      records.copy(partition, writer, reporter);
    } else if (!records.isEmpty(partition)) {
      combined.setWriter(writer);
      combiner.combine(records.iterator(partition), combined);
    }
  }

  // The final file.

  /**
   * Writes the final file and its index. Without spills it is the only file that is written. Records that are to be
   * combined are spilled before they are merged with others, as in stock; others are merged from memory if that leaves
   * room for what the merge takes.
   *
   * @param rest records that are still in memory
   * @param budget bytes of memory for them and for the merge
   * @return the file's length
   */
  long finish(SortedRecords rest, long budget) throws IOException, InterruptedException, ClassNotFoundException {
    rest.seal();
    Progress phase = task.getSortPhase();
    long length;
    if (spills == 0 || spills == 1 && rest.count() == 0) {
      length = spills == 1 ? keepSpill()
          : finish(rest.bytes(), (writer, partition) -> write(rest, writer, partition));
      phase.complete();
      return length;
    }
    if (rest.count() > 0 && (combiner != null || rest.memory() + mergeBytes() > budget)) {
      spill(rest);
      rest.clear();
      rest.seal();
    }
    long size = rest.bytes();
    for (int i = 0; i < spills; i++) {
      size += local.getFileStatus(files.getSpillFile(i)).getLen();
    }
    for (int i = indexes.size(); i < spills; i++) {
      indexes.add(new SpillRecord(files.getSpillIndexFile(i), job));
    }
    phase.addPhases(partitions);
    length = finish(size, (writer, partition) -> merge(rest, writer, partition));
    for (int i = 0; i < spills; i++) {
      local.delete(files.getSpillFile(i), true);
    }
    return length;
  }

  /** Memory that the merge of spills and of the records in memory takes. */
  private long mergeBytes() {
    return (long) SEGMENT_BYTES * Math.min(spills + 1, job.getInt(JobContext.IO_SORT_FACTOR, 100));
  }

  /** Makes the only spill the final file. @return its length */
  private long keepSpill() throws IOException {
    Path spill = files.getSpillFile(0);
    SpillRecord index = indexes.isEmpty() ? new SpillRecord(files.getSpillIndexFile(0), job) : indexes.get(0);
    Path file = files.getOutputFileForWriteInVolume(spill);
    local.mkdirs(file.getParent());
    if (!local.rename(spill, file)) {
      throw new IOException("Unable to rename " + spill + " to " + file);
    }
    index.writeToFile(files.getOutputIndexFileForWriteInVolume(spill), job);
    return local.getFileStatus(file).getLen();
  }

  private long finish(long size, Source<K, V> source) throws IOException, InterruptedException,
      ClassNotFoundException {
    long most = size + (long) partitions * HEADER_BYTES;
    long indexBytes = (long) partitions * INDEX_RECORD_BYTES;
    Path file = files.getOutputFileForWrite(most);
    Path index = files.getOutputIndexFileForWrite(indexBytes);
    SpillRecord record;
    try (FSDataOutputStream out = local.create(file, true)) {
      record = write(out, source, spilled);
    }
    record.writeToFile(index, job);
    return local.getFileStatus(file).getLen();
  }

  private void merge(SortedRecords rest, IFile.Writer<K, V> writer, int partition) throws IOException,
      InterruptedException, ClassNotFoundException {
    List<Merger.Segment<K, V>> segments = new ArrayList<>();
    for (int i = 0; i < spills; i++) {
      IndexRecord part = indexes.get(i).getIndex(partition);
      segments.add(new Merger.Segment<>(job, local, files.getSpillFile(i), part.startOffset, part.partLength, codec,
          true));
    }
    if (!rest.isEmpty(partition)) {
      segments.add(new Merger.Segment<>(rest.<K, V>reader(partition, job), true));
    }
    int factor = job.getInt(JobContext.IO_SORT_FACTOR, 100);
    @SuppressWarnings("unchecked")
    RawKeyValueIterator records = Merger.merge(job, local, keyClass, valueClass, codec, segments, factor,
        new Path(task.getTaskID().toString()), job.getOutputKeyComparator(), reporter, segments.size() > factor, null,
        spilled, task.getSortPhase().phase(), TaskType.MAP);
    if (combiner == null || spills < job.getInt(JobContext.MAP_COMBINE_MIN_SPILLS, 3)) {
      Merger.writeFile(records, writer, reporter, job);
    } else {
      combined.setWriter(writer);
      combiner.combine(records, combined);
    }
    task.getSortPhase().startNextPhase();
  }
}

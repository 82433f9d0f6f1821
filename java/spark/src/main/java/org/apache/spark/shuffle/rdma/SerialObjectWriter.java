package org.apache.spark.shuffle.rdma;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import org.apache.spark.executor.ShuffleWriteMetrics;
import org.apache.spark.serializer.SerializationStream;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.DiskBlockObjectWriter;
import org.apache.spark.storage.FileSegment;
import org.apache.spark.storage.TempShuffleBlockId;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** What Spark's writers write to in place of their last file: a {@link SerialOutput}. Not thread-safe. */
final class SerialObjectWriter extends DiskBlockObjectWriter {
  private static final ClassTag<Object> ANY = ClassTag$.MODULE$.Any();

  private final SerialOutput output;
  private final SerializerManager serializers;
  private final SerializerInstance serializer;
  private final ShuffleWriteMetrics metrics;
  private OutputStream stream;
  private SerializationStream records;
  private long committed;

  SerialObjectWriter(SerialOutput output, File file, SerializerManager serializers, SerializerInstance serializer,
      ShuffleWriteMetrics metrics, BlockId block) {
    super(file, serializers, serializer, 1, false, metrics, block);
    this.output = output;
    this.serializers = serializers;
    this.serializer = serializer;
    this.metrics = metrics;
  }

  @Override
  public DiskBlockObjectWriter open() {
    if (committed == 0 && blockId() instanceof TempShuffleBlockId) {
      create(); // Spark moves it
    }
    stream = serializers.wrapStream(blockId(), output.stream());
    records = serializer.serializeStream(stream);
    return this;
  }

  private void create() {
    try {
      file().createNewFile();
    } catch (IOException e) {
      throw new UncheckedIOException("creating " + file(), e);
    }
  }

  @Override
  public void write(byte[] bytes, int offset, int length) {
    try {
      if (stream == null) {
        open();
      }
      stream.write(bytes, offset, length);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void write(Object key, Object value) {
    if (stream == null) {
      open();
    }
    records.writeKey(key, ANY);
    records.writeValue(value, ANY);
    recordWritten();
  }

  @Override
  public void recordWritten() {
    metrics.incRecordsWritten(1);
  }

  @Override
  public void flush() {
    // the end of a partition does
  }

  @Override
  public FileSegment commitAndGet() {
    if (stream != null) {
      try {
        records.flush();
        stream.flush(); // Kryo's stream does not
        records.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      stream = null;
    }
    FileSegment segment = new FileSegment(file(), committed, output.length() - committed);
    committed = output.length();
    metrics.incBytesWritten(segment.length());
    return segment;
  }

  @Override
  public void close() {
    commitAndGet();
  }

  @Override
  public File revertPartialWritesAndClose() {
    return file(); // the output ends with the task
  }
}

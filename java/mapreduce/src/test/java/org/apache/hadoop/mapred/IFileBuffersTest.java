package org.apache.hadoop.mapred;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumException;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** IFiles that go through the buffers are the files that stock writes, and are read as stock reads them. */
class IFileBuffersTest {
  private static final int SIZE = BufferedIFileOutputStream.SIZE;
  private static final Configuration CONF = new Configuration(false);

  @TempDir
  java.nio.file.Path folder;

  /** Counts how often the file is written to. */
  private static final class Counted extends OutputStream {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    int writes;

    @Override
    public void write(int b) {
      writes++;
      bytes.write(b);
    }

    @Override
    public void write(byte[] from, int offset, int length) {
      writes++;
      bytes.write(from, offset, length);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 100, SIZE - 1, SIZE, SIZE + 1, 5 * SIZE + 17})
  void theFileHasTheBytesThatStockWrites(int length) throws IOException {
    byte[] data = new byte[length];
    new Random(length).nextBytes(data);
    Counted stock = new Counted();
    IFileOutputStream theirs = new IFileOutputStream(stock);
    theirs.write(data, 0, length);
    theirs.finish();

    for (int piece : new int[] {1, 7, SIZE - 1, SIZE, 2 * SIZE}) {
      Counted file = new Counted();
      IFileOutputStream ours = new BufferedIFileOutputStream(file);
      for (int at = 0; at < length; at += piece) {
        if (piece == 1) {
          ours.write(data[at]);
        } else {
          ours.write(data, at, Math.min(piece, length - at));
        }
      }
      ours.close();
      assertThat(file.bytes.toByteArray()).as("in pieces of %d", piece).isEqualTo(stock.bytes.toByteArray());
    }
  }

  @Test
  void recordsAreWrittenByTheBufferAndNotByTheField() throws IOException {
    Counted file = new Counted();
    IFile.Writer<Text, Text> writer = writer(new FSDataOutputStream(file, null), null);
    for (int i = 0; i < 100_000; i++) {
      writer.append(new Text("key " + i), new Text("value"));
    }
    writer.close();

    assertThat(writer.getCompressedLength()).isEqualTo(file.bytes.size());
    assertThat(file.writes).isLessThanOrEqualTo(file.bytes.size() / (SIZE / 2) + 2);
  }

  @Test
  void partitionsFollowEachOtherInOneFile() throws IOException {
    Counted file = new Counted();
    FSDataOutputStream raw = new FSDataOutputStream(file, null);
    long[] starts = new long[4];
    for (int partition = 0; partition < 3; partition++) {
      starts[partition] = raw.getPos();
      IFile.Writer<Text, Text> writer = writer(raw, null);
      append(writer, partition * 10_000);
      writer.close();
      starts[partition + 1] = raw.getPos();
    }
    byte[] bytes = file.bytes.toByteArray();
    for (int partition = 0; partition < 3; partition++) {
      byte[] part = Arrays.copyOfRange(bytes, (int) starts[partition], (int) starts[partition + 1]);
      assertThat(readAll(part, null)).isEqualTo(partition * 10_000);
    }
  }

  @Test
  void compressedRecordsAreReadBack() throws IOException {
    DefaultCodec codec = new DefaultCodec();
    codec.setConf(CONF);
    Counted file = new Counted();
    IFile.Writer<Text, Text> writer = writer(new FSDataOutputStream(file, null), codec);
    append(writer, 50_000);
    writer.close();
    assertThat(readAll(file.bytes.toByteArray(), codec)).isEqualTo(50_000);
  }

  @Test
  void theReadersPositionIsBehindTheRecordThatItReadLast() throws IOException {
    Counted file = new Counted();
    IFile.Writer<Text, Text> writer = writer(new FSDataOutputStream(file, null), null);
    long[] ends = new long[20_000];
    for (int i = 0; i < ends.length; i++) {
      writer.append(new Text("key " + i), new Text("value"));
      ends[i] = writer.decompressedBytesWritten;
    }
    writer.close();

    IFile.Reader<Text, Text> reader = reader(file.bytes.toByteArray(), null);
    DataInputBuffer buffer = new DataInputBuffer();
    for (long end : ends) {
      assertThat(reader.nextRawKey(buffer)).isTrue();
      reader.nextRawValue(buffer);
      assertThat(reader.getPosition()).isEqualTo(end);
    }
    reader.close();
  }

  @Test
  void recordsLargerThanTheBufferAreReadBack() throws IOException {
    Counted file = new Counted();
    IFile.Writer<Text, Text> writer = writer(new FSDataOutputStream(file, null), null);
    byte[] large = new byte[3 * SIZE];
    new Random(1).nextBytes(large);
    Text value = new Text();
    value.set(large);
    writer.append(new Text("a"), value);
    writer.append(new Text("b"), new Text());
    writer.close();

    IFile.Reader<Text, Text> reader = reader(file.bytes.toByteArray(), null);
    DataInputBuffer key = new DataInputBuffer();
    DataInputBuffer read = new DataInputBuffer();
    assertThat(reader.nextRawKey(key)).isTrue();
    reader.nextRawValue(read);
    Text back = new Text();
    back.readFields(read);
    assertThat(back).isEqualTo(value);
    assertThat(reader.nextRawKey(key)).isTrue();
    reader.nextRawValue(read);
    assertThat(reader.nextRawKey(key)).isFalse();
    assertThat(reader.getPosition()).isEqualTo(reader.getLength());
    reader.close();
  }

  @Test
  void aDamagedByteIsAChecksumErrorWhetherItIsReadOrNot() throws IOException {
    Counted file = new Counted();
    IFile.Writer<Text, Text> writer = writer(new FSDataOutputStream(file, null), null);
    append(writer, 20_000);
    writer.close();
    byte[] damaged = file.bytes.toByteArray();
    damaged[damaged.length / 2] ^= 1;

    assertThatThrownBy(() -> readAll(damaged, null)).isInstanceOf(ChecksumException.class);
    IFile.Reader<Text, Text> closedEarly = reader(damaged, null);
    assertThat(closedEarly.nextRawKey(new DataInputBuffer())).isTrue();
    assertThatThrownBy(closedEarly::close).isInstanceOf(ChecksumException.class);
  }

  @Test
  void aFinishedFileTakesNoMore() throws IOException {
    IFileOutputStream out = new BufferedIFileOutputStream(new Counted());
    out.finish();
    out.finish();
    assertThatThrownBy(() -> out.write(1)).isInstanceOf(IOException.class);
    assertThatThrownBy(() -> out.write(new byte[2], 0, 2)).isInstanceOf(IOException.class);
  }

  @Test
  void filesThatAreOpenAtTheSameTimeHaveBuffersOfTheirOwn() throws IOException {
    Counted first = new Counted();
    Counted second = new Counted();
    IFile.Writer<Text, Text> one = writer(new FSDataOutputStream(first, null), null);
    IFile.Writer<Text, Text> two = writer(new FSDataOutputStream(second, null), null);
    for (int i = 0; i < 1000; i++) {
      one.append(new Text("one"), new Text("1"));
      two.append(new Text("two"), new Text("22"));
    }
    one.close();
    two.close();
    assertThat(readAll(first.bytes.toByteArray(), null)).isEqualTo(1000);
    assertThat(readAll(second.bytes.toByteArray(), null)).isEqualTo(1000);
  }

  @Test
  void readsOfAnyLengthGiveTheSameBytes() throws IOException {
    byte[] data = new byte[3 * SIZE + 5];
    new Random(3).nextBytes(data);
    Random lengths = new Random(4);
    InputStream in = new IFileReadBuffer(new java.io.ByteArrayInputStream(data));
    byte[] back = new byte[data.length];
    int at = 0;
    while (at < back.length) {
      if (lengths.nextInt(4) == 0) {
        back[at++] = (byte) in.read();
        continue;
      }
      int n = in.read(back, at, Math.min(back.length - at, 1 + lengths.nextInt(2 * SIZE)));
      assertThat(n).isPositive();
      at += n;
    }
    assertThat(back).isEqualTo(data);
    assertThat(in.read()).isEqualTo(-1);
    assertThat(in.read(back, 0, 1)).isEqualTo(-1);
    assertThat(in.read(back, 0, 0)).isZero();
  }

  private static IFile.Writer<Text, Text> writer(FSDataOutputStream out, CompressionCodec codec) throws IOException {
    CONF.set("io.serializations", "org.apache.hadoop.io.serializer.WritableSerialization");
    return new IFile.Writer<>(CONF, out, Text.class, Text.class, codec, null);
  }

  private static void append(IFile.Writer<Text, Text> writer, int records) throws IOException {
    for (int i = 0; i < records; i++) {
      writer.append(new Text("key " + i), new Text("value " + i));
    }
  }

  private IFile.Reader<Text, Text> reader(byte[] bytes, CompressionCodec codec) throws IOException {
    java.nio.file.Path file = java.nio.file.Files.createTempFile(folder, "part", ".out");
    java.nio.file.Files.write(file, bytes);
    FileSystem raw = FileSystem.getLocal(CONF).getRaw();
    FSDataInputStream in = raw.open(new Path(file.toUri()));
    return new IFile.Reader<>(CONF, in, bytes.length, codec, null);
  }

  private int readAll(byte[] bytes, CompressionCodec codec) throws IOException {
    IFile.Reader<Text, Text> reader = reader(bytes, codec);
    DataInputBuffer key = new DataInputBuffer();
    DataInputBuffer value = new DataInputBuffer();
    int records = 0;
    while (reader.nextRawKey(key)) {
      reader.nextRawValue(value);
      records++;
    }
    reader.close();
    return records;
  }
}

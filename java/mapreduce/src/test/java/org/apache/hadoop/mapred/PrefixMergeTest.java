package org.apache.hadoop.mapred;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.RawComparator;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.RecordPages.Vints;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The order of merged records is that of the job's comparator, and of the inputs where keys are equal. */
class PrefixMergeTest {
  private static final int SEEDS = Boolean.getBoolean("howdah.test.slow") ? 500 : 20;
  private static final int LONG = 100_000;

  private static Writable key(Class<?> kind, Random random) {
    int number = random.nextInt(200) - 100;
    if (kind == IntWritable.class) {
      return new IntWritable(number);
    } else if (kind == LongWritable.class) {
      return new LongWritable((long) number << random.nextInt(50));
    } else if (kind == DoubleWritable.class) {
      return new DoubleWritable(number / 8.0);
    } else if (kind == BytesWritable.class) {
      return new BytesWritable(Arrays.copyOf(new byte[] {0, (byte) (number / 50)}, random.nextInt(12)));
    } else if (kind == NullWritable.class) {
      return NullWritable.get();
    }
    return new Text(String.join("", Collections.nCopies(random.nextInt(4), "http")) + number % 10);
  }

  private static byte[] bytes(Writable key) throws IOException {
    DataOutputBuffer buffer = new DataOutputBuffer();
    key.write(buffer);
    return Arrays.copyOf(buffer.getData(), buffer.getLength());
  }

  private static void put(ByteArrayOutputStream to, byte[] key, byte[] value) {
    byte[] lengths = new byte[10];
    int end = Vints.write(lengths, Vints.write(lengths, 0, key.length), value.length);
    to.write(lengths, 0, end);
    to.write(key, 0, key.length);
    to.write(value, 0, value.length);
  }

  /** Records in pieces of random sizes, with bytes behind them as a checksum has. */
  private static RecordInput input(byte[] records, Random random) {
    return new RecordInput(records.length) {
      private int at;

      @Override
      protected byte[] more() {
        int end = (int) Math.min(records.length, at + 1L + random.nextInt(1 << random.nextInt(12)));
        byte[] piece = Arrays.copyOfRange(records, at, end == records.length ? end + 4 : end);
        at = end;
        return piece;
      }

      @Override
      public void close() {
        assertThat(at).as("what was read").isEqualTo(records.length);
      }
    };
  }

  private static byte[] end(ByteArrayOutputStream records) {
    records.write(-1);
    records.write(-1);
    return records.toByteArray();
  }

  private static byte[] copy(DataInputBuffer from) {
    return Arrays.copyOfRange(from.getData(), from.getPosition(), from.getLength());
  }

  @ParameterizedTest
  @ValueSource(classes = {Text.class, BytesWritable.class, IntWritable.class, LongWritable.class, DoubleWritable.class,
      NullWritable.class})
  void recordsComeInOrder(Class<?> kind) throws IOException {
    JobConf job = new JobConf();
    job.setMapOutputKeyClass(kind);
    RawComparator<?> comparator = job.getOutputKeyComparator();
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      List<byte[][]> all = new ArrayList<>();
      List<MergeInput> inputs = new ArrayList<>();
      for (int i = random.nextInt(9); i >= 0; i--) {
        List<byte[][]> records = new ArrayList<>();
        for (int n = random.nextInt(3) == 0 ? 0 : random.nextInt(60); n > 0; n--) {
          byte[] value = new byte[random.nextInt(10) == 0 ? random.nextInt(20_000) : random.nextInt(30)];
          random.nextBytes(value);
          records.add(new byte[][] {bytes(key(kind, random)), value});
        }
        records.sort((one, two) -> comparator.compare(one[0], 0, one[0].length, two[0], 0, two[0].length));
        ByteArrayOutputStream part = new ByteArrayOutputStream();
        records.forEach(record -> put(part, record[0], record[1]));
        inputs.add(input(end(part), random));
        all.addAll(records);
      }
      all.sort((one, two) -> comparator.compare(one[0], 0, one[0].length, two[0], 0, two[0].length));
      PrefixMerge merge = new PrefixMerge(job, inputs, 1);
      assertThat(merge.comparesPrefixes()).isEqualTo(kind != DoubleWritable.class);
      for (byte[][] record : all) {
        assertThat(merge.next()).isTrue();
        assertThat(copy(merge.getKey())).as("seed %d", seed).isEqualTo(record[0]);
        assertThat(copy(merge.getValue())).as("seed %d", seed).isEqualTo(record[1]);
      }
      assertThat(merge.next()).isFalse();
      assertThat(merge.next()).isFalse();
      assertThat(merge.getProgress().get()).isEqualTo(1);
    }
  }

  /** Whatever becomes of the bytes, records end or an exception does. */
  @Test
  void damagedRecordsAreAnError() throws IOException {
    JobConf job = new JobConf();
    job.setMapOutputKeyClass(Text.class);
    int errors = 0;
    for (int seed = 0; seed < 500; seed++) {
      Random random = new Random(seed);
      ByteArrayOutputStream part = new ByteArrayOutputStream();
      for (int i = 0; i < 5; i++) {
        put(part, bytes(new Text("key" + i)), new byte[random.nextInt(200)]);
      }
      byte[] records = end(part);
      records[random.nextInt(records.length)] = (byte) random.nextInt();
      RecordInput input = input(records, random);
      try {
        for (int i = 0; input.next(); i++) {
          assertThat(i).isLessThan(records.length);
        }
      } catch (IOException e) {
        errors++;
      }
    }
    assertThat(errors).isPositive();
    RecordInput cut = input(new byte[] {1, 1, 7}, new Random(1));
    assertThatThrownBy(cut::next).isInstanceOf(IOException.class).hasMessageContaining("2 bytes where 1 are left");
    RecordInput longer = input(new byte[] {-1, -1, 0}, new Random(1));
    assertThatThrownBy(longer::next).isInstanceOf(IOException.class).hasMessageContaining("1 bytes behind");
  }

  /** A value that goes on over many pieces is read once its record is the least. */
  @Test
  void ofAnInputOnePieceIsHeldHoweverLongItsRecordsAre() throws IOException {
    JobConf job = new JobConf();
    job.setMapOutputKeyClass(Text.class);
    List<Pieces> inputs = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      ByteArrayOutputStream part = new ByteArrayOutputStream();
      put(part, bytes(new Text("key" + (char) ('a' + i))), new byte[LONG]);
      put(part, bytes(new Text("last")), new byte[LONG]);
      inputs.add(new Pieces(end(part)));
    }
    PrefixMerge merge = new PrefixMerge(job, inputs, 1);
    for (int i = 0; i < inputs.size(); i++) {
      assertThat(merge.next()).isTrue();
      assertThat(copy(merge.getValue())).isEqualTo(new byte[LONG]);
      long read = inputs.stream().skip(i + 1).mapToInt(Pieces::taken).max().orElse(1);
      assertThat(read).as("pieces of inputs whose record was not the least").isOne();
    }
    for (int i = 0; i < inputs.size(); i++) {
      assertThat(merge.next()).isTrue();
    }
    assertThat(merge.next()).isFalse();
  }

  /** Records in pieces of a hundredth of a long value. */
  private static final class Pieces extends RecordInput {
    private final byte[] records;
    private int taken;

    Pieces(byte[] records) {
      super(records.length);
      this.records = records;
    }

    int taken() {
      return taken;
    }

    @Override
    protected byte[] more() {
      int from = taken++ * LONG / 100;
      return Arrays.copyOfRange(records, from, Math.min(records.length, from + LONG / 100));
    }

    @Override
    public void close() {
    }
  }
}

package org.apache.hadoop.mapred;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.mapred.RecordPages.Vints;
import org.apache.hadoop.util.Progressable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records of any size come back whole and in order, and memory stays within the budget. */
class RecordPagesTest {
  private static final Progressable NO_PROGRESS = () -> { };
  private static final int PARTITIONS = 3;
  private static final KeyOrder ORDER = KeyOrder.of(LongWritable.Comparator.class);
  private static final RecordPages.Lender NONE = (held, more) -> false;

  private final List<byte[]> given = new ArrayList<>();
  private boolean sealing;
  private int taken;
  private int tooLarge;
  private RecordPages pages;

  /** The key is the record's number, so the order is that in which they came, within a partition. */
  private void take() {
    pages.sort(NO_PROGRESS);
    if (sealing) {
      pages.seal();
    }
    int last = -PARTITIONS;
    for (int i = 0; i < pages.count(); i++) {
      int reference = pages.reference(i);
      byte[] page = pages.page(reference);
      int at = pages.offset(reference);
      assertThat(Vints.read(page, at)).isEqualTo(Long.BYTES);
      int value = at + Vints.sizeAt(page, at);
      int key = value + Vints.sizeAt(page, value);
      int number = (int) WritableComparator.readLong(page, key);
      assertThat(number % PARTITIONS > last % PARTITIONS || number > last).isTrue();
      last = number;
      int start = key + Long.BYTES;
      byte[] record = Arrays.copyOfRange(page, start, start + Vints.read(page, value));
      assertThat(Arrays.equals(record, given.get(number))).as("record %d", number).isTrue();
      taken++;
    }
  }

  private void put(byte[] value, Random random) throws IOException {
    given.add(value);
    int number = given.size() - 1;
    pages.begin();
    pages.output().writeLong(number);
    int keyLength = pages.written();
    boolean byBytes = random.nextInt(50) == 0;
    for (int at = 0; at < value.length;) {
      int length = byBytes ? 1 : Math.min(value.length - at, 1 + random.nextInt(1 << 22));
      pages.output().write(value, at, length);
      at += length;
    }
    pages.finish(number % PARTITIONS, keyLength);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void recordsComeBackWholeWithinTheBudget(long seed) throws IOException {
    Random random = new Random(seed);
    long budget = (1L << 20 + random.nextInt(5)) + random.nextInt(1 << 20);
    sealing = random.nextBoolean();
    pages = new RecordPages(budget, NONE, PARTITIONS, ORDER, this::take);
    for (long bytes = 0; bytes < 3 * budget;) {
      byte[] value = new byte[random.nextInt(2 << random.nextInt(25))];
      random.nextBytes(value);
      try {
        put(value, random);
      } catch (RecordPages.TooLargeException e) {
        assertThat((long) value.length).as("it may have a quarter of the budget").isGreaterThan(budget / 4);
        tooLarge++;
      }
      assertThat(pages.memory()).as("memory").isLessThanOrEqualTo(budget);
      bytes += 50 + value.length;
    }
    take();
    assertThat(taken + tooLarge).isEqualTo(given.size());
    pages.release();
    assertThat(pages.memory()).isLessThan(1000);
  }

  @Test
  void theIndexOfSmallRecordsIsWithinTheBudget() throws IOException {
    Random random = new Random(1);
    int budget = 1 << 20;
    int[] spilled = new int[1];
    pages = new RecordPages(budget, NONE, PARTITIONS, ORDER, () -> {
      spilled[0]++;
      assertThat(pages.memory()).as("a spill begins when memory is used up").isGreaterThan(budget * 3 / 4);
      take();
    });
    for (int i = 0; i < 200_000; i++) {
      put(new byte[random.nextInt(4)], random);
      if (pages.memory() > budget) {
        fail("memory of %d after %d records", pages.memory(), i);
      }
    }
    take();
    assertThat(taken).isEqualTo(given.size());
    assertThat(spilled[0]).isBetween(5, 10);
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 1 << 13, 1 << 18})
  void whatIsLentIsUsedAndGivenBack(int most) throws IOException {
    Random random = new Random(most);
    long budget = 2 << 20;
    long lent = 3 * budget;
    boolean[] lending = {true};
    List<Long> spills = new ArrayList<>();
    RecordPages.Lender lender = (held, more) -> {
      assertThat(held).as("memory").isLessThanOrEqualTo(pages.budget());
      return lending[0] && held + more <= lent;
    };
    pages = new RecordPages(budget, lender, PARTITIONS, ORDER, () -> {
      spills.add(pages.memory());
      take();
    });
    long end = 4 * lent;
    for (long bytes = 0; bytes < end;) {
      byte[] value = new byte[random.nextInt(most)];
      random.nextBytes(value);
      lending[0] = bytes < end / 2;
      put(value, random);
      assertThat(pages.memory()).as("memory").isLessThanOrEqualTo(pages.budget()).isLessThanOrEqualTo(lent);
      bytes += 50 + value.length;
    }
    take();
    assertThat(taken).isEqualTo(given.size());
    assertThat(spills.get(0)).as("the first spill").isGreaterThan(lent / 2);
    assertThat(spills.get(spills.size() - 1)).as("the last spill").isLessThanOrEqualTo(budget);
    assertThat(pages.budget()).isEqualTo(budget);
  }

  @Test
  void sealedRecordsTakeLessAndAreTheSame() throws IOException {
    pages = new RecordPages(1 << 20, NONE, PARTITIONS, ORDER, () -> fail("there is room"));
    Random random = new Random(1);
    for (int i = 0; i < 1000; i++) {
      put(new byte[10], random);
    }
    take();
    long before = pages.memory();
    sealing = true;
    take();
    assertThat(pages.memory()).isLessThan(before - 1000 * Long.BYTES);
    pages.clear();
    given.clear();
    put(new byte[10], random);
    take();
    assertThat(taken).isEqualTo(2001);
  }
}

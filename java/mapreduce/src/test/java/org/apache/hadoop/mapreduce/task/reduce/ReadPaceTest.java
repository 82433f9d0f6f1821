package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ReadPaceTest {
  private final ReadPace pace = new ReadPace(1000);

  /** As many reads as an interval has. @return whether the last one says that they become slower */
  private boolean interval(long bytes, long nanos) {
    for (int i = 1; i < ReadPace.READS; i++) {
      assertThat(pace.isSlowing(bytes, nanos)).as("in an interval").isFalse();
    }
    return pace.isSlowing(bytes, nanos);
  }

  @Test
  void threeRisesInARowAreTold() {
    assertThat(interval(1000, 1000)).isFalse();
    assertThat(interval(1000, 2000)).isFalse();
    assertThat(interval(1000, 3000)).isFalse();
    assertThat(interval(1000, 4000)).isTrue();
  }

  @Test
  void aFallOrAnEqualMeanBeginsAnew() {
    for (long nanos : new long[] {1000, 2000, 3000, 2900, 4000, 5000, 5100, 6000, 7000}) {
      assertThat(interval(1000, nanos)).as("%d ns", nanos).isFalse();
    }
    assertThat(interval(1000, 8000)).isTrue();
  }

  @Test
  void readsOfAnotherSizeAreNotSlowerForThat() {
    assertThat(interval(1000, 1000)).isFalse();
    assertThat(interval(2000, 2000)).isFalse();
    assertThat(interval(4000, 4000)).isFalse();
    assertThat(interval(8000, 8000)).isFalse();
  }

  @Test
  void smallReadsCountByTheirBytes() {
    for (int rise = 1; rise <= 4; rise++) {
      for (int i = 1; i < 10 * ReadPace.READS; i++) {
        assertThat(pace.isSlowing(100, 100 * rise)).isFalse();
      }
      assertThat(pace.isSlowing(100, 100 * rise)).isEqualTo(rise == 4);
    }
  }

  @Test
  void readsOfNothingDoNoHarm() {
    for (int i = 0; i < 10; i++) {
      assertThat(interval(0, 0)).isFalse();
    }
  }
}

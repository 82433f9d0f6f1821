package io.howdah.bench.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class HistogramTest {
  @Test
  void everyValueIsInASlotThatBeginsCloselyBelowIt() {
    Random random = new Random(1);
    for (int i = 0; i < 100000; i++) {
      long value = random.nextLong() >>> (1 + random.nextInt(62));
      long floor = Histogram.floor(Histogram.slot(value));
      assertThat(floor).isLessThanOrEqualTo(value).isGreaterThanOrEqualTo(value - value / 32);
    }
    assertThat(Histogram.slot(Long.MAX_VALUE)).isGreaterThan(Histogram.slot(Long.MAX_VALUE / 2));
    assertThat(Histogram.slot(-5)).isZero();
  }

  @Test
  void percentilesAreOfAllPartsTogether() {
    Histogram fast = new Histogram();
    Histogram slow = new Histogram();
    for (int i = 0; i < 99; i++) {
      fast.add(16);
    }
    slow.add(32000);
    Map<String, Number> summary = Histogram.summary(Arrays.asList(fast, slow));
    assertThat(summary.get("count")).isEqualTo(100L);
    assertThat(summary.get("p50")).isEqualTo(0.016);
    assertThat(summary.get("p99")).isEqualTo(0.016);
    assertThat(summary.get("max").doubleValue()).isBetween(31.0, 32.0);
    slow.clear();
    assertThat(Histogram.summary(Arrays.asList(fast, slow)).get("max")).isEqualTo(0.016);
  }

  @Test
  void nothingMeasuredHasNoPercentiles() {
    assertThat(Histogram.summary(Arrays.asList(new Histogram()))).containsOnlyKeys("count");
  }
}

package io.howdah.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayDeque;
import java.util.Queue;
import org.junit.jupiter.api.Test;

class UndisturbedTest {
  private final Queue<Integer> shares = new ArrayDeque<>();
  private long stolen;
  private long all;
  private int runs;

  /** Measurements that take 100 ticks each, of which these many are stolen, one after the other. */
  private Undisturbed disturbedBy(int budget, int... percents) {
    for (int percent : percents) {
      shares.add(percent);
    }
    return new Undisturbed(budget, () -> new ProcessorTicks(stolen, all), 0);
  }

  private Integer measure() {
    stolen += shares.remove();
    all += 100;
    return ++runs;
  }

  @Test
  void aQuietMeasurementIsMadeOnce() throws InterruptedException {
    Undisturbed quiet = disturbedBy(10, 1);
    assertThat(quiet.measure(this::measure)).isEqualTo(1);
    assertThat(quiet.again()).isZero();
    assertThat(quiet.disturbed()).isZero();
    assertThat(quiet.stolen()).isEqualTo(1, within(1e-9));
  }

  @Test
  void aDisturbedOneIsMadeAgainUntilItIsQuiet() throws InterruptedException {
    Undisturbed quiet = disturbedBy(10, 60, 2, 1);
    assertThat(quiet.measure(this::measure)).isEqualTo(3);
    assertThat(quiet.again()).isEqualTo(2);
    assertThat(quiet.disturbed()).isZero();
  }

  @Test
  void theLeastDisturbedIsKeptWhereNoneIsQuiet() throws InterruptedException {
    Undisturbed quiet = disturbedBy(10, 60, 50, 20, 30, 90);
    assertThat(quiet.measure(this::measure)).isEqualTo(3);
    assertThat(quiet.again()).isEqualTo(Undisturbed.MOST_AGAIN);
    assertThat(quiet.disturbed()).isEqualTo(1);
    assertThat(quiet.stolen()).isEqualTo(20, within(1e-9));
  }

  @Test
  void aMachineThatIsNeverQuietEndsTheRunAllTheSame() throws InterruptedException {
    Undisturbed quiet = disturbedBy(1, 50, 40, 30);
    assertThat(quiet.measure(this::measure)).isEqualTo(2);
    assertThat(quiet.measure(this::measure)).isEqualTo(3);
    assertThat(quiet.again()).isEqualTo(1);
    assertThat(quiet.disturbed()).isEqualTo(2);
  }

  @Test
  void ticksAreThoseOfTheKernelsFirstLine() {
    ProcessorTicks before = ProcessorTicks.parse("cpu  100 0 50 800 10 0 20 20 7 0");
    ProcessorTicks after = ProcessorTicks.parse("cpu  150 0 50 820 10 0 20 50 9 0");
    assertThat(after.stolenSince(before)).isEqualTo(30, within(1e-9));
    assertThat(before.stolenSince(before)).isZero();
    assertThat(ProcessorTicks.parse("cpu  100 0 50 800").stolenSince(ProcessorTicks.parse("cpu  0 0 0 0"))).isZero();
  }

  @Test
  void thisMachineHasTicks() {
    assertThat(ProcessorTicks.now().stolenSince(new ProcessorTicks(0, 0))).isBetween(0.0, 100.0);
  }
}

package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ArrivalCreditsTest {
  private final ArrivalCredits credits = new ArrivalCredits(100);
  private final List<String> granted = new ArrayList<>();

  @Test
  void whoWaitsIsGrantedInTurnAndNotOvertaken() {
    assertThat(credits.take(60, bytes -> granted.add("a"))).isTrue();
    assertThat(credits.take(50, bytes -> granted.add("b"))).isFalse();
    assertThat(credits.take(10, bytes -> granted.add("c"))).isFalse(); // it would fit, but b was first
    credits.give(10);
    assertThat(granted).containsExactly("b");
    credits.give(50);
    assertThat(granted).containsExactly("b", "c");
    assertThat(credits.out()).isEqualTo(60);
  }

  @Test
  void oneThatIsLargerThanAllIsGrantedAlone() {
    assertThat(credits.take(1, bytes -> granted.add("a"))).isTrue();
    assertThat(credits.take(500, bytes -> granted.add("b"))).isFalse();
    credits.give(1);
    assertThat(granted).containsExactly("b");
    assertThat(credits.take(1, bytes -> granted.add("c"))).isFalse();
  }

  /** A waiter that fails at once and asks again: however often, the stack does not grow. */
  @Test
  void waitersThatGiveBackAtOnceDoNotRecurse() {
    assertThat(credits.take(100, bytes -> { })).isTrue();
    int[] left = {100_000};
    ArrivalCredits.Waiter[] waiter = new ArrivalCredits.Waiter[1];
    waiter[0] = bytes -> {
      credits.take(100, waiter[0]);
      if (--left[0] > 0) {
        credits.give(bytes);
      }
    };
    credits.take(100, waiter[0]);
    credits.give(100);
    assertThat(left[0]).isZero();
    assertThat(credits.out()).isEqualTo(100);
  }
}

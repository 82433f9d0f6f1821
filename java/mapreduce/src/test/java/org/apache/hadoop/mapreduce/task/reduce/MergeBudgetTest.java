package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.mapreduce.task.reduce.MergeBudget.Account;
import org.junit.jupiter.api.Test;

/** No more memory is granted than there is, and every stream gets a window. */
class MergeBudgetTest {
  private static final int KIB = 1 << 10;
  private static final int PACKET = 512 * KIB;

  @Test
  void theWeightFallsByHalfWithEach16thAboveHalf() {
    MergeBudget budget = new MergeBudget(160 * KIB, 4, PACKET);
    assertThat(budget.weight()).isEqualTo(1);
    budget.hold(79 * KIB);
    assertThat(budget.weight()).isEqualTo(1);
    budget.hold(11 * KIB);
    assertThat(budget.weight()).isEqualTo(0.5);
    budget.hold(10 * KIB);
    assertThat(budget.weight()).isEqualTo(0.25);
    budget.free(100 * KIB);
    assertThat(budget.weight()).isEqualTo(1);
    assertThat(budget.peak()).isEqualTo(100 * KIB);
  }

  @Test
  void firstWindowsShrinkAsMemoryFills() {
    MergeBudget budget = new MergeBudget(64 << 20, 10, PACKET);
    long first = budget.bytes(budget.open(8 << 20));
    assertThat(first).isEqualTo(8 << 20);
    budget.hold(27 << 20);
    long later = budget.bytes(budget.open(8 << 20));
    assertThat(later).isLessThan(first).isGreaterThanOrEqualTo(PACKET);
    assertThat(later % PACKET).isZero();
  }

  @Test
  void streamsAboveTheMostAreRefused() {
    MergeBudget budget = new MergeBudget(1 << 20, 1000, PACKET);
    List<Account> accounts = new ArrayList<>();
    for (Account account = budget.open(1 << 20); account != null; account = budget.open(1 << 20)) {
      accounts.add(account);
      assertThat(budget.bytes(account)).isGreaterThanOrEqualTo(MergeBudget.WINDOW_LEAST);
    }
    assertThat(accounts).hasSizeBetween(5, 32);
    assertThat(budget.used()).isLessThanOrEqualTo(1 << 20);
    accounts.forEach(budget::close);
    accounts.forEach(budget::close);
    assertThat(budget.used()).isZero();
    assertThat(budget.open(100)).isNotNull();
  }

  @Test
  void neverMoreThanThereIsAndNeverNothing() {
    for (int seed = 0; seed < 200; seed++) {
      Random random = new Random(seed);
      long all = 256 * KIB + random.nextInt(32 << 20);
      MergeBudget budget = new MergeBudget(all, 1 + random.nextInt(60), PACKET);
      List<Account> accounts = new ArrayList<>();
      long held = 0;
      boolean met = false;
      for (int i = 0; i < 300; i++) {
        int what = random.nextInt(10);
        long size = 1 + random.nextInt(1 << random.nextInt(24));
        Account some = accounts.isEmpty() ? null : accounts.get(random.nextInt(accounts.size()));
        if (what == 0 && !met && budget.hasRoom(size)) {
          budget.hold(size);
          held += size;
        } else if (what < 4) {
          Account opened = budget.open(size);
          if (opened != null) {
            accounts.add(opened);
          }
        } else if (what == 4 && i > 150) {
          budget.allMet();
          met = true;
        } else if (some != null && what < 8) {
          boolean empty = budget.bytes(some) == 0;
          long granted = budget.grant(some, size);
          assertThat(granted).isBetween(empty ? Math.min(size, MergeBudget.WINDOW_LEAST) : 0, size);
        } else if (some != null) {
          budget.release(some, random.nextBoolean() ? budget.bytes(some) : budget.bytes(some) / 2);
        }
        assertThat(budget.used()).as("seed %d", seed).isLessThanOrEqualTo(all);
      }
      accounts.forEach(budget::close);
      assertThat(budget.used()).isEqualTo(held);
    }
  }
}

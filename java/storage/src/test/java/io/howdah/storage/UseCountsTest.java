package io.howdah.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.junit.jupiter.api.Test;

/** Weights that halve. */
class UseCountsTest {
  private static final ExtendedBlockId A = new ExtendedBlockId(1, "pool");
  private static final ExtendedBlockId B = new ExtendedBlockId(1, "another");
  private final UseCounts uses = new UseCounts(1000);

  @Test
  void readsHalveInWeight() {
    assertThat(uses.weight(A, 0)).isZero();
    assertThat(uses.read(A, 0)).isEqualTo(1);
    assertThat(uses.weight(A, 1000)).isEqualTo(0.5, within(1e-9));
    assertThat(uses.read(A, 1000)).isEqualTo(2);
    assertThat(uses.weight(A, 1000)).isEqualTo(1.5, within(1e-9));
    assertThat(uses.weight(B, 1000)).isZero();
  }

  @Test
  void readsAreCountedWithinAHalfLife() {
    uses.written(A, 0);
    assertThat(uses.read(A, 10)).isEqualTo(1);
    assertThat(uses.read(A, 500)).isEqualTo(2);
    assertThat(uses.read(A, 1011)).isEqualTo(1);
    assertThat(uses.read(A, 1012)).isEqualTo(2);
  }

  @Test
  void whatIsColdIsForgotten() {
    uses.read(A, 0);
    uses.read(B, 20_000);
    uses.prune(20_000);
    assertThat(uses.size()).isEqualTo(1);
    uses.forget(B);
    assertThat(uses.size()).isZero();
  }
}

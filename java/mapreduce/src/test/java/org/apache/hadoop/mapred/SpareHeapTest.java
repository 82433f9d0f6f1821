package org.apache.hadoop.mapred;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.hadoop.mapreduce.MRJobConfig;
import org.junit.jupiter.api.Test;

/** Map output takes no more of the heap than the heap and the container have room for. */
class SpareHeapTest {
  private static final long MUCH = 1L << 50;
  private static final int HELD = 1 << 20;

  @Test
  void roomEndsAtTheLimit() {
    SpareHeap heap = new SpareHeap(MUCH);
    assertThat(heap.hasRoom(HELD, 1)).isTrue();
    assertThat(heap.hasRoom(HELD, MUCH)).isFalse();
    assertThat(heap.hasRoom(HELD, 0)).as("what is held may be kept").isTrue();
  }

  @Test
  void outputThatMayBeInTheEdenSpaceCounts() {
    assertThat(new SpareHeap(HELD / 2).hasRoom(HELD, 0)).isFalse();
  }

  @Test
  void aContainerThatIsSmallerThanTheHeapIsTheLimit() {
    JobConf job = new JobConf(false);
    job.setInt(MRJobConfig.MAP_MEMORY_MB, 1);
    assertThat(new SpareHeap(job).hasRoom(HELD, 0)).isFalse();
  }
}

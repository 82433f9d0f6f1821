package org.apache.hadoop.hdfs;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PacketGrowthTest {
  private static final int SIZE = 65_536;

  @Test
  void packetsUnderWayHoldNoMoreMemoryHoweverLargeTheyAre() {
    assertThat(PacketGrowth.most(80, SIZE, 0)).as("the last one of a block").isEqualTo(80);
    assertThat(PacketGrowth.most(80, SIZE, SIZE)).isEqualTo(80);
    assertThat(PacketGrowth.most(80, SIZE, 8 * SIZE)).isEqualTo(10);
    assertThat(PacketGrowth.most(Integer.MAX_VALUE, SIZE, 2 * SIZE)).isEqualTo(Integer.MAX_VALUE / 2);
  }

  @Test
  void aFewMayAlwaysBeUnderWayButNoMoreThanConfigured() {
    assertThat(PacketGrowth.most(80, SIZE, 128 * SIZE)).isEqualTo(4);
    assertThat(PacketGrowth.most(2, SIZE, 8 * SIZE)).isEqualTo(2);
  }
}

package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SizesTest {
  @Test
  void unitsArePowersOf1024() {
    assertThat(Sizes.parse("--size", "17")).isEqualTo(17);
    assertThat(Sizes.parse("--size", "2k")).isEqualTo(2048);
    assertThat(Sizes.parse("--size", "3M")).isEqualTo(3L << 20);
    assertThat(Sizes.parse("--size", "1gb")).isEqualTo(1L << 30);
    assertThat(Sizes.parse("--size", "4t")).isEqualTo(4L << 40);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "-1", "1.5g", "x", "1q", "99999999999999", "999999999999t"})
  void whatIsNoSizeIsRefusedByOption(String text) {
    assertThatThrownBy(() -> Sizes.parse("--size", text)).isInstanceOf(ClusterException.class)
        .hasMessageContaining("--size " + text);
  }

  @Test
  void sizesAreShort() {
    assertThat(Sizes.format(900)).isEqualTo("900 B");
    assertThat(Sizes.format(1 << 20)).isEqualTo("1.0 MB");
    assertThat(Sizes.format(17L << 30)).isEqualTo("17 GB");
  }
}

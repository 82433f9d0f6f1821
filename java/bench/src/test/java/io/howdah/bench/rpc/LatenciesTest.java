package io.howdah.bench.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class LatenciesTest {
  private static Latencies of(long... nanos) {
    Latencies latencies = new Latencies(nanos.length + 3); // not full: what was not measured must not count
    for (long value : nanos) {
      latencies.add(value);
    }
    return latencies;
  }

  @Test
  void meanIsInMicroseconds() {
    assertThat(of(1000, 2000, 6000).mean()).isEqualTo(3.0);
  }

  @Test
  void percentileIsAMeasuredValue() {
    Latencies latencies = of(4000, 1000, 3000, 2000);
    assertThat(latencies.percentile(0.5)).isEqualTo(2.0);
    assertThat(latencies.percentile(0.99)).isEqualTo(4.0);
    assertThat(latencies.percentile(0)).isEqualTo(1.0);
  }
}

package io.howdah.upgrade;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Refusals expire and are bounded. */
class PeerCacheTest {
  @Test
  void refusalsExpire() throws Exception {
    PeerCache cache = new PeerCache();
    cache.refuse("a:1", 60_000);
    cache.refuse("b:1", 1);
    cache.refuse("c:1", 0);
    assertThat(cache.isRefused("a:1")).isTrue();
    assertThat(cache.isRefused("c:1")).isFalse();
    Thread.sleep(5);
    assertThat(cache.isRefused("b:1")).isFalse();
    cache.clear();
    assertThat(cache.isRefused("a:1")).isFalse();
  }

  @Test
  void theirNumberIsBounded() {
    PeerCache cache = new PeerCache();
    for (int i = 0; i < 20_001; i++) {
      cache.refuse("peer:" + i, 60_000);
    }
    assertThat(cache.isRefused("peer:0")).isFalse();
    assertThat(cache.isRefused("peer:20000")).isTrue();
  }
}

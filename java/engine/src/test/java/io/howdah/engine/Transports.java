package io.howdah.engine;

import java.util.stream.Stream;

/**
 * What the tests run over: self and shm, which every machine has, or what howdah.test.transport names. The tests are
 * the same for all.
 */
final class Transports {
  /** The one between two engines. */
  static final String LINKED = System.getProperty("howdah.test.transport", "shm");

  private Transports() {
  }

  /** For tests that are told their transport. */
  static Stream<String> all() {
    return "shm".equals(LINKED) ? Stream.of("self", LINKED) : Stream.of(LINKED);
  }
}

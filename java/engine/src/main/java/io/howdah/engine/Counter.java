package io.howdah.engine;

/** Counters that programs ask for; docs/design/engine.md and native/src/stats/counters.def have them all. */
public enum Counter {
  LINKS_NOW("links.now"),
  LINKS_OPENED("links.opened"),
  LINKS_SHARED("links.shared"),
  LINKS_ENDED("links.ended"),
  LINKS_FAILED("links.failed"),
  FALLBACKS("fallbacks"),
  FALLBACKS_FOREIGN("fallbacks.foreign"),
  STREAMS_NOW("streams.now"),
  STREAMS_OPENED("streams.opened"),
  BYTES_SENT("bytes.sent"),
  BYTES_RECEIVED("bytes.received"),
  MESSAGES_EAGER("messages.eager"),
  MESSAGES_ZERO_COPY("messages.zero.copy"),
  MESSAGES_READ("messages.read"),
  MESSAGES_WRITE("messages.write"),
  MESSAGES_COPY("messages.copy"),
  STALLS_CREDITS("stalls.credits"),
  STALLS_WINDOW("stalls.window"),
  STALLS_MEMORY("stalls.memory"),
  FETCHES("fetches"),
  FETCHES_FAILED("fetches.failed"),
  FETCHES_SERVED("fetches.served"),
  PROTOCOL_ERRORS("protocol.errors"),
  MEMORY_PINNED("memory.pinned.now"),
  MEMORY_USED("memory.used.now"),
  MEMORY_REFUSED("memory.refused"),
  WAKEUPS("wakeups"),
  WAKEUPS_LOST("wakeups.lost");

  private final String key;

  Counter(String key) {
    this.key = key;
  }

  /** The engine's name for it. */
  public String key() {
    return key;
  }
}

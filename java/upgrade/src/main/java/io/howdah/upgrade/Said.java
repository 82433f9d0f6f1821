package io.howdah.upgrade;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** What was said of each peer, so that it is said once. Bounded. Thread-safe. */
final class Said {
  private static final int MOST = 10_000;

  private final Map<String, String> last = new ConcurrentHashMap<>();

  /** Whether this is news of that subject. */
  boolean isNews(String about, String text) {
    if (last.size() >= MOST) {
      last.clear();
    }
    return !text.equals(last.put(about, text));
  }
}

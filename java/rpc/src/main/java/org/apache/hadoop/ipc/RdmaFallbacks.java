package org.apache.hadoop.ipc;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;

/**
 * Peers that have not taken our greeting, and what was said of each. Thread-safe.
 *
 * @param <P> what names a peer
 */
public final class RdmaFallbacks<P> {
  private static final int PEERS_REMEMBERED = 10_000;

  private final Logger log;
  /** Until when (nanoTime) a peer is not asked. */
  private final Map<P, Long> plain = new ConcurrentHashMap<>();
  private final Map<P, String> said = new ConcurrentHashMap<>();

  /** None yet; what is said goes to this log. */
  public RdmaFallbacks(Logger log) {
    this.log = log;
  }

  /** Whether this peer is known not to take our greeting. */
  public boolean isPlain(P peer) {
    Long until = plain.get(peer);
    if (until == null) {
      return false;
    }
    if (System.nanoTime() - until < 0) {
      return true;
    }
    plain.remove(peer, until);
    return false;
  }

  /** A peer is to be left in peace for so many milliseconds. */
  public void remember(P peer, long millis) {
    if (plain.size() >= PEERS_REMEMBERED) {
      plain.clear();
    }
    plain.put(peer, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** Every peer is asked again. */
  public void forget() {
    plain.clear();
  }

  /** Logs a fallback, once for each peer and cause. */
  public void sayOnce(P peer, String text) {
    if (said.size() >= PEERS_REMEMBERED) {
      said.clear();
    }
    if (!text.equals(said.put(peer, text))) {
      log.warn(text);
    }
  }
}

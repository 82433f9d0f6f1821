package io.howdah.upgrade;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * The peers of this process that refused the engine, by "address:port". One cache for all components; an entry
 * expires after the time that the component gave. Bounded. Thread-safe.
 */
public final class PeerCache {
  private static final int MOST = 10_000;
  private static final PeerCache OURS = new PeerCache();

  /** Until when (nanoTime) a peer is not asked. */
  private final Map<String, Long> refused = new ConcurrentHashMap<>();

  PeerCache() {
  }

  /** The process's. */
  public static PeerCache ofThisProcess() {
    return OURS;
  }

  /** Whether this peer refused and is not to be asked yet. */
  public boolean isRefused(String address) {
    Long until = refused.get(address);
    if (until == null) {
      return false;
    }
    if (System.nanoTime() - until < 0) {
      return true;
    }
    refused.remove(address, until);
    return false;
  }

  /** A peer refused: it is not asked again for so many milliseconds. */
  public void refuse(String address, long millis) {
    if (millis <= 0) {
      return;
    }
    if (refused.size() >= MOST) {
      refused.values().removeIf(until -> System.nanoTime() - until >= 0);
    }
    if (refused.size() >= MOST) {
      refused.clear();
    }
    refused.put(address, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis));
  }

  /** Every peer is asked again. */
  public void clear() {
    refused.clear();
  }
}

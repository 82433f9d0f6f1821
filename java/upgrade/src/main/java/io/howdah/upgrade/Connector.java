package io.howdah.upgrade;

import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The client side of an upgrade. Each connection that a host wants to a server is an {@link Attempt}. Thread-safe. */
public final class Connector {
  private static final int MOST = 10_000;
  /** What servers said as they were greeted last, by component and address: found again by a link that still lives. */
  private static final Map<String, Known> KNOWN = new ConcurrentHashMap<>();

  private final Upgrade upgrade;

  /** What is known of a server since it was greeted. Immutable. */
  static final class Known {
    /** Our address towards it. */
    final InetSocketAddress local;
    /** The service that it named. */
    final String service;

    Known(InetSocketAddress local, String service) {
      this.local = local;
      this.service = service;
    }
  }

  Connector(Upgrade upgrade) {
    this.upgrade = upgrade;
  }

  Upgrade upgrade() {
    return upgrade;
  }

  /** A connection to a server is wanted. */
  public Attempt attempt(InetSocketAddress server) {
    return new Attempt(this, server);
  }

  /** Whether a server is known to refuse the engine, so that a connection made now uses a socket. */
  public boolean isRefused(InetSocketAddress server) {
    return !upgrade.isRequired() && !server.isUnresolved() && PeerCache.ofThisProcess().isRefused(address(server));
  }

  /** How a server is called in the caches and to the engine: "address:port". */
  static String address(InetSocketAddress server) {
    return server.getAddress().getHostAddress() + ":" + server.getPort();
  }

  private String key(String address) {
    return upgrade.component().id() + " " + address;
  }

  Known known(String address) {
    return KNOWN.get(key(address));
  }

  void learn(String address, Known known) {
    if (KNOWN.size() >= MOST) {
      KNOWN.clear();
    }
    KNOWN.put(key(address), known);
  }

  void forget(String address, Known known) {
    KNOWN.remove(key(address), known);
  }
}

package io.howdah.cluster;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The ports of one cluster: asked for, recorded by an earlier start, or free ones chosen now. A port once chosen is
 * kept, so that addresses stay what they were when a cluster is started again. Not thread-safe.
 */
final class Ports {
  /** Below the range that Linux takes client ports from, so that no client of ours sits on a daemon's port later. */
  private static final int FIRST = 20000;
  private static final int LAST = 31999;

  private final Map<String, Integer> assigned = new TreeMap<>();
  private final Random random = new Random();

  /** Ports of an earlier start, by name such as "datanode-2.http". */
  Ports(Map<String, Integer> recorded) {
    assigned.putAll(recorded);
  }

  /**
   * Gives every port of these daemons a number.
   *
   * @param daemons of the cluster
   * @param asked by kind; daemon N of a kind gets the number plus N-1
   */
  void assign(Collection<DaemonId> daemons, Map<PortKind, Integer> asked) {
    Map<String, Integer> wanted = new HashMap<>();
    for (DaemonId id : daemons) {
      for (PortKind kind : PortKind.of(id.kind())) {
        if (asked.containsKey(kind)) {
          wanted.put(kind.of(id), checkRange(kind, asked.get(kind) + id.number() - 1));
        }
      }
    }
    assigned.putAll(wanted);
    checkDistinct();
    for (DaemonId id : daemons) {
      for (PortKind kind : PortKind.of(id.kind())) {
        assigned.computeIfAbsent(kind.of(id), name -> free(new TreeSet<>(assigned.values())));
      }
    }
  }

  private static int checkRange(PortKind kind, int port) {
    if (port < 1 || port > 65535) {
      throw new ClusterException("--port " + kind.label() + ": " + port + " is not a port", "use 1 to 65535");
    }
    return port;
  }

  private void checkDistinct() {
    Map<Integer, String> names = new HashMap<>();
    assigned.forEach((name, port) -> {
      String other = names.put(port, name);
      if (other != null) {
        throw new ClusterException("port " + port + " is asked for twice: " + other + " and " + name,
            "give one of them another number with --port");
      }
    });
  }

  private int free(Set<Integer> taken) {
    for (int attempt = 0; attempt < 2000; attempt++) {
      int port = FIRST + random.nextInt(LAST - FIRST + 1);
      if (!taken.contains(port) && isFree(port)) {
        return port;
      }
    }
    throw new ClusterException("no free port was found between " + FIRST + " and " + LAST,
        "name ports yourself with --port KIND=N");
  }

  /** Fails if something listens on a port of this daemon, which is about to start. */
  void checkFree(DaemonId id) {
    for (PortKind kind : PortKind.of(id.kind())) {
      int port = get(kind, id);
      if (!isFree(port)) {
        throw new ClusterException("port " + port + " of " + kind.of(id) + " is in use by " + PortHolder.describe(port),
            "stop that process, or choose another port: --port " + kind.label() + "=N");
      }
    }
  }

  /** Whether a daemon could listen on the port on any address. */
  static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket()) {
      // As Hadoop's listeners do: a connection of an earlier daemon that lingers is no obstacle.
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(port));
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  int get(PortKind kind, DaemonId id) {
    return assigned.get(kind.of(id));
  }

  /** The only daemon of a kind: its port. */
  int get(PortKind kind) {
    return get(kind, DaemonId.of(kind.daemon()));
  }

  /** All, by name, for the record. */
  Map<String, Integer> asMap() {
    return new TreeMap<>(assigned);
  }
}

package io.howdah.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/** Stops daemons by their pid records: asks, waits, and only then kills, saying so. */
final class Stopper {
  private static final long PATIENCE_S = 20;

  private final ClusterDir dir;
  private final Progress progress;

  Stopper(ClusterDir dir, Progress progress) {
    this.dir = dir;
    this.progress = progress;
  }

  /**
   * Stops these daemons, and whatever the cluster has left behind. NodeManagers go first: they sign off at the
   * ResourceManager, and what they run writes to HDFS.
   *
   * @return how many were running
   */
  int stop(Collection<DaemonId> daemons, String clusterId, boolean leftovers) {
    List<DaemonId> first = new ArrayList<>();
    List<DaemonId> rest = new ArrayList<>();
    for (DaemonId id : daemons) {
      boolean client = id.kind() == DaemonKind.NODEMANAGER || id.kind() == DaemonKind.HISTORYSERVER;
      (client ? first : rest).add(id);
    }
    int stopped = stopTogether(first);
    if (leftovers) {
      // Containers outlive a NodeManager that was killed.
      killLeftovers(clusterId, pids(rest));
    }
    stopped += stopTogether(rest);
    return stopped;
  }

  private Map<Long, DaemonId> pids(List<DaemonId> daemons) {
    Map<Long, DaemonId> pids = new LinkedHashMap<>();
    for (DaemonId id : daemons) {
      PidRecord.read(dir.pid(id)).ifPresent(record -> pids.put(record.pid(), id));
    }
    return pids;
  }

  private int stopTogether(List<DaemonId> daemons) {
    Map<DaemonId, PidRecord> running = new LinkedHashMap<>();
    for (DaemonId id : daemons) {
      PidRecord.read(dir.pid(id)).filter(PidRecord::isAlive).ifPresent(record -> running.put(id, record));
    }
    running.values().forEach(record -> record.signal("TERM"));
    Map<DaemonId, PidRecord> left = awaitEnd(running);
    left.forEach((id, record) -> {
      progress.say("%s (pid %d) did not stop within %d s: killing it", id, record.pid(), PATIENCE_S);
      record.signal("KILL");
    });
    awaitEnd(left).forEach((id, record) -> {
      throw new ClusterException(id + " (pid " + record.pid() + ") can't be killed",
          "it may belong to another user, or hang in the kernel");
    });
    for (DaemonId id : daemons) {
      try {
        Files.deleteIfExists(dir.pid(id));
      } catch (IOException e) {
        throw new ClusterException("the pid record " + dir.pid(id) + " can't be removed: " + e.getMessage());
      }
    }
    return running.size();
  }

  private static Map<DaemonId, PidRecord> awaitEnd(Map<DaemonId, PidRecord> running) {
    Map<DaemonId, PidRecord> left = new LinkedHashMap<>(running);
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
    while (System.nanoTime() < deadline) {
      left.values().removeIf(record -> !record.isAlive());
      if (left.isEmpty()) {
        break;
      }
      pause();
    }
    return left;
  }

  private static void pause() {
    try {
      Thread.sleep(50);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted");
    }
  }

  private void killLeftovers(String clusterId, Map<Long, DaemonId> except) {
    List<PidRecord> left = Leftovers.of(clusterId).stream()
        .filter(record -> !except.containsKey(record.pid())).collect(Collectors.toList());
    if (!left.isEmpty()) {
      progress.say("killing %d processes of containers that were left: %s", left.size(),
          left.stream().map(record -> Long.toString(record.pid())).collect(Collectors.joining(" ")));
      left.forEach(record -> record.signal("KILL"));
    }
  }
}

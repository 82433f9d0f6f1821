package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.shared.Doubts;
import io.howdah.storage.shared.Members;
import io.howdah.storage.shared.SharedBlock;
import io.howdah.storage.shared.SharedFolder;
import io.howdah.storage.shared.SharedListReader;
import io.howdah.storage.shared.SharedSettings;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.util.Time;

/**
 * What this DataNode serves of other ones' copies on the shared path, read-only: those of the DataNodes that
 * {@link Members} says, by their lists. One thread, which waits for the shared path as long as that takes.
 */
final class Keepers {
  private static final int ROUNDS_PER_LOOK = 10;
  private static final long STOP_MS = 10_000;
  private static final int MOST_UNTOLD = 1000;

  private final SharedDataset dataset;
  private final SharedSettings settings;
  private final String uuid;
  private final ConcurrentHashMap<String, Pool> pools = new ConcurrentHashMap<>();
  private final Thread thread = new Thread(this::run, "Keepers");
  private volatile boolean isStopped;
  private volatile long answeredAt = Time.monotonicNow();
  /** When the round that is under way began; 0: there is none. */
  private volatile long began;
  private volatile int owners;
  private final AtomicBoolean isSilenceSaid = new AtomicBoolean();
  private boolean isFailing;
  private boolean isAsked;

  /** An entry of another DataNode's list. */
  private static final class Kept {
    private final String owner;
    private final SharedBlock block;

    private Kept(String owner, SharedBlock block) {
      this.owner = owner;
      this.block = block;
    }

    /** Whether a list has just this entry, and not one that came in its place, be it with the same words. */
    private boolean isIn(SharedListReader list) {
      return list != null && list.blocks().get(block.id()) == block;
    }

    private boolean isSame(Kept other) {
      return other != null && other.block == block && other.owner.equals(owner);
    }

    private static Kept newer(Kept one, Kept other) {
      return other.block.stamp() > one.block.stamp() ? other : one;
    }
  }

  private static final class Pool {
    private final Members members;
    private final Map<String, SharedListReader> lists = new HashMap<>();
    /** What is served, by id. */
    private final ConcurrentHashMap<Long, Kept> kept = new ConcurrentHashMap<>();
    /** What the NameNode had deleted here: it is not served again until its owner has copied it anew. */
    private final ConcurrentHashMap<Long, Kept> refused = new ConcurrentHashMap<>();
    /** The owners, by block, that are to be told of it. */
    private final ConcurrentHashMap<Long, String> untold = new ConcurrentHashMap<>();
    private final Doubts doubts;
    private int rounds;

    private Pool(Members members, Doubts doubts) {
      this.members = members;
      this.doubts = doubts;
    }
  }

  Keepers(SharedDataset dataset, SharedSettings settings, String uuid) {
    this.dataset = dataset;
    this.settings = settings;
    this.uuid = uuid;
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  void stop() {
    isStopped = true;
    thread.interrupt();
    try {
      thread.join(STOP_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    while (!isStopped) {
      try {
        Thread.sleep(settings.interval());
        round();
        if (isFailing) {
          TierDataset.LOG.info("{} can be read again", settings.path());
        }
        isFailing = false;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      } catch (IOException | RuntimeException e) {
        dataset.counts().failures.increment();
        if (!isStopped && !isFailing) {
          TierDataset.LOG.warn("{} cannot be read, and is tried again each {} ms: this DataNode does not see what to "
              + "serve for others", settings.path(), settings.interval(), e);
        }
        isFailing = true;
      }
    }
  }

  void open(String pool) {
    pools.put(pool, new Pool(new Members(settings.path(), pool, uuid, settings.keepers(), settings.memberTimeout()),
        new Doubts(settings.path(), pool, uuid)));
  }

  void close(String pool) {
    pools.remove(pool);
  }

  /** Shows that this DataNode is alive, and looks what to serve. */
  synchronized void round() throws IOException {
    began = Math.max(1, Time.monotonicNow());
    try {
      lookAround();
      answeredAt = Time.monotonicNow();
    } finally {
      began = 0;
      owners = pools.values().stream().mapToInt(there -> there.lists.size()).sum();
    }
  }

  private void lookAround() throws IOException {
    for (Map.Entry<String, Pool> entry : pools.entrySet()) {
      String pool = entry.getKey();
      if (dataset.isOpen(pool)) {
        Pool there = entry.getValue();
        there.members.beat();
        boolean isLook = there.rounds++ % ROUNDS_PER_LOOK == 0 || isAsked;
        tellDoubts(there);
        if (isLook) {
          there.members.look();
          there.doubts.read(there.members.deputies()).forEach(id -> dataset.shared().doubt(pool, id));
        }
        if (read(pool, there) || isLook) {
          reconcile(pool, there, listed(there));
        }
      }
    }
    isAsked = false;
  }

  private static void tellDoubts(Pool there) throws IOException {
    if (!there.untold.isEmpty()) {
      Map<Long, String> now = new HashMap<>(there.untold);
      there.doubts.tell(now);
      there.untold.keySet().removeAll(now.keySet());
    }
  }

  /** The next round looks who the DataNodes are, which not every one does. */
  synchronized void look() {
    isAsked = true;
  }

  /** Reads the lists of those whose blocks are to be served; returns whether anything has changed. */
  private boolean read(String pool, Pool there) throws IOException {
    Set<String> owners = there.members.kept(Time.monotonicNow());
    boolean isChanged = there.lists.keySet().retainAll(owners);
    for (String owner : owners) {
      SharedListReader list = there.lists.computeIfAbsent(owner,
          key -> new SharedListReader(folder(pool, owner).list()));
      isChanged |= list.read();
    }
    return isChanged;
  }

  /** The blocks to serve, by id, as their owners list them. */
  private static Map<Long, Kept> listed(Pool there) {
    Map<Long, Kept> listed = new HashMap<>();
    there.refused.values().removeIf(kept -> !kept.isIn(there.lists.get(kept.owner)));
    there.lists.forEach((owner, list) -> list.blocks().forEach((id, block) -> {
      Kept kept = new Kept(owner, block);
      if (!kept.isSame(there.refused.get(id))) {
        listed.merge(id, kept, Kept::newer);
      }
    }));
    return listed;
  }

  private SharedFolder folder(String pool, String owner) {
    return new SharedFolder(settings.path(), pool, owner, false);
  }

  private void reconcile(String pool, Pool there, Map<Long, Kept> listed) {
    there.kept.keySet().removeIf(id -> {
      boolean isGone = !listed.containsKey(id);
      if (isGone) {
        dataset.unkeep(pool, id);
      }
      return isGone;
    });
    listed.forEach((id, kept) -> {
      there.kept.put(id, kept);
      dataset.keep(pool, kept.block, folder(pool, kept.owner).of(id));
      if (kept.isSame(there.refused.get(id))) {
        dataset.unkeep(pool, id); // it was refused meanwhile
      }
    });
  }

  /** The NameNode has had a block deleted here. */
  void refuse(String pool, SharedBlock block) {
    Pool there = pools.get(pool);
    Kept kept = there == null ? null : there.kept.get(block.id());
    if (kept != null && kept.block.equals(block)) {
      there.refused.put(block.id(), kept);
      if (there.untold.size() < MOST_UNTOLD) { // else the owner finds it by itself
        there.untold.put(block.id(), kept.owner);
      }
    }
  }

  /** The uuid of the DataNode whose copy of a block this one may serve; null if there is none. */
  String owner(String pool, long id) {
    Pool there = pools.get(pool);
    Kept kept = there == null ? null : there.kept.get(id);
    return kept == null ? null : kept.owner;
  }

  /** How many DataNodes this one serves blocks for. */
  int owners() {
    return owners;
  }

  /** Whether the shared path has not answered for as long as writers wait for it. */
  boolean isStuck() {
    long since = began;
    return since != 0 && Time.monotonicNow() - since > settings.timeout();
  }

  /** Says once that the shared path does not answer, and that it does again. By threads that do not use it. */
  void watch() {
    boolean isStuck = isStuck();
    if (isStuck && isSilenceSaid.compareAndSet(false, true)) {
      TierDataset.LOG.warn("{} has not answered for {} ms, and until it does this DataNode neither copies blocks there "
          + "nor serves what others have there: see whether the file system is there on this node", settings.path(),
          silence());
    } else if (!isStuck && isSilenceSaid.compareAndSet(true, false)) {
      TierDataset.LOG.info("{} answers again", settings.path());
    }
  }

  /** Milliseconds since the shared path answered last. */
  long silence() {
    return Time.monotonicNow() - answeredAt;
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import com.google.common.util.concurrent.ThreadFactoryBuilder;
import io.howdah.storage.Scrub;
import io.howdah.storage.shared.Members;
import io.howdah.storage.shared.SharedBlock;
import io.howdah.storage.shared.SharedFolder;
import io.howdah.storage.shared.SharedList;
import io.howdah.storage.shared.SharedListReader;
import io.howdah.storage.shared.SharedSettings;
import io.howdah.storage.shared.SharedWait;
import io.howdah.storage.shared.Stripes;
import io.howdah.upgrade.Options;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.util.Time;

/**
 * The copies on the shared path of this DataNode's replicas. One is made before the end of a block is acknowledged;
 * those that are missing are made behind. Files are written and removed by threads of its own, and whoever waits for
 * them waits for a bounded time, never with the dataset's lock. Thread-safe.
 */
@SuppressWarnings("try") // locks are held, not used
final class SharedCopies {
  /** Copies under way for writers; others wait. */
  private static final int THREADS = 8;
  private static final long STOP_MS = 10_000;

  private final SharedDataset dataset;
  private volatile SharedSettings settings;
  private final String uuid;
  private final SharedWait writers;
  private final ExecutorService cleaner = Executors.newSingleThreadExecutor(
      new ThreadFactoryBuilder().setDaemon(true).setNameFormat("SharedCopies cleaner").build());
  private final ConcurrentHashMap<String, Pool> pools = new ConcurrentHashMap<>();
  private final LocalSpace space;
  private final Scrub<ExtendedBlockId> scrub;
  private final SharedFollowers followers;
  private final Thread thread = new Thread(this::run, "SharedCopies");
  private volatile boolean isStopped;
  private volatile boolean isFailing;

  /** What this DataNode has of a block pool there. */
  private static final class Pool {
    private final SharedFolder folder;
    private final ConcurrentHashMap<Long, SharedBlock> blocks = new ConcurrentHashMap<>();
    /** Blocks that are being deleted, and those whose end is being acknowledged: the round leaves them alone. */
    private final Set<Long> going = ConcurrentHashMap.newKeySet();
    private final Set<Long> ending = ConcurrentHashMap.newKeySet();
    private final Object[] stripes = new Object[64];
    private final List<Path> found = new ArrayList<>();
    private SharedList list;

    private Pool(SharedFolder folder) {
      this.folder = folder;
      Arrays.setAll(stripes, i -> new Object());
    }

    /** What is held while files of a block are put in their place, noted or removed. */
    private Object stripe(long id) {
      return stripes[(int) Math.floorMod(id, (long) stripes.length)];
    }
  }

  SharedCopies(SharedDataset dataset, SharedSettings settings, String uuid, Configuration conf) {
    this.dataset = dataset;
    this.settings = settings;
    this.uuid = uuid;
    writers = new SharedWait("SharedCopies writer", THREADS, settings.path(), settings.timeout());
    space = new LocalSpace(dataset, settings);
    followers = new SharedFollowers(dataset);
    scrub = new Scrub<>(conf);
    thread.setDaemon(true);
  }

  /** Has writers and the local space go by other settings; time limits and intervals stay. */
  void useForTesting(SharedSettings other) {
    settings = other;
    space.useForTesting(other);
  }

  void start() {
    thread.start();
    followers.start();
  }

  /** Ends its threads; copies under way are given up. */
  void stop() {
    isStopped = true;
    thread.interrupt();
    followers.stop();
    writers.close();
    pools.values().forEach(there -> later(() -> close(there)));
    cleaner.shutdown();
    try {
      thread.join(STOP_MS);
      cleaner.awaitTermination(STOP_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  // Waiting.

  private interface Step {
    void run() throws IOException;
  }

  /** Runs a step that uses the shared path, and waits for it as long as writers do. */
  private void await(String what, Step step) throws IOException {
    try {
      writers.run(() -> {
        step.run();
        return null;
      });
    } catch (InterruptedIOException e) {
      throw e;
    } catch (IOException e) {
      throw new IOException(what + ": " + e, e);
    }
  }

  /** Waits likewise for a replica of which only the copy is left, and which is to be copied back. */
  boolean await(Callable<Boolean> step) throws IOException {
    return writers.run(step);
  }

  // Starting and ending.

  /** Reads what this DataNode has of a block pool, before the pool is added. */
  void open(String pool) throws IOException {
    Pool opened = new Pool(new SharedFolder(settings.path(), pool, uuid, settings.isSynced()));
    await("the shared copies of " + pool + " cannot be read", () -> {
      opened.folder.create();
      // Seen before the list is read: what is removed for a DataNode that is gone is not removed for one that is back.
      new Members(settings.path(), pool, uuid, settings.keepers(), settings.memberTimeout()).enter();
      stripe(opened.folder);
      opened.folder.clean();
      SharedListReader reader = new SharedListReader(opened.folder.list());
      reader.read();
      opened.blocks.putAll(reader.blocks());
      opened.found.addAll(opened.folder.findOpen(opened.blocks));
      opened.list = SharedList.write(opened.folder.list(), opened.blocks.values(), settings.isSynced());
    });
    pools.put(pool, opened);
  }

  private void stripe(SharedFolder folder) {
    try {
      new Stripes(settings).set(folder.tmp());
    } catch (IOException e) {
      TierDataset.LOG.warn("{}: copies are laid out as the file system has it, not as {} and {} say", e.getMessage(),
          Options.SHARED_STRIPES.key(), Options.SHARED_STRIPE_SIZE.key());
    }
  }

  /** Runs a task, unless the DataNode ends: its next start finds what is left. */
  private void later(Runnable task) {
    try {
      cleaner.execute(task);
    } catch (RejectedExecutionException e) {
      TierDataset.LOG.debug("a task is left to the next start", e);
    }
  }

  /** Lets go of a block pool; what is on the shared path stays. */
  void close(String pool) {
    Pool closed = pools.remove(pool);
    if (closed != null) {
      later(() -> close(closed));
    }
  }

  private static void close(Pool there) {
    synchronized (there.folder) {
      try {
        if (there.list != null) {
          there.list.close();
        }
      } catch (IOException e) {
        TierDataset.LOG.debug("{} was not closed", there.folder, e);
      }
    }
  }

  // Copying.

  private static SharedBlock of(Block block) {
    return new SharedBlock(block.getBlockId(), block.getGenerationStamp(), block.getNumBytes());
  }

  /** Begins to copy a replica that is being written. */
  void follow(String pool, ReplicaInfo replica) {
    Pool there = pools.get(pool);
    if (there != null) {
      followers.follow(pool, replica, there.folder);
    }
  }

  /** A replica that is being written goes on after a recovery: it is copied when it is complete. */
  void unfollow(String pool, long id) {
    followers.forget(pool, id);
  }

  /** What goes on on the shared path beside the receiving of a replica; null: nothing that its receiver waits for. */
  WatchedReplica.Watch watch(String pool, ReplicaInfo replica) {
    SharedSettings now = settings;
    if (!now.isEachPacket() && !now.isPersistingOnSync()) {
      return null;
    }
    return new WatchedReplica.Watch() {
      @Override
      public void flushed(long length) throws IOException {
        if (now.isEachPacket()) {
          advance(pool, replica, length);
        }
      }

      @Override
      public void synced(long length) throws IOException {
        if (now.isPersistingOnSync()) {
          persist(pool, replica, length);
        }
      }
    };
  }

  /** A replica that cannot be followed is copied when it is complete, if the mode goes on without. */
  private void advance(String pool, ReplicaInfo replica, long length) throws IOException {
    Pool there = pools.get(pool);
    if (there == null) {
      return;
    }
    try {
      await("a packet of " + replica.getBlockName() + " is not on the shared path",
          () -> followers.advance(pool, replica, length));
    } catch (IOException e) {
      followers.forget(pool, replica.getBlockId());
      without(there, of(replica), e);
    }
  }

  private void persist(String pool, ReplicaInfo replica, long length) throws IOException {
    Pool there = pools.get(pool);
    if (there == null) {
      throw new IOException("the block pool " + pool + " has ended on this DataNode");
    }
    try {
      await("an hsync cannot persist " + replica.getBlockName() + " on the shared path (" + Options.MEMORY_HSYNC.key()
          + "=persist)", () -> followers.sync(pool, replica, there.folder, length));
    } catch (IOException e) {
      dataset.counts().failures.increment();
      throw e;
    }
  }

  /** What an hsync has left of a replica that goes on being written is found by its new generation stamp. */
  void restamp(String pool, long id) throws IOException {
    Pool there = pools.get(pool);
    ReplicaInfo replica = dataset.volumeMap.get(pool, id);
    if (there != null && replica != null && there.folder.hasOpen(id)) {
      await("what an hsync has left of " + replica.getBlockName() + " is not found any more",
          () -> there.folder.restamp(id, replica.getGenerationStamp()));
    }
  }

  /** What an hsync has left of blocks, by meta file, and that its DataNode may have lost. */
  List<Path> found(String pool) {
    return pools.get(pool).found;
  }

  /**
   * Copies a replica whose files are complete, before it is finalized.
   *
   * @return the copy, to be {@link #ended}; null if there is none and the mode goes on without
   * @throws IOException if there is none, and the mode does not
   */
  SharedBlock copy(String pool, ReplicaInfo replica) throws IOException {
    Pool there = pools.get(pool);
    if (there == null) {
      throw new IOException("the block pool " + pool + " has ended on this DataNode");
    }
    SharedBlock block = of(replica);
    File data = replica.getBlockFile();
    File meta = replica.getMetaFile();
    there.ending.add(block.id());
    try {
      await(block + " has no copy on the shared path", () -> {
        try (SharedFolder.Staged staged = followers.take(pool, replica, there.folder)) {
          staged.complete(block, data, meta);
          synchronized (there.stripe(block.id())) {
            staged.place(block);
          }
        }
      });
      return block;
    } catch (IOException e) {
      without(there, block, e);
      return null;
    }
  }

  /** Whether blocks are copied after their end was acknowledged. */
  boolean isBehind() {
    return settings.isBehind();
  }

  /** What has been copied of a replica that is about to be finalized: {@link #behind} completes it. */
  SharedFolder.Staged begun(String pool, ReplicaInfo replica) {
    Pool there = pools.get(pool);
    if (there == null) {
      return null;
    }
    there.ending.add(replica.getBlockId());
    return followers.take(pool, replica, there.folder);
  }

  /** Copies the rest of a replica behind. If that cannot be done now, or it was not finalized, the round does. */
  void behind(String pool, long id, SharedFolder.Staged begun) {
    Pool there = pools.get(pool);
    if (begun == null || there == null) {
      return;
    }
    ReplicaInfo replica = dataset.volumeMap.get(pool, id);
    boolean isUnderWay = replica instanceof FinalizedReplica && writers.execute(() -> {
      try {
        protect(pool, there, replica, begun);
      } catch (RuntimeException e) {
        logOnce(e);
      } finally {
        there.ending.remove(id);
      }
    });
    if (!isUnderWay) {
      there.ending.remove(id);
      later(() -> {
        try {
          begun.close();
        } catch (IOException e) {
          TierDataset.LOG.debug("a copy that was begun is left", e);
        }
      });
    }
  }

  private void without(Pool there, SharedBlock block, IOException e) throws IOException {
    there.ending.remove(block.id());
    dataset.counts().failures.increment();
    if (settings.failsWrites()) {
      throw e;
    }
    logOnce(e);
  }

  private void logOnce(Exception e) {
    if (!isStopped && !isFailing) {
      TierDataset.LOG.warn("blocks are on this DataNode only, and are copied to the shared path when it takes them: {}",
          e.toString());
    }
    isFailing = true;
  }

  /** The replica could not be finalized. */
  void abandon(String pool, SharedBlock block) {
    Pool there = pools.get(pool);
    if (there != null) {
      there.ending.remove(block.id());
    }
  }

  /** After the replica was finalized: notes the copy, if it is one of what is there now. */
  void ended(String pool, SharedBlock block) throws IOException {
    Pool there = pools.get(pool);
    if (there == null) {
      return;
    }
    try {
      await(block + " is not in the list of the shared path", () -> {
        synchronized (there.stripe(block.id())) {
          note(pool, there, block);
        }
      });
    } catch (IOException e) {
      without(there, block, e);
    } finally {
      there.ending.remove(block.id());
    }
  }

  /** Under the lock, since a block that is deleted has its copy removed after it has left the map. */
  private void note(String pool, Pool there, SharedBlock block) throws IOException {
    SharedBlock old;
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      ReplicaInfo now = dataset.volumeMap.get(pool, block.id());
      if (!(now instanceof FinalizedReplica) || !of(now).equals(block)) {
        return;
      }
      old = there.blocks.put(block.id(), block);
    }
    tell(there, block.id());
    if (old != null && old.stamp() != block.stamp()) {
      there.folder.removeOld(old);
    }
  }

  /** Writes to the list what is true of a block by then: the last one of several changes is told last. */
  private void tell(Pool there, long id) throws IOException {
    synchronized (there.folder) {
      SharedBlock block = there.blocks.get(id);
      try {
        if (there.list == null) {
          there.list = SharedList.write(there.folder.list(), there.blocks.values(), settings.isSynced());
        } else if (block != null) {
          there.list.added(block);
        } else {
          there.list.removed(id);
        }
      } catch (IOException e) {
        there.list = null; // it is written anew: an open file is of no use once the path was mounted again
        throw e;
      }
    }
  }

  // Behind.

  private void run() {
    while (!isStopped) {
      try {
        Thread.sleep(settings.interval());
        round();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      } catch (RuntimeException e) {
        logOnce(e);
      }
    }
  }

  /** Makes the copies that are missing; those whose replica is gone take its place. */
  synchronized void round() {
    long failures = dataset.counts().failures.sum();
    scrub(Time.monotonicNow());
    for (Map.Entry<String, Pool> entry : pools.entrySet()) {
      String pool = entry.getKey();
      Pool there = entry.getValue();
      for (SharedBlock block : there.blocks.values()) {
        boolean isMissing = dataset.isOpen(pool) && dataset.volumeMap.get(pool, block.id()) == null;
        if (isMissing && !there.going.contains(block.id())) {
          adopt(pool, there, block);
        }
      }
      for (ReplicaInfo replica : unprotected(pool)) {
        if (!isStopped && replica instanceof FinalizedReplica && !there.ending.contains(replica.getBlockId())) {
          protect(pool, there, replica, there.folder.stage(replica.getBlockId()));
        }
      }
    }
    if (!isStopped) {
      space.round();
    }
    isFailing = isFailing && dataset.counts().failures.sum() > failures;
  }

  /** A keeper says that a copy is damaged: it is verified soon. */
  void doubt(String pool, long id) {
    scrub.doubt(new ExtendedBlockId(id, pool));
  }

  /** Verifies copies that were not for long. */
  synchronized void scrub(long now) {
    scrub.round(now, () -> {
      List<ExtendedBlockId> all = new ArrayList<>();
      pools.forEach((pool, there) -> there.blocks.keySet().forEach(id -> all.add(new ExtendedBlockId(id, pool))));
      return all;
    }, this::verify);
  }

  private long verify(ExtendedBlockId id) {
    Pool there = pools.get(id.getBlockPoolId());
    SharedBlock block = there == null ? null : there.blocks.get(id.getBlockId());
    if (block == null || isStopped) {
      return 0;
    }
    try {
      if (!there.folder.isSound(block)) {
        synchronized (there.stripe(block.id())) { // nobody puts other files in their place now
          if (there.blocks.get(block.id()) == block && !there.folder.isSound(block)) {
            damaged(there, block, id);
          }
        }
      }
    } catch (IOException e) {
      TierDataset.LOG.debug("{} cannot be verified now", block, e); // as while the path is away
    }
    return block.length();
  }

  /** One that is all that is left is missing as soon as the NameNode knows; another one is made anew. */
  private void damaged(Pool there, SharedBlock block, ExtendedBlockId id) throws IOException {
    ReplicaInfo replica = dataset.volumeMap.get(id.getBlockPoolId(), block.id());
    dataset.counts().failures.increment();
    if (replica != null && replica.getVolume() instanceof SharedVolume) {
      TierDataset.LOG.warn("the copy of {} in {} is damaged, and is the only one", block, there.folder);
      dataset.datanode.reportBadBlocks(new ExtendedBlock(id.getBlockPoolId(), block.id(), block.length(),
          block.stamp()));
    } else {
      TierDataset.LOG.warn("the copy of {} in {} is damaged: it is made anew from the local replica", block,
          there.folder);
      if (there.blocks.remove(block.id(), block)) {
        tell(there, block.id());
      }
    }
  }

  /** A copy takes the place of a replica that is gone without having been deleted. */
  private void adopt(String pool, Pool there, SharedBlock block) {
    if (!there.folder.has(block)) {
      dataset.counts().failures.increment();
      logOnce(new IOException(block + " is in the list of " + there.folder + " and not there"));
      return;
    }
    dataset.adopt(pool, block, there.folder.of(block.id()), () -> there.blocks.get(block.id()) == block
        && !there.going.contains(block.id()));
  }

  private void protect(String pool, Pool there, ReplicaInfo replica, SharedFolder.Staged begun) {
    SharedBlock block;
    File data;
    File meta;
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      block = of(replica);
      data = replica.getBlockFile();
      meta = replica.getMetaFile();
    }
    try (SharedFolder.Staged staged = begun) {
      staged.complete(block, data, meta);
      synchronized (there.stripe(block.id())) {
        if (isUnchanged(pool, replica, block)) {
          staged.place(block); // a writer that ends the block meanwhile waits, and places what is newer
          note(pool, there, block);
        }
      }
    } catch (IOException e) {
      if (isUnchanged(pool, replica, block)) {
        dataset.counts().failures.increment();
        logOnce(e);
      } // else it changed, and is looked at again
    }
  }

  private boolean isUnchanged(String pool, ReplicaInfo replica, SharedBlock block) {
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      return dataset.volumeMap.get(pool, block.id()) == replica && of(replica).equals(block);
    }
  }

  // Deleting.

  /** A block is about to be deleted. */
  void deleting(String pool, long id) {
    Pool there = pools.get(pool);
    if (there != null) {
      there.going.add(id);
    }
  }

  /** A block was deleted, or not; the copy of one that is gone goes with it, a little later. */
  void deleted(String pool, long id, boolean isGone) {
    Pool there = pools.get(pool);
    if (there == null) {
      return;
    }
    SharedBlock block = isGone ? there.blocks.remove(id) : null;
    there.going.remove(id);
    boolean hasOpen = isGone && there.folder.hasOpen(id);
    if (block != null || hasOpen) {
      later(() -> {
        try {
          synchronized (there.stripe(id)) {
            if (hasOpen) {
              there.folder.removeOpen(id);
            }
            if (block == null) {
              return;
            }
            tell(there, id);
            if (!there.blocks.containsKey(id) && !there.ending.contains(id)) {
              there.folder.remove(block);
            }
          }
        } catch (IOException e) {
          dataset.counts().failures.increment();
          logOnce(e);
        }
      });
    }
  }

  // What there is.

  /** Whether the replica as it is has a copy. */
  private boolean isProtected(Pool there, ReplicaInfo replica) {
    SharedBlock block = there.blocks.get(replica.getBlockId());
    return block != null && block.equals(of(replica));
  }

  /** This DataNode's replicas without a copy of what is in them now, blocks that are being written included. */
  List<ReplicaInfo> unprotected(String pool) {
    List<ReplicaInfo> found = new ArrayList<>();
    Pool there = pools.get(pool);
    if (there == null) {
      return found;
    }
    try (AutoCloseableLock lock = dataset.acquireDatasetLock()) {
      for (ReplicaInfo replica : dataset.volumeMap.replicas(pool)) {
        if (replica.getState() != ReplicaState.TEMPORARY && !(replica.getVolume() instanceof SharedVolume)
            && !isProtected(there, replica)) {
          found.add(replica);
        }
      }
    }
    return found;
  }

  /** Whether there is a copy of a block, of whatever generation. */
  boolean has(String pool, long id) {
    Pool there = pools.get(pool);
    return there != null && there.blocks.containsKey(id);
  }

  /** The blocks that have a copy, as the list had them when the pool was opened and since. */
  Collection<SharedBlock> blocks(String pool) {
    Pool there = pools.get(pool);
    return there == null ? Collections.emptyList() : there.blocks.values();
  }

  /**
   * The folder of a replica's copy, if there is one of what the replica is now and its files are there; else null. One
   * whose checksums are wrong is made anew in the next round. Reads the shared path.
   */
  File whole(String pool, ReplicaInfo replica) throws IOException {
    Pool there = pools.get(pool);
    SharedBlock block = of(replica);
    if (there == null || !isProtected(there, replica) || !there.folder.isWhole(block)) {
      return null;
    }
    if (!there.folder.isSound(block)) {
      damaged(there, block, new ExtendedBlockId(block.id(), pool));
      return null;
    }
    return there.folder.of(block.id());
  }

  /** The folder of a block's copy, which need not be there. */
  File place(String pool, long id) {
    return pools.get(pool).folder.of(id);
  }

  /** Whether the copy of a block may be all that is left of it: not while it is deleted, or ends. */
  boolean isSettled(String pool, long id) {
    Pool there = pools.get(pool);
    return there != null && there.blocks.containsKey(id) && !there.going.contains(id) && !there.ending.contains(id);
  }

  /** How many blocks have a copy. */
  int size() {
    return pools.values().stream().mapToInt(there -> there.blocks.size()).sum();
  }

  /** Bytes of these copies. */
  long bytes() {
    return pools.values().stream().flatMap(there -> there.blocks.values().stream()).mapToLong(SharedBlock::length)
        .sum();
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.shared.SharedFolder;
import java.io.IOException;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;

/**
 * Copies of replicas that are being written, which grow with them, so that the end of a block waits for little. One
 * thread; if the shared path does not answer it, blocks are copied when they are complete. Thread-safe.
 */
final class SharedFollowers {
  private static final long INTERVAL_MS = 20;
  /** So much is worth a look: smaller blocks are copied at their end. */
  private static final int LEAST = 1 << 20;

  private final SharedDataset dataset;
  private final ConcurrentHashMap<ExtendedBlockId, Follower> followers = new ConcurrentHashMap<>();
  private final Thread thread = new Thread(this::run, "SharedFollowers");
  private volatile boolean isStopped;

  private static final class Follower {
    private final ReplicaInfo replica;
    private final SharedFolder.Staged staged;
    private long followed;
    private boolean isTaken;

    private Follower(ReplicaInfo replica, SharedFolder.Staged staged) {
      this.replica = replica;
      this.staged = staged;
    }

    private synchronized void advance() throws IOException {
      long length = replica.getBytesOnDisk();
      if (!isTaken && length - followed >= LEAST) {
        staged.follow(replica.getBlockFile(), length);
        followed = length;
      }
    }

    private synchronized void follow(long length) throws IOException {
      if (!isTaken && length > followed) {
        staged.follow(replica.getBlockFile(), length);
        followed = length;
      }
    }

    private synchronized void sync(long length) throws IOException {
      if (isTaken) {
        throw new IOException(replica.getBlockName() + " is being written no longer");
      }
      staged.sync(replica.getGenerationStamp(), replica.getBlockFile(), replica.getMetaFile(), length);
      followed = Math.max(followed, length);
    }

    private synchronized SharedFolder.Staged take() {
      isTaken = true;
      return staged;
    }
  }

  SharedFollowers(SharedDataset dataset) {
    this.dataset = dataset;
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  void stop() {
    isStopped = true;
    thread.interrupt();
  }

  private static ExtendedBlockId key(String pool, long id) {
    return new ExtendedBlockId(id, pool);
  }

  /** Begins to follow a replica that is being written. */
  void follow(String pool, ReplicaInfo replica, SharedFolder folder) {
    Follower follower = new Follower(replica, folder.stage(replica.getBlockId()));
    Follower other = followers.put(key(pool, replica.getBlockId()), follower);
    if (other != null) {
      drop(other);
    }
  }

  /** Copies what a replica that is followed has by now, up to a length. */
  void advance(String pool, ReplicaInfo replica, long length) throws IOException {
    Follower follower = followers.get(key(pool, replica.getBlockId()));
    if (follower != null && follower.replica == replica) {
      follower.follow(length);
    }
  }

  /** Makes last what a replica has up to a length. It is followed from now on. */
  void sync(String pool, ReplicaInfo replica, SharedFolder folder, long length) throws IOException {
    Follower follower = followers.get(key(pool, replica.getBlockId()));
    if (follower == null || follower.replica != replica) {
      follow(pool, replica, folder);
      follower = followers.get(key(pool, replica.getBlockId()));
    }
    if (follower == null) {
      throw new IOException(replica.getBlockName() + " is being written no longer");
    }
    follower.sync(length);
  }

  /** What has been copied of a replica, which its caller completes; of one that is not followed nothing has. */
  SharedFolder.Staged take(String pool, ReplicaInfo replica, SharedFolder folder) {
    Follower follower = followers.remove(key(pool, replica.getBlockId()));
    if (follower != null && follower.replica == replica) {
      return follower.take();
    }
    if (follower != null) {
      drop(follower);
    }
    return folder.stage(replica.getBlockId());
  }

  /** Follows a replica no longer. */
  void forget(String pool, long id) {
    Follower follower = followers.remove(key(pool, id));
    if (follower != null) {
      drop(follower);
    }
  }

  /** Its file is left to the next start of the DataNode if the shared path does not answer now. */
  private static void drop(Follower follower) {
    Thread closer = new Thread(() -> {
      try {
        follower.take().close();
      } catch (IOException e) {
        TierDataset.LOG.debug("a copy that was begun is left", e);
      }
    }, "SharedFollowers closer");
    closer.setDaemon(true);
    closer.start();
  }

  private void run() {
    while (!isStopped) {
      try {
        Thread.sleep(INTERVAL_MS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
      followers.forEach((block, follower) -> {
        try {
          if (dataset.volumeMap.get(block.getBlockPoolId(), block.getBlockId()) != follower.replica) {
            forget(block.getBlockPoolId(), block.getBlockId()); // it was given up, or recovered
          } else {
            follower.advance();
          }
        } catch (IOException | RuntimeException e) {
          TierDataset.LOG.debug("blk_{} is copied to the shared path when it is complete", block.getBlockId(), e);
          forget(block.getBlockPoolId(), block.getBlockId());
        }
      });
    }
  }
}

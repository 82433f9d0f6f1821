package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.BlockEvent;
import io.howdah.storage.Reason;
import io.howdah.storage.TierSettings;
import io.howdah.storage.shared.SharedBlock;
import io.howdah.storage.shared.SharedFolder;
import io.howdah.storage.shared.SharedSettings;
import io.howdah.storage.shared.SharedWait;
import java.io.EOFException;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.BlockListAsLongs;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.Replica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException;
import org.apache.hadoop.hdfs.server.datanode.ReplicaUnderRecovery;
import org.apache.hadoop.hdfs.server.datanode.UnexpectedReplicaStateException;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.LengthInputStream;
import org.apache.hadoop.hdfs.server.protocol.BlockRecoveryCommand.RecoveringBlock;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.hdfs.server.protocol.ReplicaRecoveryInfo;
import org.apache.hadoop.hdfs.server.protocol.StorageReport;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.util.DiskChecker.DiskOutOfSpaceException;

/**
 * The replica store of a DataNode whose replicas have copies on a path that all DataNodes have. Beside its own replicas
 * its map has those of which only the copy is left, and, read-only, those that it serves for other DataNodes: readers
 * find all of them by upstream's code. Whatever writes goes to local replicas only: a copy is brought back before, and
 * other DataNodes' are not there for writers.
 */
@SuppressWarnings("try") // locks are held, not used
final class SharedDataset extends TierDataset {
  private static final List<StorageType> TIERS =
      Arrays.asList(StorageType.RAM_DISK, StorageType.SSD, StorageType.DISK);

  private final SharedCopies shared;
  private final Keepers keepers;
  private final SharedVolume own;
  private final SharedVolume kept;
  private final SharedWait promoter;
  /** Blocks that are about to be written to, with how many callers are: their local files are not given up. */
  private final Map<ExtendedBlockId, Integer> writing = new ConcurrentHashMap<>();

  SharedDataset(DataNode datanode, DataStorage storage, Configuration conf, TierSettings settings) throws IOException {
    super(datanode, storage, conf, settings);
    SharedSettings options = SharedSettings.of(conf);
    String uuid = datanode.getDatanodeUuid();
    own = volume(uuid, "own", DatanodeStorage.State.NORMAL, options, conf, settings);
    kept = volume(uuid, "kept", DatanodeStorage.State.READ_ONLY_SHARED, options, conf, settings);
    shared = new SharedCopies(this, options, uuid, conf);
    keepers = new Keepers(this, options, uuid);
    promoter = new SharedWait("SharedDataset promoter", 1, options.path(), options.timeout());
    shared.start();
    keepers.start();
  }

  private SharedVolume volume(String uuid, String role, DatanodeStorage.State state, SharedSettings options,
      Configuration conf, TierSettings settings) throws IOException {
    String id = "DS-" + UUID.nameUUIDFromBytes((uuid + "/" + role).getBytes(StandardCharsets.UTF_8));
    SharedVolume volume = new SharedVolume(this, id, options.path(), conf, settings, state);
    storageMap.put(id, volume.toDatanodeStorage());
    return volume;
  }

  @Override
  SharedCopies shared() {
    return shared;
  }

  @Override
  Keepers keepers() {
    return keepers;
  }

  @Override
  int countOn(DatanodeStorage.State state) {
    SharedVolume volume = state == DatanodeStorage.State.NORMAL ? own : kept;
    int count = 0;
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      for (String pool : volumeMap.getBlockPoolList()) {
        for (ReplicaInfo replica : volumeMap.replicas(pool)) {
          count += replica.getVolume() == volume ? 1 : 0;
        }
      }
    }
    return count;
  }

  /** A replica that has no file of this DataNode's; null if it has, or there is none. */
  private FinalizedReplica remote(String pool, long id) {
    ReplicaInfo replica = volumeMap.get(pool, id);
    return replica != null && replica.getVolume() instanceof SharedVolume ? (FinalizedReplica) replica : null;
  }

  private static boolean is(ReplicaInfo replica, SharedBlock block) {
    return replica.getGenerationStamp() == block.stamp() && replica.getNumBytes() == block.length();
  }

  // What the round and the keepers find.

  /** Has a copy take the place of a replica that is gone, if that is still so. */
  void adopt(String pool, SharedBlock block, File place, BooleanSupplier isStillSo) {
    Block replica = new Block(block.id(), block.length(), block.stamp());
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      if (!isOpen(pool) || volumeMap.get(pool, block.id()) != null || !isStillSo.getAsBoolean()) {
        return;
      }
      volumeMap.add(pool, new FinalizedReplica(replica, own, place));
    }
    reportReceived(pool, replica, own);
    noteLoss(pool, block.id());
  }

  /** Notes that only the copy of a block is left, unless that is why its local files are gone. */
  private void noteLoss(String pool, long id) {
    ExtendedBlockId key = new ExtendedBlockId(id, pool);
    StorageType before = journal().tier(key); // not known if the journal went with the folder
    FinalizedReplica replica = remote(pool, id);
    if (replica != null && before != own.getStorageType()) {
      note(key, replica, BlockEvent.Kind.MOVED, before, own.getStorageType(), Reason.LOST);
    }
  }

  @Override
  boolean isStoryOf(TierVolume folder, ReplicaInfo replica, ExtendedBlockId block) {
    return super.isStoryOf(folder, replica, block)
        || replica == null && shared.has(block.getBlockPoolId(), block.getBlockId());
  }

  /** When a block pool is added: what has a copy and no local files is there, too, before the NameNode is told. */
  private void adoptAll(String pool) {
    for (SharedBlock block : shared.blocks(pool)) {
      boolean isAdopted = false;
      try (AutoCloseableLock lock = acquireDatasetLock()) {
        if (volumeMap.get(pool, block.id()) == null) {
          volumeMap.add(pool, new FinalizedReplica(new Block(block.id(), block.length(), block.stamp()), own,
              shared.place(pool, block.id())));
          isAdopted = true;
        }
      }
      if (isAdopted) {
        noteLoss(pool, block.id());
      }
    }
  }

  /**
   * Gives a replica's local files up for its copy. Reads the shared path.
   *
   * @return whether that is all there is now; not if there is no whole copy, or the replica changed meanwhile
   */
  boolean giveUp(String pool, FinalizedReplica replica, Reason reason) throws IOException {
    ExtendedBlockId block = new ExtendedBlockId(replica.getBlockId(), pool);
    if (!begin(block)) {
      return false;
    }
    try {
      StorageType from = replica.getVolume().getStorageType();
      File place = shared.whole(pool, replica);
      FinalizedReplica left = place == null ? null : ReplicaCopy.shared(this, pool, replica, own, place,
          () -> isOpen(pool) && !writing.containsKey(block) && shared.isSettled(pool, block.getBlockId())).exchange();
      if (left == null) {
        return false;
      }
      moved(block, left, from, reason);
      return true;
    } finally {
      end(block);
    }
  }

  /** What is on the shared path is copied one at a time: if the path is away the mover waits once, with an end. */
  @Override
  boolean copyToRam(String pool, FinalizedReplica replica, TierVolume ram, DataTransferThrottler throttler)
      throws IOException {
    if (!(replica.getVolume() instanceof SharedVolume)) {
      return super.copyToRam(pool, replica, ram, throttler);
    }
    return !promoter.isBusy() && promoter.run(() -> super.copyToRam(pool, replica, ram, throttler));
  }

  /** Serves a block of another DataNode, whose files are in a folder, unless there is a replica of this one's own. */
  void keep(String pool, SharedBlock block, File place) {
    Block replica = new Block(block.id(), block.length(), block.stamp());
    if (!isToBeKept(pool, block, place)) {
      return; // most are as they were: no need for the lock
    }
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      if (!isToBeKept(pool, block, place) || !isOpen(pool)) {
        return;
      }
      volumeMap.add(pool, new FinalizedReplica(replica, kept, place));
    }
    reportReceived(pool, replica, kept);
  }

  private boolean isToBeKept(String pool, SharedBlock block, File place) {
    ReplicaInfo now = volumeMap.get(pool, block.id());
    return now == null
        || now.getVolume() == kept && !(is(now, block) && place.equals(now.getBlockFile().getParentFile()));
  }

  /** Serves a block of another DataNode no longer. */
  void unkeep(String pool, long id) {
    Block gone = letGo(pool, id);
    if (gone != null) {
      reportDeleted(pool, gone, kept);
    }
  }

  /** Removes a block of another DataNode from the map; null if there was none. */
  private Block letGo(String pool, long id) {
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      ReplicaInfo now = volumeMap.get(pool, id);
      if (now == null || now.getVolume() != kept) {
        return null;
      }
      volumeMap.remove(pool, id);
      return new Block(now);
    }
  }

  // Writing.

  @Override
  public ReplicaHandler createRbw(StorageType type, ExtendedBlock block, boolean lazily) throws IOException {
    letGo(block.getBlockPoolId(), block.getBlockId());
    ReplicaHandler made = super.createRbw(type, block, lazily);
    ReplicaInfo replica = volumeMap.get(block.getBlockPoolId(), block.getBlockId());
    if (replica != null && replica.getState() == ReplicaState.RBW) {
      shared.follow(block.getBlockPoolId(), replica);
    }
    return made;
  }

  @Override
  WatchedReplica.Watch watch(String pool, ReplicaInfo replica) {
    return shared.watch(pool, replica);
  }

  @Override
  void restamp(ExtendedBlock block) throws IOException {
    super.restamp(block);
    shared.restamp(block.getBlockPoolId(), block.getBlockId());
  }

  @Override
  public ReplicaHandler recoverRbw(ExtendedBlock block, long stamp, long least, long most) throws IOException {
    shared.unfollow(block.getBlockPoolId(), block.getBlockId());
    return super.recoverRbw(block, stamp, least, most);
  }

  @Override
  public ReplicaHandler createTemporary(StorageType type, ExtendedBlock block) throws IOException {
    letGo(block.getBlockPoolId(), block.getBlockId());
    return super.createTemporary(type, block);
  }

  @Override
  public void finalizeBlock(ExtendedBlock block) throws IOException {
    String pool = block.getBlockPoolId();
    ReplicaInfo replica = volumeMap.get(pool, block.getLocalBlock());
    boolean isNew = replica != null && replica.getState() != ReplicaState.FINALIZED;
    if (isNew && shared.isBehind()) {
      SharedFolder.Staged begun = shared.begun(pool, replica);
      try {
        super.finalizeBlock(block);
      } finally {
        shared.behind(pool, block.getBlockId(), begun);
      }
      return;
    }
    SharedBlock copy = isNew ? shared.copy(pool, replica) : null;
    if (copy == null) {
      super.finalizeBlock(block);
      return;
    }
    boolean isDone = false;
    try {
      super.finalizeBlock(block);
      isDone = true;
    } finally {
      if (!isDone) {
        shared.abandon(pool, copy);
      }
    }
    shared.ended(pool, copy);
  }

  /** Brings a replica of which only the copy is left back to a folder of this DataNode, to be written to. */
  private void bringBack(ExtendedBlock block) throws IOException {
    FinalizedReplica replica = remote(block.getBlockPoolId(), block.getBlockId());
    if (replica == null) {
      return;
    }
    if (replica.getVolume() == kept) {
      throw new ReplicaNotFoundException(ReplicaNotFoundException.NON_EXISTENT_REPLICA + block);
    }
    for (StorageType tier : TIERS) {
      TierVolume target = roomiest(tier, replica.getNumBytes());
      if (target != null && shared.await(() -> move(block.getBlockPoolId(), replica, target, Reason.GROWS, null))) {
        return;
      }
    }
    if (remote(block.getBlockPoolId(), block.getBlockId()) != null) {
      throw new DiskOutOfSpaceException("no folder of this DataNode has room for " + replica
          + ", of which only the copy on the shared path is left");
    }
  }

  private interface Writing<T> {
    T run() throws IOException;
  }

  /** Writes to a replica when it has local files, which stay until it is no longer finalized, or was written. */
  private <T> T locally(ExtendedBlock block, Writing<T> write) throws IOException {
    ExtendedBlockId id = new ExtendedBlockId(block.getBlockId(), block.getBlockPoolId());
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      writing.merge(id, 1, Integer::sum);
    }
    try {
      bringBack(block);
      return write.run();
    } finally {
      writing.computeIfPresent(id, (key, count) -> count == 1 ? null : (Integer) (count - 1));
    }
  }

  @Override
  public ReplicaHandler append(ExtendedBlock block, long stamp, long length) throws IOException {
    return locally(block, () -> super.append(block, stamp, length));
  }

  @Override
  public ReplicaHandler recoverAppend(ExtendedBlock block, long stamp, long length) throws IOException {
    shared.unfollow(block.getBlockPoolId(), block.getBlockId());
    return locally(block, () -> super.recoverAppend(block, stamp, length));
  }

  @Override
  public Replica recoverClose(ExtendedBlock block, long stamp, long length) throws IOException {
    return locally(block, () -> super.recoverClose(block, stamp, length));
  }

  @Override
  public ReplicaRecoveryInfo initReplicaRecovery(RecoveringBlock recovering) throws IOException {
    FinalizedReplica replica = remote(recovering.getBlock().getBlockPoolId(), recovering.getBlock().getBlockId());
    if (replica != null && replica.getVolume() == kept) {
      return null; // as a DataNode says that has no replica
    }
    return locally(recovering.getBlock(), () -> super.initReplicaRecovery(recovering));
  }

  @Override
  public Replica updateReplicaUnderRecovery(ExtendedBlock old, long recovery, long newId, long length)
      throws IOException {
    return locally(old, () -> super.updateReplicaUnderRecovery(old, recovery, newId, length));
  }

  /**
   * The Mover takes what this DataNode serves for others for replicas of type ARCHIVE, and has them moved. There is
   * nothing to move then, which is no error: the Mover would try again, and fail in the end.
   */
  @Override
  public ReplicaInfo moveBlockAcrossStorage(ExtendedBlock block, StorageType type) throws IOException {
    FinalizedReplica replica = remote(block.getBlockPoolId(), block.getBlockId());
    if (replica != null && replica.getVolume() == kept) {
      LOG.info("{} is served for another DataNode, and is not moved to {}", block, type);
      return null;
    }
    return super.moveBlockAcrossStorage(block, type);
  }

  // Deleting.

  @Override
  public void invalidate(String pool, Block[] blocks) throws IOException {
    List<Block> local = new ArrayList<>();
    for (Block block : blocks) {
      FinalizedReplica replica;
      try (AutoCloseableLock lock = acquireDatasetLock()) {
        shared.deleting(pool, block.getBlockId()); // from here on its local files are not given up
        replica = remote(pool, block.getBlockId());
      }
      if (replica == null || replica.getGenerationStamp() != block.getGenerationStamp()) {
        local.add(block);
      } else if (replica.getVolume() == kept) {
        keepers.refuse(pool,
            new SharedBlock(replica.getBlockId(), replica.getGenerationStamp(), replica.getNumBytes()));
        unkeep(pool, replica.getBlockId());
        shared.deleted(pool, replica.getBlockId(), false);
      } else if (trashEnabled(pool)) {
        // A rolling upgrade may be rolled back, and upstream's trash takes local files only: the block stays as it is
        // until the first full report after the upgrade.
        shared.deleted(pool, replica.getBlockId(), false);
      } else {
        removeCopy(pool, replica);
      }
    }
    try {
      super.invalidate(pool, local.toArray(new Block[0]));
    } finally {
      local.forEach(block -> shared.deleted(pool, block.getBlockId(),
          volumeMap.get(pool, block.getBlockId()) == null));
    }
  }

  private void removeCopy(String pool, FinalizedReplica replica) {
    boolean isGone;
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      isGone = volumeMap.get(pool, replica.getBlockId()) == replica;
      if (isGone) {
        volumeMap.remove(pool, replica.getBlockId());
      }
    }
    shared.deleted(pool, replica.getBlockId(), isGone);
    if (isGone) {
      ExtendedBlockId id = new ExtendedBlockId(replica.getBlockId(), pool);
      copies().drop(id);
      uses().forget(id);
      journal().forget(id);
      datanode.getShortCircuitRegistry().processBlockInvalidation(id);
      reportDeleted(pool, replica, own);
    }
  }

  // Reading: a file that is not found does not mean that the replica is to be deleted, which upstream does then.

  /** A reader goes on elsewhere at once where it would wait for its own timeout. */
  private void checkAnswers(ExtendedBlock block) throws IOException {
    if (isRemote(block) && keepers.isStuck()) {
      throw new IOException("the copy of " + block + " cannot be opened: the shared path has not answered for "
          + keepers.silence() + " ms: see whether the file system is there on this node");
    }
  }

  @Override
  public InputStream getBlockInputStream(ExtendedBlock block, long offset) throws IOException {
    checkAnswers(block);
    try {
      return super.getBlockInputStream(block, offset);
    } catch (FileNotFoundException e) {
      throw isRemote(block) ? absent(block, e) : e;
    }
  }

  @Override
  public LengthInputStream getMetaDataInputStream(ExtendedBlock block) throws IOException {
    checkAnswers(block);
    try {
      LengthInputStream meta = super.getMetaDataInputStream(block);
      if (meta == null && isRemote(block)) {
        throw absent(block, null);
      }
      return meta;
    } catch (FileNotFoundException e) {
      throw isRemote(block) ? absent(block, e) : e;
    }
  }

  private boolean isRemote(ExtendedBlock block) {
    return remote(block.getBlockPoolId(), block.getBlockId()) != null;
  }

  private static IOException absent(ExtendedBlock block, IOException cause) {
    return new IOException("the copy of " + block + " on the shared path cannot be opened: see whether the file "
        + "system is there on this node", cause);
  }

  // Asked for by the thread that sends heartbeats, too: answered without a look at the shared path.

  @Override
  public void checkBlock(ExtendedBlock block, long length, ReplicaState state) throws IOException {
    FinalizedReplica replica = remote(block.getBlockPoolId(), block.getBlockId());
    if (replica == null || replica.getGenerationStamp() != block.getGenerationStamp()) {
      super.checkBlock(block, length, state); // of another stamp there is no replica, which it says
    } else if (state != ReplicaState.FINALIZED) {
      throw new UnexpectedReplicaStateException(block, state);
    } else if (replica.getNumBytes() < length) {
      throw new EOFException(block + " has " + replica.getNumBytes() + " bytes, not " + length);
    }
  }

  @Override
  public long getLength(ExtendedBlock block) throws IOException {
    FinalizedReplica replica = remote(block.getBlockPoolId(), block.getBlockId());
    return replica != null ? replica.getNumBytes() : super.getLength(block);
  }

  @Override
  public Block getStoredBlock(String pool, long id) throws IOException {
    FinalizedReplica replica = remote(pool, id);
    return replica != null ? new Block(replica) : super.getStoredBlock(pool, id);
  }

  // Reporting.

  /** For each heartbeat: whoever sends them goes on while the shared path hangs, so this is where that is said. */
  @Override
  public StorageReport[] getStorageReports(String pool) throws IOException {
    keepers.watch();
    List<StorageReport> reports = new ArrayList<>(Arrays.asList(super.getStorageReports(pool)));
    reports.add(own.report());
    reports.add(kept.report());
    return reports.toArray(new StorageReport[0]);
  }

  @Override
  public Map<DatanodeStorage, BlockListAsLongs> getBlockReports(String pool) {
    int most = datanode.getConf().getInt("ipc.maximum.data.length", 64 << 20);
    Map<FsVolumeSpi, BlockListAsLongs.Builder> lists = new HashMap<>();
    List<TierVolume> all = new ArrayList<>(volumes(null));
    all.add(own);
    all.add(kept);
    all.forEach(volume -> lists.put(volume, BlockListAsLongs.builder(most)));
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      for (ReplicaInfo replica : volumeMap.replicas(pool)) {
        BlockListAsLongs.Builder list = lists.get(replica.getVolume()); // none of a folder that is being removed
        if (list != null && replica.getState() != ReplicaState.TEMPORARY) {
          list.add(replica.getState() == ReplicaState.RUR ? ((ReplicaUnderRecovery) replica).getOriginalReplica()
              : replica);
        }
      }
    }
    Map<DatanodeStorage, BlockListAsLongs> reports = new HashMap<>();
    all.forEach(volume -> reports.put(volume.toDatanodeStorage(), lists.get(volume).build()));
    return reports;
  }

  // Scanning: upstream's scan of the folders is about files of this DataNode's own.

  @Override
  public List<FinalizedReplica> getFinalizedBlocks(String pool) {
    List<FinalizedReplica> all = super.getFinalizedBlocks(pool);
    all.removeIf(replica -> remote(pool, replica.getBlockId()) != null);
    return all;
  }

  @Override
  public void checkAndUpdate(String pool, long id, File file, File meta, FsVolumeSpi volume) throws IOException {
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      if (remote(pool, id) != null) {
        if (file == null || !file.exists()) {
          return; // its local files were given up after the scan had listed them
        }
        volumeMap.remove(pool, id); // a file that was found here takes its place
      }
    }
    super.checkAndUpdate(pool, id, file, meta, volume);
  }

  // Starting and ending.

  @Override
  public void addBlockPool(String pool, Configuration conf) throws IOException {
    shared.open(pool);
    keepers.open(pool);
    new OpenCopies(this, pool).restore(shared.found(pool));
    super.addBlockPool(pool, conf);
    adoptAll(pool);
  }

  @Override
  public void shutdownBlockPool(String pool) {
    keepers.close(pool);
    shared.close(pool);
    super.shutdownBlockPool(pool);
  }

  @Override
  public void shutdown() {
    keepers.stop();
    promoter.close();
    shared.stop();
    super.shutdown();
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import io.howdah.storage.BlockEvent;
import io.howdah.storage.BlockJournal;
import io.howdah.storage.Reason;
import io.howdah.storage.TierSettings;
import io.howdah.storage.UseCounts;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.protocol.BlockListAsLongs;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.ReplicaState;
import org.apache.hadoop.hdfs.server.common.HdfsServerConstants.StartupOption;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.DataStorage;
import org.apache.hadoop.hdfs.server.datanode.FinalizedReplica;
import org.apache.hadoop.hdfs.server.datanode.Replica;
import org.apache.hadoop.hdfs.server.datanode.ReplicaAlreadyExistsException;
import org.apache.hadoop.hdfs.server.datanode.ReplicaHandler;
import org.apache.hadoop.hdfs.server.datanode.ReplicaInfo;
import org.apache.hadoop.hdfs.server.datanode.ReplicaNotFoundException;
import org.apache.hadoop.hdfs.server.datanode.VolumeScanner;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeReference;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.FsVolumeSpi;
import org.apache.hadoop.hdfs.server.datanode.fsdataset.LengthInputStream;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.apache.hadoop.util.AutoCloseableLock;
import org.apache.hadoop.util.DiskChecker.DiskOutOfSpaceException;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replica store of a DataNode in a storage mode: upstream's, with tiers. A replica that finds no room on its tier
 * goes to a slower one. Files are found again if a replica was moved between the look-up and the opening.
 */
@SuppressWarnings("try") // locks and references are held, not used
class TierDataset extends FsDatasetImpl {
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.storage");

  private final TierSettings settings;
  private final UseCounts uses;
  private final BlockJournal journal = new BlockJournal();
  private final RamCopies copies = new RamCopies(this);
  private final TierCounts counts = new TierCounts();
  private final TierMover mover;
  private final Creations creations;
  private final Shadows shadows;
  private final OpenShadows openShadows = new OpenShadows(this);
  private final Repairs repairs = new Repairs(this);
  private final PlaceReports places = new PlaceReports(this);
  private final TierStatus status;
  private final Set<ExtendedBlockId> moving = ConcurrentHashMap.newKeySet();
  /** Block pools whose replicas are known. */
  private final Set<String> open = ConcurrentHashMap.newKeySet();

  TierDataset(DataNode datanode, DataStorage storage, Configuration conf, TierSettings settings) throws IOException {
    super(datanode, storage, conf);
    this.settings = settings;
    uses = new UseCounts(settings.halflife());
    mover = new TierMover(this, settings);
    creations = new Creations(this);
    shadows = new Shadows(this, settings.mode().isAllInRam(), settings.moverInterval(), conf);
    status = new TierStatus(this, settings, datanode.getDatanodeUuid());
    journal.flushAtExit();
    mover.start();
    shadows.start();
  }

  /** Called by the constructor of the superclass, too: before there are fields. */
  @Override
  public FsVolumeImpl createFsVolume(String storageUuid, File current, StorageType type) throws IOException {
    Configuration conf = datanode.getConf();
    if (settings != null && type == StorageType.RAM_DISK) {
      // Added to a running DataNode; the others were checked before it started.
      new RamFolder(current.getParentFile()).check(new RamFolder.Limits(settings, conf));
    }
    return new TierVolume(this, storageUuid, current, conf, type, TierSettings.of(conf));
  }

  UseCounts uses() {
    return uses;
  }

  RamCopies copies() {
    return copies;
  }

  TierCounts counts() {
    return counts;
  }

  TierMover mover() {
    return mover;
  }

  Shadows shadows() {
    return shadows;
  }

  Repairs repairs() {
    return repairs;
  }

  PlaceReports places() {
    return places;
  }

  OpenShadows openShadows() {
    return openShadows;
  }

  /** Copies on a shared path; null in a mode without. */
  SharedCopies shared() {
    return null;
  }

  /** How many replicas are on the shared path only, of this DataNode's own or read-only. */
  int countOn(DatanodeStorage.State state) {
    return 0;
  }

  /** What is served of other DataNodes' copies there; null likewise. */
  Keepers keepers() {
    return null;
  }

  BlockJournal journal() {
    return journal;
  }

  static ExtendedBlockId key(ExtendedBlock block) {
    return new ExtendedBlockId(block.getBlockId(), block.getBlockPoolId());
  }

  /** The folders that are there, of one type or (null) of all. */
  List<TierVolume> volumes(StorageType type) {
    List<TierVolume> found = new ArrayList<>();
    try (FsVolumeReferences all = getFsVolumeReferences()) {
      for (FsVolumeSpi volume : all) {
        if (type == null || volume.getStorageType() == type) {
          found.add((TierVolume) volume);
        }
      }
    } catch (IOException e) {
      throw new IllegalStateException(e); // giving references back reads and writes nothing
    }
    return found;
  }

  // Writing.

  /** What goes on beside the receiving of a replica; null: nothing. */
  WatchedReplica.Watch watch(String pool, ReplicaInfo replica) {
    return settings.isPersistingOnSync() && settings.mode().isAllInRam() ? openShadows.watch(pool, replica) : null;
  }

  private ReplicaHandler watched(ExtendedBlock block, ReplicaHandler made) {
    return WatchedReplica.handler(made, watch(block.getBlockPoolId(), (ReplicaInfo) made.getReplica()));
  }

  @Override
  public ReplicaHandler createRbw(StorageType type, ExtendedBlock block, boolean lazily) throws IOException {
    return watched(block, creations.create(type, block, tier -> super.createRbw(tier, block, lazily)));
  }

  @Override
  public ReplicaHandler createTemporary(StorageType type, ExtendedBlock block) throws IOException {
    return creations.copy(type, block, tier -> super.createTemporary(tier, block));
  }

  void note(ExtendedBlockId block, ReplicaInfo replica, BlockEvent.Kind kind, StorageType from, StorageType to,
      Reason reason) {
    File folder = journalOf(block, (TierVolume) replica.getVolume());
    if (folder == null) {
      return; // the last folder is being removed, and its journal with it
    }
    journal.add(block, folder, new BlockEvent(Time.now(), kind, from, to, reason));
    if (volumeMap.get(block.getBlockPoolId(), block.getBlockId()) == null) {
      journal.forget(block); // it was deleted meanwhile, and nothing else would forget it
    }
  }

  /**
   * The folder whose journal has what happens to a replica: its own, else one on SSD or disk, if there is one; null if
   * this DataNode has no folder.
   */
  private File journalOf(ExtendedBlockId block, TierVolume storage) {
    if (storage.ownsFiles()) {
      return new File(storage.getBasePath());
    }
    File last = journal.folderOf(block);
    File other = null;
    for (TierVolume volume : volumes(null)) {
      File folder = new File(volume.getBasePath());
      if (folder.equals(last) && !volume.isRam()) {
        return folder;
      }
      other = other == null || !volume.isRam() ? folder : other;
    }
    return other;
  }

  /** Whether what the journal of a folder has of a block is about the replica that there is. */
  boolean isStoryOf(TierVolume folder, ReplicaInfo replica, ExtendedBlockId block) {
    return replica != null && replica.getVolume() == folder;
  }

  @Override
  public void finalizeBlock(ExtendedBlock block) throws IOException {
    openShadows.complete(block.getBlockPoolId(), block.getBlockId());
    super.finalizeBlock(block);
    uses.written(key(block), Time.monotonicNow());
    openShadows.place(block.getBlockPoolId(), block.getBlockId());
    if (isDeletingBlock(block.getBlockPoolId(), block.getBlockId())) {
      places.tell(key(block)); // it came back, and the one before may be reported as deleted only now
    }
  }

  private interface Growing {
    ReplicaHandler run() throws IOException;
  }

  private ReplicaHandler grow(ExtendedBlock block, Growing growing) throws IOException {
    copies.drop(key(block));
    try {
      return watched(block, growing.run());
    } catch (DiskOutOfSpaceException e) {
      if (!leaveForGrowth(block)) {
        throw e;
      }
      return watched(block, growing.run());
    }
  }

  @Override
  public ReplicaHandler append(ExtendedBlock block, long stamp, long length) throws IOException {
    return grow(block, () -> super.append(block, stamp, length));
  }

  @Override
  public ReplicaHandler recoverAppend(ExtendedBlock block, long stamp, long length) throws IOException {
    return restamped(block, grow(block, () -> super.recoverAppend(block, stamp, length)));
  }

  @Override
  public ReplicaHandler recoverRbw(ExtendedBlock block, long stamp, long least, long most) throws IOException {
    return restamped(block, watched(block, super.recoverRbw(block, stamp, least, most)));
  }

  private ReplicaHandler restamped(ExtendedBlock block, ReplicaHandler made) throws IOException {
    try {
      restamp(block);
      return made;
    } catch (IOException e) {
      made.close();
      throw e;
    }
  }

  /** What was persisted of a replica that goes on being written is found by its new generation stamp. */
  void restamp(ExtendedBlock block) throws IOException {
    openShadows.restamp(block.getBlockPoolId(), block.getBlockId());
  }

  @Override
  public Replica recoverClose(ExtendedBlock block, long stamp, long length) throws IOException {
    Replica closed = super.recoverClose(block, stamp, length);
    openShadows.settle(block.getBlockPoolId(), block.getBlockId());
    return closed;
  }

  @Override
  public Replica updateReplicaUnderRecovery(ExtendedBlock old, long recovery, long newId, long length)
      throws IOException {
    Replica updated = super.updateReplicaUnderRecovery(old, recovery, newId, length);
    openShadows.settle(old.getBlockPoolId(), old.getBlockId());
    return updated;
  }

  /** Moves a replica that its tier has no room for, to a slower one. */
  private boolean leaveForGrowth(ExtendedBlock block) throws IOException {
    ReplicaInfo replica = volumeMap.get(block.getBlockPoolId(), block.getBlockId());
    return replica instanceof FinalizedReplica
        && moveDown(block.getBlockPoolId(), (FinalizedReplica) replica, Reason.GROWS, null);
  }

  @Override
  public void invalidate(String pool, Block[] blocks) throws IOException {
    for (Block block : blocks) {
      shadows.deleting(new ExtendedBlockId(block.getBlockId(), pool));
    }
    try {
      super.invalidate(pool, blocks);
    } finally {
      for (Block block : blocks) {
        ExtendedBlockId id = new ExtendedBlockId(block.getBlockId(), pool);
        boolean isGone = volumeMap.get(pool, block.getBlockId()) == null;
        shadows.deleted(id, isGone);
        if (isGone) {
          openShadows.drop(id);
          copies.drop(id);
          uses.forget(id);
          journal.forget(id);
        }
      }
    }
  }

  // Moving.

  /**
   * Moves a replica to where its shadow is, else to the next slower tier that has room.
   *
   * @return whether it is there now; not if no tier has room, or the replica changed meanwhile
   */
  boolean moveDown(String pool, FinalizedReplica replica, Reason reason, DataTransferThrottler throttler)
      throws IOException {
    TierVolume shadow = shadows.folder(pool, replica);
    TierVolume target = shadow != null ? shadow : below(replica);
    return target != null && move(pool, replica, target, reason, throttler);
  }

  /** The folder on the next slower tier that has room for a replica; null if none has. */
  TierVolume below(ReplicaInfo replica) throws IOException {
    StorageType type = replica.getVolume().getStorageType();
    for (StorageType slower : Creations.slower(type)) {
      TierVolume target = roomiest(slower, replica.getNumBytes());
      if (target != null) {
        return target;
      }
    }
    return null;
  }

  /** The folder of a type that has most room, if that is enough for so many bytes and their checksums; else null. */
  TierVolume roomiest(StorageType type, long bytes) throws IOException {
    TierVolume best = null;
    for (TierVolume volume : volumes(type)) {
      if (volume.getAvailable() >= bytes + bytes / 100
          && (best == null || volume.getAvailable() > best.getAvailable())) {
        best = volume;
      }
    }
    return best;
  }

  boolean move(String pool, FinalizedReplica replica, TierVolume target, Reason reason,
      DataTransferThrottler throttler) throws IOException {
    ExtendedBlockId block = new ExtendedBlockId(replica.getBlockId(), pool);
    if (!begin(block)) {
      return false;
    }
    FsVolumeSpi source = replica.getVolume();
    // Before a shadow is taken: it stays one if a folder is being taken away. Then that waits.
    try (FsVolumeReference from = source.obtainReference(); FsVolumeReference to = target.obtainReference()) {
      ReplicaCopy copy = shadows.take(block, replica, target);
      if (copy == null) {
        copy = new ReplicaCopy(this, pool, replica, target);
        if (!copy.make(throttler, () -> shadows.drop(block, target))) {
          return false;
        }
      }
      FinalizedReplica moved = null;
      try {
        moved = copy.exchange();
      } finally {
        if (moved == null) {
          shadows.giveUp(block, copy);
        }
      }
      if (moved == null) {
        return false;
      }
      moved(block, moved, source.getStorageType(), reason);
      return true;
    } finally {
      end(block);
    }
  }

  void moved(ExtendedBlockId block, FinalizedReplica moved, StorageType from, Reason reason) {
    copies.drop(block);
    shadows.drop(block, null);
    note(block, moved, BlockEvent.Kind.MOVED, from, moved.getVolume().getStorageType(), reason);
    counts.moved(moved.getNumBytes());
  }

  /** Whether this thread may move a replica, or persist it, now; not if another one does. */
  boolean begin(ExtendedBlockId block) {
    return moving.add(block);
  }

  void end(ExtendedBlockId block) {
    moving.remove(block);
  }

  void persisted(ExtendedBlockId block, ReplicaInfo replica, ReplicaCopy shadow) {
    note(block, replica, BlockEvent.Kind.PERSISTED, replica.getVolume().getStorageType(),
        shadow.volume().getStorageType(), Reason.BEHIND);
    counts.persisted(shadow.bytes());
  }

  void repaired(ExtendedBlockId block, ReplicaInfo replica, ReplicaCopy shadow) {
    note(block, replica, BlockEvent.Kind.REPAIRED, shadow.volume().getStorageType(),
        replica.getVolume().getStorageType(), Reason.DAMAGED);
  }

  /** Has a shadow take the place of a replica that is no longer in RAM. */
  void revive(ExtendedBlockId block, ReplicaCopy shadow) throws IOException {
    FinalizedReplica revived = shadow.revive();
    if (revived != null) {
      note(block, revived, BlockEvent.Kind.MOVED, StorageType.RAM_DISK, shadow.volume().getStorageType(), Reason.LOST);
    }
  }

  /** Tells the NameNode of a replica. */
  void reportReceived(String pool, Block block, FsVolumeSpi volume) {
    ifThere(volume, () -> datanode.notifyNamenodeReceivedBlock(new ExtendedBlock(pool, block), null,
        volume.getStorageID(), false));
  }

  /** Tells the NameNode that a replica is gone. */
  void reportDeleted(String pool, Block block, FsVolumeSpi volume) {
    ifThere(volume, () -> datanode.notifyNamenodeDeletedBlock(new ExtendedBlock(pool, block), volume.getStorageID()));
  }

  /**
   * Nothing is told of a folder that was taken away, or has failed: upstream has told that all is gone, and a report of
   * a storage that it no longer has ends all reports of the DataNode. A folder that is going waits for the reference.
   */
  private static void ifThere(FsVolumeSpi volume, Runnable report) {
    try (FsVolumeReference there = volume.obtainReference()) {
      report.run();
    } catch (IOException e) {
      LOG.debug("{} is gone, and nothing is told of it", volume, e);
    }
  }

  /** How many replicas are being moved. */
  int inMotion() {
    return moving.size();
  }

  /** Copies a replica to RAM. */
  boolean copyToRam(String pool, FinalizedReplica replica, TierVolume ram, DataTransferThrottler throttler)
      throws IOException {
    ExtendedBlockId block = new ExtendedBlockId(replica.getBlockId(), pool);
    if (!copies.make(pool, replica, ram, throttler)) {
      return false;
    }
    StorageType from = replica.getVolume().getStorageType();
    note(block, replica, BlockEvent.Kind.COPIED, from, StorageType.RAM_DISK, Reason.HOT);
    counts.copied(replica.getNumBytes());
    return true;
  }

  void droppedCopy(ExtendedBlockId block, ReplicaInfo replica) {
    note(block, replica, BlockEvent.Kind.COPY_DROPPED, StorageType.RAM_DISK, replica.getVolume().getStorageType(),
        Reason.DROPPED);
  }

  /**
   * For the Balancer and the Mover. Upstream's does not look again after the copy, and would lose an append in between.
   */
  @Override
  public ReplicaInfo moveBlockAcrossStorage(ExtendedBlock block, StorageType type) throws IOException {
    ReplicaInfo replica = getReplicaInfo(block);
    if (!(replica instanceof FinalizedReplica)) {
      throw new ReplicaNotFoundException(ReplicaNotFoundException.UNFINALIZED_REPLICA + block);
    }
    if (replica.getVolume().getStorageType() == type) {
      throw new ReplicaAlreadyExistsException("Replica " + replica + " already exists on storage " + type);
    }
    TierVolume target = roomiest(type, replica.getNumBytes());
    if (target == null) {
      throw new DiskOutOfSpaceException("no folder of type " + type + " has room for " + replica);
    }
    if (!move(block.getBlockPoolId(), (FinalizedReplica) replica, target, Reason.COMMAND, null)) {
      throw new IOException("Replica " + replica + " changed while it was copied to storage " + type);
    }
    return replica;
  }

  // Reading.

  /**
   * Upstream's scanner asks this of a block that it could not read, or whose checksums were wrong, before it has the
   * NameNode hear of it. One that was made anew is no longer what was scanned.
   */
  @Override
  public boolean contains(ExtendedBlock block) {
    boolean isScan = Thread.currentThread() instanceof VolumeScanner;
    return super.contains(block) && !(isScan && repairs.makeAnew(key(block)));
  }

  @Override
  public InputStream getBlockInputStream(ExtendedBlock block, long offset) throws IOException {
    ExtendedBlockId key = key(block);
    boolean isScan = Thread.currentThread() instanceof VolumeScanner;
    InputStream copy = isScan ? null : copies.open(key, offset);
    if (!isScan) {
      read(key, copy != null);
    }
    return copy != null ? copy : found(block, () -> super.getBlockInputStream(block, offset));
  }

  private void read(ExtendedBlockId block, boolean isCopy) {
    ReplicaInfo replica = volumeMap.get(block.getBlockPoolId(), block.getBlockId());
    if (replica instanceof FinalizedReplica) {
      boolean isInRam = isCopy || replica.getVolume().getStorageType() == StorageType.RAM_DISK;
      counts.read(isInRam);
      int reads = uses.read(block, Time.monotonicNow());
      if (!isInRam && settings.promotionReads() > 0 && reads >= settings.promotionReads()) {
        mover.promote(block);
      }
    }
  }

  @Override
  public LengthInputStream getMetaDataInputStream(ExtendedBlock block) throws IOException {
    return found(block, () -> super.getMetaDataInputStream(block));
  }

  @Override
  public void checkBlock(ExtendedBlock block, long length, ReplicaState state) throws IOException {
    found(block, () -> {
      super.checkBlock(block, length, state);
      return this;
    });
  }

  @Override
  public long getLength(ExtendedBlock block) throws IOException {
    return found(block, () -> super.getLength(block));
  }

  @Override
  File validateBlockFile(String pool, long id) {
    File file = file(pool, id);
    while (file != null && !file.exists()) {
      File now = file(pool, id);
      if (file.equals(now)) {
        return super.validateBlockFile(pool, id);
      }
      file = now;
    }
    return file;
  }

  private interface Opening<T> {
    T run() throws IOException;
  }

  /** Opens a file of a replica; again, if it was moved meanwhile. */
  private <T> T found(ExtendedBlock block, Opening<T> opening) throws IOException {
    while (true) {
      File before = file(block.getBlockPoolId(), block.getBlockId());
      try {
        T opened = opening.run();
        if (opened != null || !isMoved(block, before)) {
          return opened;
        }
      } catch (IOException e) {
        if (!isMoved(block, before)) {
          throw e;
        }
      }
    }
  }

  private boolean isMoved(ExtendedBlock block, File before) {
    File now = file(block.getBlockPoolId(), block.getBlockId());
    return now != null && before != null && !now.equals(before);
  }

  private File file(String pool, long id) {
    ReplicaInfo replica = volumeMap.get(pool, id);
    return replica == null ? null : replica.getBlockFile();
  }

  /** Upstream's walks through the map without its lock, and fails if a replica comes or goes meanwhile. */
  @Override
  public Map<DatanodeStorage, BlockListAsLongs> getBlockReports(String pool) {
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      return super.getBlockReports(pool);
    }
  }

  // Scanning.

  @Override
  public void checkAndUpdate(String pool, long id, File file, File meta, FsVolumeSpi volume) throws IOException {
    ScannedReplica scanned;
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      scanned = new ScannedReplica(volumeMap.get(pool, id), file, meta);
      if (scanned.isAnother() && (isDeletingBlock(pool, id) || scanned.removeIfOlder())) {
        return;
      }
    }
    super.checkAndUpdate(pool, id, file, scanned.meta(), volume);
  }

  // Starting and ending.

  /** Nothing is written to folders that are taken away, where another file system may be mounted by then. */
  @Override
  public void removeVolumes(Set<File> folders, boolean isFailureForgotten) {
    super.removeVolumes(folders, isFailureForgotten);
    folders.forEach(journal::leave);
  }

  @Override
  public void addBlockPool(String pool, Configuration conf) throws IOException {
    ShadowFolders folders = new ShadowFolders(this, pool);
    folders.restore();
    if (settings.mode().isAllInRam()) {
      folders.putAside();
    }
    if (StartupOption.ROLLBACK.name().equals(conf.get(DFSConfigKeys.DFS_DATANODE_STARTUP_KEY))) {
      folders.forgetListsBeforeRollback();
    }
    super.addBlockPool(pool, conf);
    folders.takeBack(shadows);
    for (TierVolume volume : volumes(null)) {
      journal.load(new File(volume.getBasePath()), pool,
          block -> isStoryOf(volume, volumeMap.get(pool, block.getBlockId()), block));
    }
    journal.endCopies(pool, Time.now());
    open.add(pool);
  }

  @Override
  public void shutdownBlockPool(String pool) {
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      open.remove(pool);
    }
    shadows.forget(pool);
    openShadows.forget(pool);
    super.shutdownBlockPool(pool);
    new ShadowFolders(this, pool).forgetLists();
  }

  /** Whether the replicas of a block pool are known: not while it starts or ends. */
  boolean isOpen(String pool) {
    return open.contains(pool);
  }

  /** The finalized replicas in a folder, of a block pool that is open. */
  List<FinalizedReplica> finalizedIn(String pool, TierVolume volume) {
    List<FinalizedReplica> found = new ArrayList<>();
    try (AutoCloseableLock lock = acquireDatasetLock()) {
      if (!isOpen(pool)) {
        return found;
      }
      for (ReplicaInfo replica : volumeMap.replicas(pool)) {
        if (replica instanceof FinalizedReplica && replica.getVolume() == volume) {
          found.add((FinalizedReplica) replica);
        }
      }
    }
    return found;
  }

  @Override
  public void shutdown() {
    mover.stop();
    shadows.stop();
    places.stop();
    copies.in(null).forEach(copies::drop);
    journal.close();
    status.close();
    super.shutdown();
  }
}

package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.Block;
import org.apache.hadoop.hdfs.server.datanode.DatanodeUtil;

/**
 * Blocks that were being written when a DataNode ended, and of which it has lost what an hsync left on the shared path:
 * they come back to a local folder before upstream looks there for replicas, for the recovery of their lease.
 */
final class OpenCopies {
  private static final String LIST = "replicas";
  private static final StorageType[] TIERS = {StorageType.SSD, StorageType.DISK, StorageType.RAM_DISK};

  private final SharedDataset dataset;
  private final String pool;

  OpenCopies(SharedDataset dataset, String pool) {
    this.dataset = dataset;
    this.pool = pool;
  }

  private File current(TierVolume volume) {
    return new File(new File(volume.getCurrentDir(), pool), "current");
  }

  /** Waits for the shared path as long as writers do. */
  void restore(List<Path> metas) throws IOException {
    for (Path meta : metas) {
      Path data = Block.metaToBlockFile(meta.toFile()).toPath();
      try {
        dataset.shared().await(() -> isHere(data, meta) || bring(data, meta));
      } catch (IOException e) {
        dataset.counts().failures.increment();
        TierDataset.LOG.warn("{} was left by an hsync and cannot be copied to a local folder, so its file may lose "
            + "what was written; start the DataNode again when that is mended", data, e);
      }
    }
  }

  private static long stamp(String meta) {
    return Block.getGenerationStamp(meta);
  }

  /** Whether a local folder has the block as new, and as long if it is still being written. */
  private boolean isHere(Path data, Path meta) throws IOException {
    String name = data.getFileName().toString();
    long stamp = stamp(meta.getFileName().toString());
    for (TierVolume volume : dataset.volumes(null)) {
      File finalized = DatanodeUtil.idToBlockDir(new File(current(volume), "finalized"), Block.filename2id(name));
      File open = new File(current(volume), "rbw");
      if (has(finalized, name, stamp)
          || has(open, name, stamp) && new File(open, name).length() >= Files.size(data)) {
        return true;
      }
    }
    return false;
  }

  private static boolean has(File folder, String name, long stamp) {
    String[] metas = folder.list((where, file) -> file.startsWith(name + "_") && Block.isMetaFilename(file)
        && stamp(file) >= stamp);
    return metas != null && metas.length > 0 && new File(folder, name).exists();
  }

  private boolean bring(Path data, Path meta) throws IOException {
    TierVolume target = null;
    for (StorageType tier : TIERS) {
      target = target == null ? dataset.roomiest(tier, Files.size(data)) : target;
    }
    if (target == null) {
      throw new IOException("no folder of this DataNode has room for it");
    }
    Path folder = Files.createDirectories(new File(current(target), "rbw").toPath());
    File[] older = folder.toFile().listFiles((where, file) -> file.startsWith(data.getFileName() + "_"));
    ReplicaCopy.delete(older == null ? new File[0] : older);
    copy(meta, folder);
    copy(data, folder);
    ReplicaCopy.sync(folder.toFile());
    Files.deleteIfExists(current(target).toPath().resolve(LIST)); // upstream would not look at the folder
    TierDataset.LOG.info("{} is back in {}, as an hsync left it", data, folder);
    return true;
  }

  private static void copy(Path file, Path folder) throws IOException {
    Path part = folder.resolve(file.getFileName() + ".open");
    try (FileChannel in = FileChannel.open(file); FileChannel out = FileChannel.open(part, StandardOpenOption.CREATE,
        StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
      ReplicaCopy.copy(in, out, null);
      out.force(true);
    }
    Files.move(part, folder.resolve(file.getFileName()), StandardCopyOption.ATOMIC_MOVE);
  }
}

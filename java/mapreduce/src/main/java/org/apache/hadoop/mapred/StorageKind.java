package org.apache.hadoop.mapred;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** What holds a folder, the fastest first. */
enum StorageKind {
  RAM, SSD, DISK;

  private static final Path BLOCK_DEVICES = Paths.get("/sys/class/block");

  /** The kind of storage of a folder that exists or will be made; {@link #DISK} if that can't be known. */
  static StorageKind of(Path folder) {
    try {
      FileStore store = Files.getFileStore(existing(folder));
      if (store.type().equals("tmpfs") || store.type().equals("ramfs")) {
        return RAM;
      }
      return store.name().startsWith("/dev/") && isSolidState(Paths.get(store.name()).toRealPath()) ? SSD : DISK;
    } catch (IOException e) {
      return DISK;
    }
  }

  /** A folder or, before it is made, the nearest one above it that exists. */
  static Path existing(Path folder) {
    Path found = folder.toAbsolutePath();
    while (found.getParent() != null && !Files.exists(found)) {
      found = found.getParent();
    }
    return found;
  }

  /** @throws IOException if the system does not say */
  private static boolean isSolidState(Path device) throws IOException {
    Path block = BLOCK_DEVICES.resolve(device.getFileName()).toRealPath();
    Path rotational = block.resolve("queue/rotational");
    if (!Files.exists(rotational)) {
      rotational = block.resolveSibling("queue/rotational"); // the disk's, for a partition
    }
    return new String(Files.readAllBytes(rotational), StandardCharsets.US_ASCII).trim().equals("0");
  }
}

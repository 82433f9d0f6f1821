package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import java.util.concurrent.atomic.LongAdder;
import org.apache.hadoop.fs.StorageType;

/** What a DataNode in a storage mode has done since its start. Thread-safe. */
final class TierCounts {
  final LongAdder createdInRam = new LongAdder();
  final LongAdder createdElsewhere = new LongAdder();
  final LongAdder readsFromRam = new LongAdder();
  final LongAdder reads = new LongAdder();
  final LongAdder moves = new LongAdder();
  final LongAdder movedBytes = new LongAdder();
  final LongAdder copies = new LongAdder();
  final LongAdder copiedBytes = new LongAdder();
  final LongAdder persisted = new LongAdder();
  final LongAdder persistedBytes = new LongAdder();
  final LongAdder failures = new LongAdder();

  void created(StorageType asked, StorageType type) {
    if (type != asked) {
      createdElsewhere.increment();
    } else if (type == StorageType.RAM_DISK) {
      createdInRam.increment();
    }
  }

  void read(boolean isInRam) {
    reads.increment();
    if (isInRam) {
      readsFromRam.increment();
    }
  }

  void moved(long bytes) {
    moves.increment();
    movedBytes.add(bytes);
  }

  void persisted(long bytes) {
    persisted.increment();
    persistedBytes.add(bytes);
  }

  void copied(long bytes) {
    copies.increment();
    copiedBytes.add(bytes);
  }
}

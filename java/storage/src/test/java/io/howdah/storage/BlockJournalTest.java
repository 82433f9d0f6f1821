package io.howdah.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.ExtendedBlockId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is noted is found, in memory and after a restart. */
class BlockJournalTest {
  private static final ExtendedBlockId A = new ExtendedBlockId(-7, "BP-1");
  private static final ExtendedBlockId B = new ExtendedBlockId(8, "BP-1");

  @TempDir
  Path folder;

  private static BlockEvent event(long time, Reason reason) {
    return event(time, BlockEvent.Kind.MOVED, reason);
  }

  private static BlockEvent event(long time, BlockEvent.Kind kind, Reason reason) {
    return new BlockEvent(time, kind, StorageType.RAM_DISK, StorageType.SSD, reason);
  }

  private static List<String> texts(BlockJournal journal, ExtendedBlockId block) {
    return journal.of(block).stream().map(String::valueOf).collect(Collectors.toList());
  }

  @Test
  void everyEventFitsInALongAndInALine() {
    Random random = new Random(1);
    for (BlockEvent.Kind kind : BlockEvent.Kind.values()) {
      for (Reason reason : Reason.values()) {
        for (StorageType from : StorageType.values()) {
          for (StorageType to : StorageType.values()) {
            BlockEvent event = new BlockEvent(Math.abs(random.nextLong()) >>> 20, kind, from, to, reason);
            assertThat(BlockEvent.unpacked(event.packed())).hasToString(event.toString());
            assertThat(BlockEvent.parse(event.toString())).hasToString(event.toString());
          }
        }
        BlockEvent unknown = new BlockEvent(1, kind, null, StorageType.ARCHIVE, reason);
        assertThat(BlockEvent.unpacked(unknown.packed())).hasToString(unknown.toString());
        assertThat(BlockEvent.parse(unknown.toString()).toString()).contains("unknown").isEqualTo(unknown.toString());
      }
    }
  }

  @Test
  void aRestartFindsWhatIsThere() throws Exception {
    File volume = folder.toFile();
    BlockJournal journal = new BlockJournal();
    journal.add(A, volume, event(1, Reason.RAM_FULL));
    journal.add(B, volume, event(2, Reason.ASKED));
    journal.add(A, volume, event(3, Reason.COLD));
    journal.flush();
    Files.write(folder.resolve(BlockJournal.FILE), "BP-1\tblk_8\t2026-01-01T00".getBytes(StandardCharsets.UTF_8),
        StandardOpenOption.APPEND); // cut by a crash
    BlockJournal next = new BlockJournal();
    next.load(volume, "BP-2", block -> true);
    assertThat(next.of(A)).isEmpty();
    next.load(volume, "BP-1", A::equals);
    assertThat(texts(next, A)).isEqualTo(texts(journal, A)).hasSize(2);
    assertThat(next.of(B)).isEmpty();
  }

  @Test
  void eventsOfSeveralFoldersAreInTheOrderOfTime() throws Exception {
    File one = Files.createDirectory(folder.resolve("one")).toFile();
    File other = Files.createDirectory(folder.resolve("other")).toFile();
    BlockJournal journal = new BlockJournal();
    journal.add(A, one, event(1, Reason.RAM_FULL));
    journal.add(A, one, event(2, Reason.COLD));
    journal.add(A, other, event(2, Reason.GROWS));
    journal.add(A, one, event(4, Reason.COLD));
    journal.add(A, other, event(5, Reason.GROWS));
    journal.flush();
    BlockJournal next = new BlockJournal();
    next.load(other, "BP-1", block -> true);
    next.load(one, "BP-1", block -> true);
    assertThat(texts(next, A)).isEqualTo(Arrays.asList(event(1, Reason.RAM_FULL), event(2, Reason.COLD),
        event(2, Reason.GROWS), event(4, Reason.COLD), event(5, Reason.GROWS)).stream().map(String::valueOf)
        .collect(Collectors.toList()));
    assertThat(next.folderOf(A)).as("of the last one").isEqualTo(other);
    for (int i = 6; i < 20; i++) {
      next.add(A, other, event(i, Reason.COLD));
    }
    next.flush();
    BlockJournal last = new BlockJournal();
    last.load(other, "BP-1", block -> true);
    last.load(one, "BP-1", block -> true);
    assertThat(texts(last, A)).hasSize(8).first().asString().startsWith("1970-01-01T00:00:00.001Z");
    assertThat(texts(last, A)).last().asString().startsWith("1970-01-01T00:00:00.019Z");
  }

  @Test
  void theFolderOfAReplicaHasAllOfItsEventsHoweverOftenItMoved() throws Exception {
    File one = Files.createDirectory(folder.resolve("one")).toFile();
    File other = Files.createDirectory(folder.resolve("other")).toFile();
    BlockJournal journal = new BlockJournal();
    journal.add(A, one, event(1, BlockEvent.Kind.CREATED, Reason.ASKED));
    journal.flush();
    journal.add(A, other, event(2, Reason.COLD));
    journal.add(A, one, event(3, Reason.GROWS));
    journal.add(A, other, event(4, Reason.COLD));
    journal.flush();
    BlockJournal next = new BlockJournal();
    next.load(other, "BP-1", A::equals);
    assertThat(texts(next, A)).isEqualTo(texts(journal, A)).hasSize(4);
    next.load(one, "BP-1", A::equals);
    assertThat(texts(next, A)).as("each once").isEqualTo(texts(journal, A));
    assertThat(next.folderOf(A)).isEqualTo(other);
  }

  @Test
  void aReplicaThatIsCreatedAgainHasNothingOfTheOneBefore() throws Exception {
    File one = Files.createDirectory(folder.resolve("one")).toFile();
    File other = Files.createDirectory(folder.resolve("other")).toFile();
    BlockJournal journal = new BlockJournal();
    journal.add(A, one, event(1, BlockEvent.Kind.CREATED, Reason.ASKED));
    journal.add(A, other, event(2, Reason.COLD));
    journal.forget(A);
    journal.add(A, one, event(3, BlockEvent.Kind.CREATED, Reason.ASKED));
    journal.add(A, one, event(4, Reason.HOT));
    journal.flush();
    for (File first : new File[] {one, other}) {
      BlockJournal next = new BlockJournal();
      next.load(first, "BP-1", A::equals);
      next.load(first == one ? other : one, "BP-1", A::equals);
      assertThat(texts(next, A)).isEqualTo(texts(journal, A)).hasSize(2);
    }
  }

  @Test
  void aCopyInRamEndsWithTheDataNode() throws Exception {
    BlockJournal journal = new BlockJournal();
    BlockEvent copied =
        new BlockEvent(2, BlockEvent.Kind.COPIED, StorageType.SSD, StorageType.RAM_DISK, Reason.HOT);
    journal.add(A, folder.toFile(), event(1, BlockEvent.Kind.CREATED, Reason.ASKED));
    journal.add(A, folder.toFile(), copied);
    journal.add(B, folder.toFile(), copied);
    journal.add(B, folder.toFile(), event(3, BlockEvent.Kind.COPY_DROPPED, Reason.DROPPED));
    journal.flush();
    assertThat(journal.tier(A)).as("the replica stays").isEqualTo(StorageType.SSD);
    BlockJournal next = new BlockJournal();
    next.load(folder.toFile(), "BP-1", block -> true);
    next.endCopies("BP-2", 4);
    assertThat(texts(next, A)).hasSize(2);
    next.endCopies("BP-1", 4);
    assertThat(texts(next, A)).hasSize(3).last().asString().endsWith("\tcopy-dropped\tRAM_DISK\tSSD\trestart");
    assertThat(texts(next, B)).as("it had ended").isEqualTo(texts(journal, B));
    next.endCopies("BP-1", 5);
    assertThat(texts(next, A)).as("once").hasSize(3);
    next.flush();
    BlockJournal last = new BlockJournal();
    last.load(folder.toFile(), "BP-1", block -> true);
    assertThat(texts(last, A)).isEqualTo(texts(next, A));
  }

  @Test
  void theFirstAndTheLastEventsAreKept() {
    BlockJournal journal = new BlockJournal();
    for (int i = 0; i < 100; i++) {
      journal.add(A, folder.toFile(), event(i, Reason.COLD));
    }
    assertThat(texts(journal, A)).hasSize(8).first().asString().startsWith("1970-01-01T00:00:00Z");
    assertThat(texts(journal, A)).last().asString().startsWith("1970-01-01T00:00:00.099Z");
    journal.forget(A);
    assertThat(journal.of(A)).isEmpty();
  }

  @Test
  void aFolderThatCannotBeWrittenStopsNothing() {
    BlockJournal journal = new BlockJournal();
    journal.add(A, folder.resolve("missing").toFile(), event(1, Reason.ASKED));
    journal.flush();
    journal.flush();
    assertThat(journal.of(A)).hasSize(1);
  }
}

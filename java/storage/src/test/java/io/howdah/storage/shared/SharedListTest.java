package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A list of blocks that one DataNode writes and others follow. */
class SharedListTest {
  @TempDir
  private Path folder;

  private static SharedBlock block(long id, long stamp) {
    return new SharedBlock(id, stamp, Math.abs(id) * 10);
  }

  @Test
  void readersSeeWhatIsWritten() throws IOException {
    Path file = folder.resolve("list");
    SharedListReader reader = new SharedListReader(file);
    reader.read();
    assertThat(reader.blocks()).isEmpty();
    try (SharedList list = SharedList.write(file, Arrays.asList(block(1, 1), block(2, 1)), false)) {
      reader.read();
      assertThat(reader.blocks().values()).containsExactlyInAnyOrder(block(1, 1), block(2, 1));
      list.added(block(-3, 7));
      list.added(block(1, 2));
      list.removed(2);
      reader.read();
      assertThat(reader.blocks().values()).containsExactlyInAnyOrder(block(1, 2), block(-3, 7));
    }
    try (SharedList list = SharedList.write(file, Collections.singletonList(block(5, 1)), true)) {
      list.added(block(6, 1));
      reader.read();
      assertThat(reader.blocks().values()).as("written anew").containsExactlyInAnyOrder(block(5, 1), block(6, 1));
    }
    Files.delete(file);
    reader.read();
    assertThat(reader.blocks()).isEmpty();
  }

  @Test
  void blocksHaveIdsOfAnyLong() throws IOException {
    Path file = folder.resolve("list");
    SharedListReader reader = new SharedListReader(file);
    SharedBlock first = new SharedBlock(Long.MIN_VALUE, 1, 2);
    SharedBlock last = new SharedBlock(Long.MAX_VALUE, 1, 2);
    try (SharedList list = SharedList.write(file, Arrays.asList(first, last), false)) {
      append(file, "+ 9999999999999999999 1 1\n- 9999999999999999999\n- 1 2 3\n");
      reader.read();
      assertThat(reader.blocks().values()).containsExactlyInAnyOrder(first, last);
      list.removed(first.id());
      reader.read();
      assertThat(reader.blocks().values()).containsExactly(last);
    }
  }

  @Test
  void aLineWithoutItsEndWaitsAndOtherTextIsSkipped() throws IOException {
    Path file = folder.resolve("list");
    SharedList.write(file, Collections.emptyList(), false).close();
    SharedListReader reader = new SharedListReader(file);
    append(file, "+ 1 2 3\n+ 4 5");
    reader.read();
    assertThat(reader.blocks()).containsOnlyKeys(1L);
    append(file, "5 6\n");
    reader.read();
    assertThat(reader.blocks().get(4L)).isEqualTo(new SharedBlock(4, 55, 6));
    append(file, "nonsense\n+ 1\n+ 99999999999999999999 1 1\n\0\0\0\n- 1\n");
    reader.read();
    assertThat(reader.blocks()).containsOnlyKeys(4L);
    Files.write(file, "another kind of file\n+ 1 2 3\n".getBytes(StandardCharsets.US_ASCII));
    reader.read();
    assertThat(reader.blocks()).isEmpty();
  }

  private static void append(Path file, String text) throws IOException {
    Files.write(file, text.getBytes(StandardCharsets.ISO_8859_1), StandardOpenOption.APPEND);
  }

  @Test
  void aLongListIsFollowedAtAnyPoint() throws IOException {
    Random random = new Random(7);
    Map<Long, SharedBlock> truth = new HashMap<>();
    Path file = folder.resolve("list");
    List<SharedListReader> readers = new ArrayList<>();
    try (SharedList list = SharedList.write(file, Collections.emptyList(), false)) {
      for (int i = 0; i < 40_000; i++) {
        long id = random.nextInt(5000);
        if (random.nextInt(3) == 0) {
          list.removed(id);
          truth.remove(id);
        } else {
          list.added(block(id, i));
          truth.put(id, block(id, i));
        }
        if (i % 5000 == 0) {
          readers.add(new SharedListReader(file));
          for (SharedListReader reader : readers) {
            reader.read();
            assertThat(reader.blocks()).isEqualTo(truth);
          }
        }
      }
    }
    for (SharedListReader reader : readers) {
      reader.read();
      assertThat(reader.blocks()).isEqualTo(truth);
    }
  }
}

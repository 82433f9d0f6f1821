package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What DataNodes tell each other of damaged copies. */
class DoubtsTest {
  private static final List<String> OTHERS = Arrays.asList("a", "b");

  @TempDir
  private Path path;

  private Doubts keeper;
  private Doubts owner;

  @BeforeEach
  void create() throws IOException {
    for (String uuid : Arrays.asList("a", "b", "owner")) {
      new SharedFolder(path, "BP", uuid, false).create();
    }
    keeper = new Doubts(path, "BP", "a");
    owner = new Doubts(path, "BP", "owner");
  }

  @Test
  void anOwnerHearsOfItsCopiesOnce() throws IOException {
    assertThat(owner.read(OTHERS)).isEmpty();
    keeper.tell(Collections.singletonMap(7L, "owner"));
    keeper.tell(Collections.singletonMap(-8L, "owner"));
    keeper.tell(Collections.singletonMap(9L, "another"));
    assertThat(owner.read(OTHERS)).containsExactlyInAnyOrder(7L, -8L);
    assertThat(owner.read(OTHERS)).isEmpty();
    new Doubts(path, "BP", "b").tell(Collections.singletonMap(1L, "owner"));
    assertThat(owner.read(OTHERS)).containsExactly(1L);
    assertThat(new Doubts(path, "BP", "owner").read(OTHERS)).as("what was told before it started").isEmpty();
  }

  @Test
  void aLineWithoutItsEndWaitsAndOthersAreSkipped() throws IOException {
    owner.read(OTHERS);
    Path file = new SharedFolder(path, "BP", "a", false).doubts();
    Files.write(file, "owner 1\nnonsense\nowner 99999999999999999999\n\0\nowner 4".getBytes("US-ASCII"));
    assertThat(owner.read(OTHERS)).containsExactly(1L);
    Files.write(file, "2\n".getBytes("US-ASCII"), StandardOpenOption.APPEND);
    assertThat(owner.read(OTHERS)).containsExactly(42L);
  }

  @Test
  void aLongFileBeginsAnew() throws IOException {
    owner.read(OTHERS);
    TreeMap<Long, String> many = new TreeMap<>();
    for (long id = 0; id < 40_000; id++) {
      many.put(id, "owner");
    }
    keeper.tell(many);
    assertThat(owner.read(OTHERS)).hasSize(40_000);
    keeper.tell(Collections.singletonMap(50_000L, "owner"));
    assertThat(Files.size(new SharedFolder(path, "BP", "a", false).doubts())).isLessThan(100);
    assertThat(owner.read(OTHERS)).containsExactly(50_000L);
  }
}

package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What DataNodes that are gone have left on a shared path. */
class LeftoversTest {
  private static final String POOL = "BP-1";
  private static final long HOUR = 3_600_000;

  @TempDir
  private Path path;

  private Path owner(String uuid) {
    return path.resolve(POOL).resolve(uuid);
  }

  /** A DataNode with blocks, whose files and sign of life are so many hours old. */
  private void dataNode(String uuid, int hours, SharedBlock... blocks) throws IOException {
    SharedFolder folder = new SharedFolder(path, POOL, uuid, false);
    folder.create();
    for (SharedBlock block : blocks) {
      Path data = Files.write(path.resolve("data"), new byte[(int) block.length()]);
      Path meta = Files.write(path.resolve("meta"), new byte[7]);
      try (SharedFolder.Staged staged = folder.stage(block.id())) {
        staged.complete(block, data.toFile(), meta.toFile());
        staged.place(block);
      }
      Files.delete(data);
      Files.delete(meta);
    }
    SharedList.write(folder.list(), Arrays.asList(blocks), false).close();
    new Members(path, POOL, uuid, 2, 1000).enter();
    age(owner(uuid), hours);
    age(member(uuid), hours);
  }

  private Path member(String uuid) {
    return path.resolve(POOL).resolve("members").resolve(uuid);
  }

  private static void age(Path tree, int hours) throws IOException {
    List<Path> all;
    try (Stream<Path> files = Files.walk(tree)) {
      all = files.collect(Collectors.toList());
    }
    for (Path each : all) {
      Files.setLastModifiedTime(each, FileTime.fromMillis(System.currentTimeMillis() - hours * HOUR));
    }
  }

  private Leftovers leftovers(String... live) {
    return new Leftovers(path, POOL, new java.util.HashSet<>(Arrays.asList(live)), 24 * HOUR);
  }

  private static List<Long> ids(Leftovers.Gone gone) {
    return gone.blocks().stream().map(Leftovers.Left::id).collect(Collectors.toList());
  }

  @Test
  void onlyDataNodesThatAreSilentForLongAndNotLiveAreGone() throws IOException {
    dataNode("live", 100, new SharedBlock(1, 1, 10));
    dataNode("silent", 23, new SharedBlock(2, 1, 10));
    dataNode("gone", 25, new SharedBlock(3, 1, 10));
    List<Leftovers.Gone> gone = leftovers("live").find();
    assertThat(gone).hasSize(1);
    assertThat(gone.get(0).uuid()).isEqualTo("gone");
    assertThat(ids(gone.get(0))).containsExactly(3L);
    assertThat(gone.get(0).blocks().iterator().next().bytes()).isEqualTo(17);
    assertThat(path.toFile().list()).as("no probe is left").containsExactly(POOL);
    assertThat(Leftovers.pools(path)).containsExactly(POOL);
  }

  @Test
  void aBlockIsElsewhereIfItIsWholeAndAsNewWithOneThatIsThere() throws IOException {
    dataNode("gone", 25, new SharedBlock(1, 5, 10), new SharedBlock(2, 5, 10), new SharedBlock(3, 5, 10),
        new SharedBlock(4, 5, 10));
    dataNode("gone-too", 25, new SharedBlock(4, 5, 10));
    dataNode("live", 0, new SharedBlock(1, 5, 10), new SharedBlock(2, 4, 10), new SharedBlock(3, 6, 10));
    Files.write(new SharedFolder(path, POOL, "live", false).of(3).toPath().resolve("blk_3"), new byte[3]);
    Leftovers leftovers = leftovers("live");
    Leftovers.Gone gone = leftovers.find().get(0);
    List<Long> elsewhere = new ArrayList<>();
    for (Leftovers.Left left : gone.blocks()) {
      if (leftovers.isElsewhere(left)) {
        elsewhere.add(left.id());
      }
    }
    assertThat(elsewhere).as("2 is older there, 3 not whole, 4 with one that is gone").containsExactly(1L);
  }

  @Test
  void blocksAreRemovedFromListAndFolderAndTheFolderWithTheLast() throws IOException {
    dataNode("gone", 25, new SharedBlock(1, 1, 10), new SharedBlock(2, 1, 10));
    Files.write(owner("gone").resolve("tmp/blk_9.1"), new byte[5]);
    Files.write(owner("gone").resolve("list"), "+ 3 1".getBytes("US-ASCII"),
        java.nio.file.StandardOpenOption.APPEND); // it ended while it wrote
    age(owner("gone"), 25);
    Leftovers leftovers = leftovers("live");
    Leftovers.Gone gone = leftovers.find().get(0);
    leftovers.remove(gone, Collections.singletonList(gone.blocks().iterator().next()));
    SharedListReader list = new SharedListReader(owner("gone").resolve("list"));
    list.read();
    assertThat(list.blocks()).containsOnlyKeys(2L);
    assertThat(new SharedFolder(path, POOL, "gone", false).has(new SharedBlock(1, 1, 10))).isFalse();
    assertThat(new SharedFolder(path, POOL, "gone", false).has(new SharedBlock(2, 1, 10))).isTrue();
    assertThat(ids(gone)).containsExactly(2L);
    leftovers.remove(gone, new ArrayList<>(gone.blocks()));
    assertThat(owner("gone")).doesNotExist();
    assertThat(member("gone")).doesNotExist();
    assertThat(path.resolve(POOL).toFile().list()).containsExactly("members");
  }

  @Test
  void aDataNodeThatComesBackKeepsItsFiles() throws IOException {
    dataNode("gone", 25, new SharedBlock(1, 1, 10));
    Leftovers leftovers = leftovers("live");
    Leftovers.Gone gone = leftovers.find().get(0);
    new Members(path, POOL, "gone", 2, 1000).beat();
    assertThatThrownBy(() -> leftovers.remove(gone, new ArrayList<>(gone.blocks()))).hasMessageContaining("is back");
    assertThat(new SharedFolder(path, POOL, "gone", false).has(new SharedBlock(1, 1, 10))).isTrue();
  }

  @Test
  void filesThatAreYoungOrNotOursStay() throws IOException {
    dataNode("gone", 25, new SharedBlock(1, 1, 10), new SharedBlock(2, 1, 10));
    Path young = new SharedFolder(path, POOL, "gone", false).of(1).toPath().resolve("blk_1");
    Files.setLastModifiedTime(young, FileTime.fromMillis(System.currentTimeMillis()));
    Leftovers leftovers = leftovers("live");
    List<Boolean> found = new ArrayList<>();
    leftovers.find().get(0).blocks().forEach(left -> found.add(leftovers.isYoung(left)));
    assertThat(found).containsExactly(true, false);
    Files.write(owner("gone").resolve("notes"), new byte[1]);
    Leftovers.Gone gone = leftovers.find().get(0);
    assertThatThrownBy(() -> leftovers.remove(gone, new ArrayList<>(gone.blocks())))
        .hasMessageContaining("is none of a DataNode's files");
    assertThat(owner("gone").resolve("notes")).exists();
  }

  @Test
  void whatAnEndedRemovalHasLeftIsNoDataNodeAndIsRemoved() throws IOException {
    dataNode("gone", 25);
    Files.move(owner("gone"), owner(".removed-gone"));
    Leftovers leftovers = leftovers("live");
    assertThat(leftovers.find()).isEmpty();
    leftovers.finish();
    assertThat(owner(".removed-gone")).doesNotExist();
  }

  @Test
  void whatADataNodeThatIsThereDoesNotListIsFoundAndCanBeRemoved() throws IOException {
    SharedBlock listed = new SharedBlock(1, 1, 10);
    SharedBlock stray = new SharedBlock(2, 1, 10);
    SharedBlock young = new SharedBlock(3, 1, 10);
    dataNode("live", 25, listed, stray, young);
    dataNode("whole", 25, new SharedBlock(4, 1, 10));
    dataNode("gone", 25, new SharedBlock(5, 1, 10));
    SharedFolder folder = new SharedFolder(path, POOL, "live", false);
    SharedList.write(folder.list(), Collections.singletonList(listed), false).close();
    age(folder.of(3).toPath().resolve("blk_3"), 1);
    Leftovers leftovers = leftovers("live", "whole");
    leftovers.find();
    Map<String, Collection<Leftovers.Left>> strays = leftovers.strays();
    assertThat(strays).containsOnlyKeys("live");
    List<Leftovers.Left> found = new ArrayList<>(strays.get("live"));
    assertThat(found).extracting(Leftovers.Left::id).containsExactly(2L, 3L);
    assertThat(found).extracting(Leftovers.Left::bytes).containsExactly(17L, 17L);
    assertThat(found).extracting(leftovers::isYoung).containsExactly(false, true);
    leftovers.removeFiles(found.subList(0, 1));
    assertThat(folder.has(stray)).isFalse();
    assertThat(folder.has(listed) && folder.has(young)).isTrue();
  }
}

package io.howdah.storage.shared;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Copies in the folder of a DataNode on the shared path. */
class SharedFolderTest {
  private static final long ID = 7;

  @TempDir
  private Path path;

  private SharedFolder folder;

  @BeforeEach
  void create() throws IOException {
    folder = new SharedFolder(path, "BP", "uuid", false);
    folder.create();
  }

  private SharedFolder.Staged staged(SharedBlock block) throws IOException {
    File data = Files.write(path.resolve("data"), new byte[(int) block.length()]).toFile();
    File meta = Files.write(path.resolve("meta"), new byte[] {1}).toFile();
    SharedFolder.Staged staged = folder.stage(block.id());
    staged.complete(block, data, meta);
    return staged;
  }

  @Test
  void aCopyThatNobodyWaitsForTakesNoPlace() throws IOException {
    SharedBlock newer = new SharedBlock(ID, 2, 20);
    SharedBlock older = new SharedBlock(ID, 1, 10);
    try (SharedFolder.Staged late = staged(older)) {
      try (SharedFolder.Staged next = staged(newer)) {
        next.place(newer);
      }
      Thread.currentThread().interrupt(); // as by a wait that ended
      assertThatThrownBy(() -> late.place(older)).isInstanceOf(InterruptedIOException.class);
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
    assertThat(folder.isWhole(newer)).isTrue();
  }
}

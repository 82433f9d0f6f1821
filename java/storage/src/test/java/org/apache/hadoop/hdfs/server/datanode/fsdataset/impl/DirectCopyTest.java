package org.apache.hadoop.hdfs.server.datanode.fsdataset.impl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Random;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.hdfs.util.DataTransferThrottler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** From a tmpfs to a disk. */
@Tag("libhadoop")
class DirectCopyTest {
  private static final int UNIT = 64 << 10;

  private Path ram;
  private Path disk;
  private Path source;

  @BeforeEach
  void makeFolders() throws IOException {
    ram = Files.createTempDirectory(Paths.get("/dev/shm"), "howdah-storage-test-");
    disk = Files.createTempDirectory(Paths.get("/var/tmp"), "howdah-storage-test-");
    source = ram.resolve("from");
  }

  @AfterEach
  void removeFolders() {
    FileUtil.fullyDelete(ram.toFile());
    FileUtil.fullyDelete(disk.toFile());
  }

  private byte[] write(int size) throws IOException {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    Files.write(source, bytes);
    return bytes;
  }

  private interface Then {
    void run() throws IOException;
  }

  /** Does something after each piece. */
  private static DataTransferThrottler then(Then then) {
    return new DataTransferThrottler(Long.MAX_VALUE / 1000) {
      @Override
      public synchronized void throttle(long bytes) {
        try {
          then.run();
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    };
  }

  private long copy(File to, DataTransferThrottler throttler) throws IOException {
    try (FileChannel in = FileChannel.open(source)) {
      return DirectCopy.copy(in, to, throttler);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {DirectCopy.PIECE, DirectCopy.PIECE + 1, DirectCopy.PIECE + UNIT, 3 * DirectCopy.PIECE - 1})
  void allButTheEndIsCopied(int size) throws IOException {
    byte[] bytes = write(size);
    File to = Files.createFile(disk.resolve("to")).toFile();
    int whole = size / UNIT * UNIT;
    assertThat(copy(to, null)).isEqualTo(whole);
    assertThat(Arrays.equals(Files.readAllBytes(to.toPath()), Arrays.copyOf(bytes, whole))).isTrue();
  }

  @Test
  void whatIsShortOrHasNoTargetIsLeft() throws IOException {
    write(DirectCopy.PIECE - 1);
    File to = Files.createFile(disk.resolve("to")).toFile();
    assertThat(copy(to, null)).isZero();
    assertThat(to).isEmpty();
    write(DirectCopy.PIECE);
    assertThat(copy(disk.resolve("none").toFile(), null)).isZero();
  }

  @Test
  void aFileThatGetsShorterMeanwhileEndsIt() throws IOException {
    write(4 * DirectCopy.PIECE);
    File to = Files.createFile(disk.resolve("to")).toFile();
    assertThat(copy(to, then(() -> {
      try (FileChannel file = FileChannel.open(source, StandardOpenOption.WRITE)) {
        file.truncate(DirectCopy.PIECE + 1);
      }
    }))).isEqualTo(DirectCopy.PIECE);
  }

  @Test
  void anInterruptEndsIt() throws IOException {
    write(2 * DirectCopy.PIECE);
    File to = Files.createFile(disk.resolve("to")).toFile();
    assertThatThrownBy(() -> copy(to, then(Thread.currentThread()::interrupt)))
        .isInstanceOf(ClosedByInterruptException.class);
    assertThat(Thread.interrupted()).isTrue();
  }
}

package org.apache.hadoop.hdfs.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** A file system in memory that is small enough to be filled. Mounting one needs root. */
final class SmallDisk {
  private final Path place;

  private SmallDisk(Path place) {
    this.place = place;
  }

  /** Mounts it; whoever is not root goes on without the test. */
  static SmallDisk at(Path place, int megabytes) throws IOException, InterruptedException {
    Files.createDirectories(place);
    int status = run("mount", "-t", "tmpfs", "-o", "size=" + megabytes + "m", "howdah-test", place.toString());
    assumeThat(status).as("mounting a tmpfs, which needs root").isZero();
    return new SmallDisk(place);
  }

  private static int run(String... command) throws IOException, InterruptedException {
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }

  /** Leaves no room on it. */
  void fill() throws IOException {
    byte[] bytes = new byte[4096];
    Arrays.fill(bytes, (byte) 1);
    boolean full = false;
    try (OutputStream out = Files.newOutputStream(place.resolve("filler"))) {
      while (!full) {
        out.write(bytes);
      }
    } catch (IOException e) {
      full = true;
    }
    assertThat(full).isTrue();
  }

  /** There is room again. */
  void empty() throws IOException {
    Files.delete(place.resolve("filler"));
  }

  /** Takes it away, with what is on it. */
  void close() throws IOException, InterruptedException {
    assertThat(run("umount", "-l", place.toString())).isZero();
  }
}

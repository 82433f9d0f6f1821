package io.howdah.storage;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.DataChecksum;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is verified when, and what is found to be damaged. */
class ScrubTest {
  private static final int HOUR = 3_600_000;

  private final List<String> verified = new ArrayList<>();
  private List<String> all = Arrays.asList("a", "b", "c", "d");

  private static Configuration conf(long rate, int hours) {
    Configuration conf = new Configuration(false);
    conf.setLong("dfs.block.scanner.volume.bytes.per.second", rate);
    conf.setInt("dfs.datanode.scan.period.hours", hours);
    return conf;
  }

  private List<String> round(Scrub<String> scrub, long now) {
    verified.clear();
    scrub.round(now, () -> all, each -> {
      verified.add(each);
      return 1000;
    });
    return verified;
  }

  @Test
  void allAreVerifiedOnceAPeriodAndNoFasterThanTheRate() {
    Scrub<String> scrub = new Scrub<>(conf(1000, 1));
    assertThat(round(scrub, 5)).containsExactly("a");
    assertThat(round(scrub, 5)).isEmpty();
    assertThat(round(scrub, 505)).containsExactly("b"); // and half of it is owed
    assertThat(round(scrub, 1005)).isEmpty();
    assertThat(round(scrub, 60_005)).containsExactly("c", "d");
    all = Arrays.asList("d", "e");
    assertThat(round(scrub, HOUR + 4)).isEmpty();
    assertThat(round(scrub, HOUR + 5)).containsExactly("d", "e");
    assertThat(round(scrub, HOUR + 60_000)).isEmpty();
  }

  @Test
  void aPauseIsMadeUpForUpToAMinute() {
    Scrub<String> scrub = new Scrub<>(conf(10, 1));
    round(scrub, 0);
    assertThat(round(scrub, 340_000)).as("for 600 bytes").containsExactly("b"); // 400 are owed
    assertThat(round(scrub, 379_000)).isEmpty();
    assertThat(round(scrub, 381_000)).containsExactly("c");
    assertThat(round(scrub, 1000)).as("of a clock that was set back").isEmpty();
  }

  @Test
  void whatIsDoubtedComesFirst() {
    Scrub<String> scrub = new Scrub<>(conf(1000, 1));
    scrub.doubt("d");
    scrub.doubt("x");
    assertThat(round(scrub, 0)).containsExactly("d", "x", "a");
    assertThat(round(scrub, 0)).isEmpty();
    Scrub<String> off = new Scrub<>(conf(0, 1));
    off.doubt("d");
    assertThat(round(off, 0)).containsExactly("d");
  }

  @Test
  void nothingIsVerifiedIfUpstreamsScannerIsOff() {
    assertThat(round(new Scrub<>(conf(0, 1)), 0)).isEmpty();
    assertThat(round(new Scrub<>(conf(1000, -1)), 0)).isEmpty();
    assertThat(round(new Scrub<>(new Configuration(false)), 0)).as("three weeks, 1 MB/s").hasSize(4);
  }

  @Test
  void whatHasOtherBytesChecksumsOrLengthIsDamaged(@TempDir Path folder) throws IOException {
    byte[] bytes = new byte[700_001];
    new Random(1).nextBytes(bytes);
    Path data = Files.write(folder.resolve("blk_1"), bytes);
    Path meta = folder.resolve("blk_1_1.meta");
    DataChecksum checksum = DataChecksum.newDataChecksum(DataChecksum.Type.CRC32C, 512);
    byte[] sums = new byte[(bytes.length + 511) / 512 * 4];
    checksum.calculateChunkedSums(bytes, 0, bytes.length, sums, 0);
    ByteBuffer file = ByteBuffer.allocate(7 + sums.length).putShort((short) 1).put((byte) 2).putInt(512).put(sums);
    Files.write(meta, file.array());
    assertThat(BlockSums.areRight(data, meta, bytes.length)).isTrue();
    assertThat(BlockSums.areRight(data, meta, 512)).as("whole chunks of it").isTrue();
    assertThat(BlockSums.areRight(data, meta, bytes.length + 1)).isFalse();
    for (int at : new int[] {2, 3, 6, 7, file.capacity() - 1}) {
      assertThat(BlockSums.areRight(data, Files.write(meta, changed(file.array(), at)), bytes.length)).as("byte %d", at)
          .isFalse();
    }
    Files.write(meta, Arrays.copyOf(file.array(), file.capacity() - 1));
    assertThat(BlockSums.areRight(data, meta, bytes.length)).isFalse();
    Files.write(meta, file.array());
    for (int at : new int[] {0, 300_000, bytes.length - 1}) {
      assertThat(BlockSums.areRight(Files.write(data, changed(bytes, at)), meta, bytes.length)).isFalse();
    }
  }

  private static byte[] changed(byte[] bytes, int at) {
    byte[] changed = bytes.clone();
    changed[at] ^= 0x40;
    return changed;
  }
}

package io.howdah.examples.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Tuple2;

/** The jobs, on Spark inside this process. */
class ShuffleTestsTest {
  private static JavaSparkContext spark;

  @TempDir
  private Path folder;

  @BeforeAll
  static void startSpark() {
    spark = new JavaSparkContext(new SparkConf().setMaster("local[2]").setAppName("test")
        .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer"));
  }

  @AfterAll
  static void stopSpark() {
    spark.stop();
  }

  @Test
  void everyPairIsGrouped() {
    assertThat(GroupByTest.run(spark, new ShuffleSize(3, 200, 10, 2))).matches("\\d+ groups, .* s");
  }

  @Test
  void everyPairIsSorted() {
    assertThat(SortByTest.run(spark, new ShuffleSize(3, 200, 10, 4))).startsWith("sorted, ");
  }

  @Test
  void tokensAreGroupedAsWordCountCountsThem() throws IOException {
    Path text = Files.write(folder.resolve("text"), Arrays.asList("a b\ta", "  b c,  a", ""));
    TokenGroups.run(spark, text.toString(), folder.resolve("out").toString(), 2);
    List<String> lines = new ArrayList<>();
    try (DirectoryStream<Path> parts = Files.newDirectoryStream(folder.resolve("out"), "part-*")) {
      for (Path part : parts) {
        lines.addAll(Files.readAllLines(part));
      }
    }
    assertThat(lines).containsExactlyInAnyOrder("a\t3", "b\t2", "c,\t1");
  }

  @Test
  void recordsAreSortedAndNoneIsLostOrChanged() throws IOException {
    byte[] records = new byte[100 * 5000];
    new Random(7).nextBytes(records);
    Files.createDirectories(folder.resolve("in"));
    Files.write(folder.resolve("in/part-0"), records);
    long sum = 0;
    for (int at = 0; at < records.length; at += 100) {
      CRC32 crc = new CRC32();
      crc.update(records, at, 100);
      sum += crc.getValue();
    }
    assertThat(RecordSort.run(spark, folder.resolve("in").toString(), 3).toString())
        .isEqualTo("records 5000 inOrder true checksum " + Long.toHexString(sum));
  }

  @Test
  void whatArrivesIsComparedWithWhatWasSent() {
    ChecksummedShuffles shuffles = new ChecksummedShuffles(spark, 3, 100, 50);
    for (int round = 1; round <= 2; round++) {
      ChecksummedShuffles.Seen seen = shuffles.run(round);
      assertThat(seen.toString()).matches("300 values of \\d+ bytes, 0 wrong");
      assertThat(shuffles.isRight(round, seen)).isTrue();
      assertThat(new ChecksummedShuffles(spark, 3, 99, 50).isRight(round, seen)).isFalse();
      seen.add(round, 50, new Tuple2<>(1, new byte[20])); // what nobody sent
      assertThat(seen.toString()).endsWith(" 1 wrong");
      assertThat(shuffles.isRight(round, seen)).isFalse();
    }
  }

  @Test
  void everyBlockOfAGridComesOnce() {
    BlockGrid.run(spark, 5, 4, 3, 10);
    BlockGrid.run(spark, 3, 2, 1, 0);
  }

  @Test
  void argumentsHaveDefaultsAndLimits() {
    assertThat(ShuffleSize.parse().toString()).isEqualTo("2000 pairs of 1000 bytes, 2 maps, 2 reducers");
    assertThat(ShuffleSize.parse("8", "10", "4", "3").toString()).isEqualTo("80 pairs of 4 bytes, 8 maps, 3 reducers");
    assertThatThrownBy(() -> ShuffleSize.parse("8", "0")).hasMessageContaining("PAIRS-PER-MAP");
    assertThatThrownBy(() -> ShuffleSize.parse("1", "2", "3", "4", "5")).hasMessageContaining("usage");
  }
}

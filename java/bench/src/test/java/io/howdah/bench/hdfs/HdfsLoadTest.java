package io.howdah.bench.hdfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HdfsLoadTest {
  private static final int BUFFER = 1000;
  private static final int SIZE = 12_345;

  @TempDir java.nio.file.Path folder;
  private HdfsLoad load;
  private Path path;

  @BeforeEach
  void prepare() throws IOException {
    FileSystem files = FileSystem.getLocal(new Configuration()).getRaw();
    load = new HdfsLoad(files, BUFFER, true);
    path = new Path(folder.resolve("file").toUri());
    load.write(path, SIZE, (short) 1, 1 << 20);
  }

  private void damage(long at) throws IOException {
    try (RandomAccessFile file = new RandomAccessFile(folder.resolve("file").toFile(), "rw")) {
      file.seek(at);
      int b = file.read();
      file.seek(at);
      file.write(b ^ 1);
    }
  }

  @Test
  void whatIsWrittenIsFoundAgain() throws IOException {
    assertThat(load.read(path, SIZE)).isPositive();
    assertThat(load.readRandom(path, SIZE, 400, 50)).hasSize(50);
    assertThat(load.readRandom(path, SIZE, SIZE, 1)).hasSize(1);
  }

  @Test
  void damageIsFound() throws IOException {
    damage(SIZE - 1);
    assertThatThrownBy(() -> load.read(path, SIZE)).isInstanceOf(IOException.class).hasMessageContaining("12000");
    assertThatThrownBy(() -> load.readRandom(path, SIZE, SIZE, 1)).isInstanceOf(IOException.class);
  }

  @Test
  void anotherLengthIsFound() {
    assertThatThrownBy(() -> load.read(path, SIZE - 1)).isInstanceOf(IOException.class).hasMessageContaining("longer");
    assertThatThrownBy(() -> load.read(path, SIZE + 1)).isInstanceOf(IOException.class);
    assertThatThrownBy(() -> load.readRandom(path, SIZE, SIZE + 1, 1)).isInstanceOf(IOException.class);
  }

  @Test
  void percentilesAreOfWhatThereIs() {
    long[] times = new long[100];
    for (int i = 0; i < times.length; i++) {
      times[i] = (100 - i) * 1_000_000L;
    }
    HdfsSample sample = HdfsSample.latency("random", 1, System.nanoTime(), times);
    assertThat(sample.values).containsEntry("p50", 50.0).containsEntry("p99", 99.0).containsEntry("max", 100.0)
        .containsEntry("count", 100.0).containsEntry("mean", 50.5);
    long begin = System.nanoTime() - 500_000_000;
    HdfsSample together = HdfsSample.throughput("writers", 2, 2 << 20, begin, new long[] {1, 2});
    assertThat(together.values.get("mb_s")).isEqualTo(2 / (together.end - together.begin)).isBetween(0.0, 4.0);
  }
}

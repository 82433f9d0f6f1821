package org.apache.spark.shuffle.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.engine.Counter;
import io.howdah.engine.Engine;
import io.howdah.engine.RegisteredBuffer;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.spark.TaskContext$;
import org.apache.spark.network.rdma.TestRegions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Map output in memory and in files, without Spark. */
@Timeout(180)
class OutputStoreTest implements OutputStore.Disk, OutputStore.Meter, OutputMemory.Source {
  private static final int REGIONS = 4;
  private static final int REGION = 256 << 10;

  @TempDir
  Path folder;

  private final Map<String, long[]> files = new HashMap<>();
  private final long leaks = Engine.leaks();
  private Engine engine;
  private OutputStore store;
  private int regions;
  private int names;
  private long kept;
  private long filed;

  @BeforeEach
  void start() throws Exception {
    engine = TestRegions.engine("32m");
    store = new OutputStore(new OutputMemory(this), this, this);
  }

  @AfterEach
  void close() throws Exception {
    store.close();
    assertThat(store.memory().used()).isZero();
    assertThat(regions).isZero();
    assertThat(engine.counters().get(Counter.MEMORY_USED)).isZero();
    assertThat(Engine.leaks()).isEqualTo(leaks);
    engine.close();
    try (java.util.stream.Stream<Path> left = Files.list(folder)) {
      assertThat(left.filter(path -> path.getFileName().toString().startsWith("tmp"))).isEmpty();
    }
  }

  // What the store stands on.

  @Override
  public int regionSize() {
    return REGION;
  }

  @Override
  public synchronized RegisteredBuffer allocate() {
    try {
      return regions == REGIONS || regions++ < 0 ? null : engine.allocate(REGION);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void release(RegisteredBuffer region) {
    regions--;
    region.release();
  }

  private File file(int shuffle, int map) {
    return folder.resolve("shuffle_" + shuffle + "_" + map + ".data").toFile();
  }

  @Override
  public synchronized File temporary(int shuffle, int map) {
    return folder.resolve("tmp" + names++).toFile();
  }

  @Override
  public synchronized void commit(int shuffle, int map, long[] lengths, File data) {
    assertThat(files.put(shuffle + "_" + map, lengths.clone())).isNull();
    assertThat(data.renameTo(file(shuffle, map))).isTrue();
  }

  @Override
  public boolean isWhole(int shuffle, int map, long[] lengths) {
    return file(shuffle, map).length() == MapOutput.total(lengths);
  }

  @Override
  public synchronized void remove(int shuffle, int map) {
    files.remove(shuffle + "_" + map);
    file(shuffle, map).delete();
  }

  @Override
  public synchronized void kept(long bytes) {
    kept += bytes;
  }

  @Override
  public synchronized void filed(long bytes) {
    filed += bytes;
  }

  // Output.

  private static byte[] bytes(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  /** Writes partitions side by side, in writes of many sizes. */
  private long[] write(int shuffle, int map, byte[]... partitions) throws IOException {
    return write(store.draft(shuffle, map, TaskContext$.MODULE$.empty()), shuffle, map, partitions);
  }

  private long[] write(Draft draft, int shuffle, int map, byte[]... partitions) throws IOException {
    Chain[] chains = new Chain[partitions.length];
    int[] at = new int[partitions.length];
    Random sizes = new Random(map);
    for (boolean more = true; more;) {
      more = false;
      for (int i = 0; i < partitions.length; i++) {
        chains[i] = chains[i] == null ? new Chain(draft) : chains[i];
        int some = Math.min(partitions[i].length - at[i], sizes.nextInt(5000));
        if (some == 1) {
          chains[i].write(partitions[i][at[i]]);
        } else {
          chains[i].write(partitions[i], at[i], some);
        }
        at[i] += some;
        more |= at[i] < partitions[i].length;
      }
    }
    return PartitionWriter.commit(store, shuffle, map, draft, chains);
  }

  private byte[] read(int shuffle, int map, int partition) throws IOException {
    MapOutput output = store.pin(shuffle, map);
    if (output == null) {
      long[] lengths = files.get(shuffle + "_" + map);
      byte[] whole = Files.readAllBytes(file(shuffle, map).toPath());
      int from = (int) MapOutput.total(Arrays.copyOf(lengths, partition));
      return Arrays.copyOfRange(whole, from, from + (int) lengths[partition]);
    }
    try {
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      for (ByteBuffer part : output.partition(partition)) {
        byte[] bytes = new byte[part.remaining()];
        part.get(bytes);
        all.write(bytes);
      }
      assertThat((long) all.size()).isEqualTo(output.lengths[partition]);
      return all.toByteArray();
    } finally {
      store.unpin(output);
    }
  }

  private void assertOutput(int shuffle, int map, byte[]... partitions) throws IOException {
    for (int i = 0; i < partitions.length; i++) {
      assertThat(read(shuffle, map, i)).isEqualTo(partitions[i]);
    }
  }

  private static byte[][] partitions(int map, int... sizes) {
    byte[][] partitions = new byte[sizes.length][];
    for (int i = 0; i < sizes.length; i++) {
      partitions[i] = bytes(sizes[i], 1000L * map + i);
    }
    return partitions;
  }

  @Test
  void sizesAroundEveryBoundAreReadAsWritten() throws Exception {
    int[] bounds = {0, 1, 1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 96 << 10, 128 << 10};
    int map = 0;
    for (int bound : bounds) {
      byte[][] partitions = partitions(map, Math.max(0, bound - 1), bound, bound + 1, 0, 7);
      assertThat(write(0, map, partitions)).containsExactly(Math.max(0, bound - 1), bound, bound + 1, 0, 7);
      assertOutput(0, map, partitions);
      map++;
      store.remove(0);
      assertThat(store.memory().used()).isZero();
    }
  }

  @Test
  void tinyOutputTakesLittle() throws Exception {
    byte[][] partitions = new byte[200][];
    Arrays.setAll(partitions, i -> bytes(10, i));
    for (int map = 0; map < 100; map++) {
      write(0, map, partitions);
    }
    assertThat(store.memory().used()).isEqualTo(100L * OutputMemory.PART);
    assertOutput(0, 99, partitions);
    assertThat(filed).isZero();
  }

  @Test
  void theColdestOutputGoesToAFile() throws Exception {
    List<byte[][]> all = new ArrayList<>();
    for (int map = 0; map < 12; map++) {
      all.add(partitions(map, 100_000, 0, 20_000, 80_000));
      write(3, map, all.get(map));
      assertOutput(3, 0, all.get(0)); // is used all the time
    }
    assertThat(regions).isEqualTo(REGIONS);
    assertThat(files).isNotEmpty().doesNotContainKey("3_0").doesNotContainKey("3_11").containsKey("3_1");
    assertThat(kept).isEqualTo(12 * 200_000);
    assertThat(filed).isEqualTo(files.size() * 200_000L);
    for (int map = 0; map < 12; map++) {
      assertOutput(3, map, all.get(map));
    }
    store.remove(3);
    assertThat(files).isEmpty();
    assertThat(store.memory().used()).isZero();
  }

  @Test
  void outputThatIsReadStaysUntilItIsReleased() throws Exception {
    byte[][] partitions = partitions(0, 150_000);
    write(0, 0, partitions);
    MapOutput read = store.pin(0, 0);
    ByteBuffer first = read.partition(0)[0];
    for (int map = 1; map < 20; map++) {
      write(0, map, partitions(map, 150_000));
    }
    assertThat(files).doesNotContainKey("0_0");
    store.remove(0);
    assertThat(store.pin(0, 0)).isNull();
    write(1, 0, partitions(30, 900_000));
    byte[] bytes = new byte[first.remaining()];
    first.get(bytes);
    assertThat(bytes).isEqualTo(Arrays.copyOf(partitions[0], bytes.length));
    long before = store.memory().used();
    store.unpin(read);
    assertThat(store.memory().used()).isLessThan(before);
  }

  @Test
  void outputWithoutRoomBecomesAFile() throws Exception {
    byte[][] large = partitions(0, 700_000, 0, 5, 900_000, 300);
    assertThat(write(0, 0, large)).containsExactly(700_000, 0, 5, 900_000, 300);
    assertThat(files).containsKey("0_0");
    assertOutput(0, 0, large);
    assertThat(store.memory().used()).isZero();
    byte[][] small = partitions(1, 1000, 20_000);
    write(0, 1, small);
    assertOutput(0, 1, small);
    assertThat(files).doesNotContainKey("0_1");
  }

  @Test
  void theFirstAttemptWins() throws Exception {
    byte[][] first = partitions(1, 30_000, 100_000);
    write(0, 0, first);
    assertThat(write(0, 0, partitions(2, 7, 8))).containsExactly(30_000, 100_000);
    assertOutput(0, 0, first);
    write(0, 1, partitions(3, 2_000_000)); // pushes it out
    assertThat(files).containsKey("0_0");
    assertThat(write(0, 0, partitions(2, 7, 8))).containsExactly(30_000, 100_000);
    assertOutput(0, 0, first);
    assertThat(file(0, 0).delete()).isTrue(); // as if a disk had lost it
    byte[][] again = partitions(4, 50, 60);
    assertThat(write(0, 0, again)).containsExactly(50, 60);
    assertOutput(0, 0, again);
  }

  @Test
  void whatFailedIsGivenBack() throws Exception {
    for (int size : new int[] {100_000, 3_000_000}) {
      Draft draft = store.draft(0, 0, TaskContext$.MODULE$.empty());
      Chain chain = new Chain(draft);
      chain.write(bytes(size, 1));
      draft.discard();
      draft.discard();
      assertThat(store.memory().used()).isZero();
    }
    assertThat(store.pin(0, 0)).isNull();
    assertThat(files).isEmpty();
  }

  @Test
  void manyWritersAndReadersKeepTheBound() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<?>> done = new ArrayList<>();
    for (int thread = 0; thread < 4; thread++) {
      int from = thread * 100;
      done.add(threads.submit(() -> {
        Random random = new Random(from);
        for (int map = from; map < from + 25; map++) {
          byte[][] partitions = partitions(map, random.nextInt(300_000), random.nextInt(200), random.nextInt(50_000));
          write(from, map, partitions);
          assertThat(store.memory().size()).isLessThanOrEqualTo((long) REGIONS * REGION);
          if (random.nextInt(4) == 0) {
            store.remove(from);
          } else if (store.pin(from, map) != null) { // nobody else removes this thread's shuffle
            MapOutput output = store.pin(from, map);
            byte[] bytes = new byte[output.partition(2).length == 0 ? 0 : output.partition(2)[0].remaining()];
            if (bytes.length > 0) {
              output.partition(2)[0].get(bytes);
            }
            assertThat(bytes).isEqualTo(Arrays.copyOf(partitions[2], bytes.length));
            store.unpin(output);
            store.unpin(output);
          }
        }
        return null;
      }));
    }
    for (Future<?> each : done) {
      each.get();
    }
    threads.shutdown();
  }
}

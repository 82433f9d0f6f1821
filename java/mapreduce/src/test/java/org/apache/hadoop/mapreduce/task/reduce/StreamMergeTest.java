package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.upgrade.PeerCache;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.RdmaShuffleHandler;
import org.apache.hadoop.mapred.ReduceRun;
import org.apache.hadoop.mapred.ReduceRun.Item;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskCompletionEvent.Status;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.ReflectionUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What reduce() is fed with while map output is fetched is what stock's merge gives, or the attempt fails. */
@Timeout(120)
class StreamMergeTest {
  private static final String REDUCE = "attempt_1000_0001_r_000000_0";
  private static final int MIB = 1 << 20;
  /** Of a heap, so that half is the budget: outputs of a megabyte are streamed, eight at a time. */
  private static final long SMALL_HEAP = 4 * MIB;
  private static final int OUTPUT = MIB;
  private static final int MAPS = 8;
  private static final int MANY = Boolean.getBoolean("howdah.test.slow") ? 5000 : 100;
  private static final int SEEDS = Boolean.getBoolean("howdah.test.slow") ? 60 : 3;

  @TempDir
  Path local;
  @TempDir
  Path scratch;

  private ShuffleNode node;
  private final JobConf job = new JobConf();
  private final List<Item> expected = new ArrayList<>();
  private CompressionCodec codec;

  @BeforeEach
  void start() throws IOException {
    PeerCache.ofThisProcess().clear();
    node = new ShuffleNode(new RdmaShuffleHandler(), local);
    job.setMapOutputKeyClass(Text.class);
    job.setMapOutputValueClass(BytesWritable.class);
    job.set("hadoop.rdma.enabled", "auto");
    job.set("mapred.rdma.shuffle.packet.size", "16k");
    job.setBoolean("mapred.rdma.shuffle.merge.enabled", true);
    job.setInt(MRJobConfig.SHUFFLE_FETCH_RETRY_TIMEOUT_MS, 1500);
    job.setInt(MRJobConfig.SHUFFLE_FETCH_RETRY_INTERVAL_MS, 100);
  }

  @AfterEach
  void stop() {
    node.close();
  }

  private ReduceRun reducer(long heap) throws IOException {
    return reducer(heap, REDUCE);
  }

  private ReduceRun reducer(long heap, String attempt) throws IOException {
    job.setLong(MRJobConfig.REDUCE_MEMORY_TOTAL_BYTES, heap);
    return new ReduceRun(job, scratch, attempt, node.secret(), codec);
  }

  /** Writes outputs of about so many bytes each, whose keys are all different. */
  private void write(int maps, int bytes, int valueMost, Random random) throws IOException {
    job.setNumMapTasks(maps);
    expected.clear();
    for (int map = 0; map < maps; map++) {
      writeAttempt(ShuffleNode.map(map), records(map, bytes, valueMost, random));
    }
    Collections.sort(expected);
  }

  private List<Item> records(int map, int bytes, int valueMost, Random random) {
    List<Item> items = new ArrayList<>();
    for (int size = 0; size < bytes;) {
      byte[] value = new byte[random.nextInt(valueMost + 1)];
      random.nextBytes(value);
      items.add(new Item(String.format("%08x-%d-%d", random.nextInt(), map, items.size()), value));
      size += value.length + 20;
    }
    return items;
  }

  private Path writeAttempt(String attempt, List<Item> items) throws IOException {
    expected.addAll(items);
    long[] raw = new long[1];
    byte[] part = ReduceRun.part(job, codec, items, raw, 0);
    return node.write(attempt, raw, part);
  }

  private void allSucceed(ReduceRun run) throws IOException {
    for (int map = 0; map < job.getNumMapTasks(); map++) {
      run.event(ShuffleNode.map(map), Status.SUCCEEDED, node.port());
    }
  }

  private void assertRecords(RawKeyValueIterator records, int from) throws IOException {
    for (int i = from; i < expected.size(); i++) {
      assertThat(records.next()).as("record %d", i).isTrue();
      assertThat(ReduceRun.isAt(records, expected.get(i))).as("record %d", i).isTrue();
    }
    assertThat(records.next()).isFalse();
    records.close();
  }

  private void read(RawKeyValueIterator records, int count) throws IOException {
    for (int i = 0; i < count; i++) {
      assertThat(records.next()).isTrue();
      assertThat(ReduceRun.isAt(records, expected.get(i))).isTrue();
    }
  }

  /** Reads to the end, or to an error. What is read until then has to be right. */
  private void readOn(RawKeyValueIterator records, int from) throws IOException {
    for (int i = from; records.next(); i++) {
      assertThat(ReduceRun.isAt(records, expected.get(i))).as("record %d", i).isTrue();
    }
  }

  private long filesIn(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(Files::isRegularFile).count();
    }
  }

  private void awaitNoSessions() throws InterruptedException {
    Wait.until("the end of sessions", () -> ((RdmaShuffleHandler) node.handler).sessionCount() == 0);
  }

  @Test
  void outputsThatFitAreMergedFromMemory() throws Exception {
    write(12, 30_000, 500, new Random(1));
    ReduceRun run = reducer(64L * MIB);
    allSucceed(run);
    assertRecords(run.run(), 0);
    run.close();
    assertThat(run.count("MERGE_PASSES")).isEqualTo(1);
    assertThat(run.count("STREAMED_MAPS")).isZero();
    assertThat(run.count("STREAMED_REDUCES")).isOne();
    assertThat(run.count(TaskCounter.SPILLED_RECORDS)).isZero();
    assertThat(run.count(TaskCounter.MERGED_MAP_OUTPUTS)).isEqualTo(12);
    assertThat(filesIn(scratch)).isZero();
    awaitNoSessions();
  }

  @Test
  void outputsAboveTheBudgetAreStreamed() throws Exception {
    write(MAPS, OUTPUT, 3000, new Random(2));
    ReduceRun run = reducer(SMALL_HEAP);
    allSucceed(run);
    assertRecords(run.run(), 0);
    run.close();
    assertThat(run.count("STREAMED_MAPS")).isEqualTo(MAPS);
    assertThat(run.count("MERGE_PASSES")).isEqualTo(1);
    assertThat(run.count("MERGE_MEMORY_PEAK")).isBetween(1L, SMALL_HEAP / 2);
    assertThat(run.count(TaskCounter.SHUFFLED_MAPS)).isEqualTo(MAPS);
    assertThat(run.count(TaskCounter.REDUCE_SHUFFLE_BYTES)).isGreaterThan((long) MAPS * OUTPUT);
    assertThat(run.count("BYTES_SELF")).as("bytes over the engine, within this process")
        .isBetween((long) MAPS * OUTPUT, MAPS * OUTPUT * 5L / 4);
    assertThat(filesIn(scratch)).isZero();
    awaitNoSessions();
  }

  @Test
  void whatHasNoRoomForWindowsGoesToDisk() throws Exception {
    write(100, 60_000, 500, new Random(3));
    ReduceRun run = reducer(2L * MIB);
    allSucceed(run);
    assertRecords(run.run(), 0);
    run.close();
    assertThat(run.count("STREAMED_MAPS")).isPositive();
    assertThat(run.count("MERGE_PASSES")).isGreaterThan(1);
    assertThat(run.count("MERGE_MEMORY_PEAK")).isLessThanOrEqualTo(MIB);
    awaitNoSessions();
  }

  @Test
  void aReducerWithoutMapsReadsNothing() throws Exception {
    job.setNumMapTasks(0);
    ReduceRun run = reducer(SMALL_HEAP);
    assertThat(run.run().next()).isFalse();
    run.close();
    assertThat(run.count("MERGE_PASSES")).isEqualTo(1);
  }

  /** 5,000 of them in the slow tier: more than there are windows for. */
  @Test
  @Timeout(600)
  void manyMapsAreMergedForOneReducer() throws Exception {
    write(MANY, 2500, 300, new Random(13));
    for (boolean ours : new boolean[] {true, false}) {
      job.setBoolean("mapred.rdma.shuffle.merge.enabled", ours);
      ReduceRun run = reducer(MANY * 2000L);
      allSucceed(run);
      assertRecords(run.run(), 0);
      run.close();
      assertThat(run.count(TaskCounter.SHUFFLED_MAPS)).isEqualTo(MANY);
      assertThat(run.count("MERGE_MEMORY_PEAK")).isLessThanOrEqualTo(MANY * (ours ? 1000L : 1800));
      assertThat(run.count(TaskCounter.FAILED_SHUFFLE)).isZero();
    }
    awaitNoSessions();
  }

  /** Parts of all sizes: empty, shorter and longer than windows, with records longer than those. */
  @Test
  void recordsAreThoseOfStocksMerge() throws Exception {
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(seed);
      int maps = 1 + random.nextInt(20);
      job.setNumMapTasks(maps);
      expected.clear();
      for (int map = 0; map < maps; map++) {
        int size = random.nextInt(4) == 0 ? 0 : 1 << random.nextInt(21);
        int longest = random.nextInt(5) == 0 ? 100_000 : 300;
        writeAttempt(ShuffleNode.map(map), records(map, size, longest, random));
      }
      Collections.sort(expected);
      for (boolean ours : new boolean[] {true, false}) {
        job.setBoolean("mapred.rdma.shuffle.merge.enabled", ours);
        ReduceRun run = reducer((1L << random.nextInt(3)) * 2 * MIB);
        allSucceed(run);
        assertRecords(run.run(), 0);
        run.close();
        assertThat(run.count("STREAMED_REDUCES") > 0).as("seed %d", seed).isEqualTo(ours);
      }
      node.close(); // the server remembers where parts of an output are
      node = new ShuffleNode(new RdmaShuffleHandler(), local);
    }
  }

  @Test
  void compressedOutputsAreMergedToo() throws Exception {
    codec = ReflectionUtils.newInstance(DefaultCodec.class, job);
    write(10, 300_000, 500, new Random(4));
    ReduceRun run = reducer(SMALL_HEAP);
    allSucceed(run);
    assertRecords(run.run(), 0);
    run.close();
    assertThat(run.count("STREAMED_MAPS")).isZero();
    assertThat(run.count("STREAMED_REDUCES")).isOne();
  }

  @Test
  void outputsOfAStockNodeManagerAreMergedToo() throws Exception {
    node.close();
    node = new ShuffleNode(new ShuffleHandler(), local);
    write(MAPS, OUTPUT, 3000, new Random(5));
    ReduceRun run = reducer(SMALL_HEAP);
    allSucceed(run);
    assertRecords(run.run(), 0);
    run.close();
    assertThat(run.count("STREAMED_MAPS")).isZero();
    assertThat(run.count("BYTES_TCP")).isPositive();
  }

  @Test
  void laterAttemptsAndOtherJobsMergeAsStockDoes() throws Exception {
    write(3, 1000, 100, new Random(6));
    ReduceRun second = reducer(64L * MIB, "attempt_1000_0001_r_000000_1");
    allSucceed(second);
    assertRecords(second.run(), 0);
    second.close();
    assertThat(second.count("STREAMED_REDUCES")).isZero();
    assertThat(second.count("MERGE_PASSES")).as("to disk, and from there").isEqualTo(2);
    assertThat(second.count("MERGE_MEMORY_PEAK")).isBetween(3000L, 10_000L);
    job.setBoolean("mapred.rdma.shuffle.merge.enabled", false);
    ReduceRun off = reducer(64L * MIB);
    allSucceed(off);
    assertRecords(off.run(), 0);
    off.close();
    assertThat(off.count("STREAMED_REDUCES")).isZero();
  }

  /** As the job's client has written it: the default, and what the job says itself. */
  @Test
  void whoSetsTheMemoryOfStocksMergeHasThat() throws Exception {
    write(3, 1000, 100, new Random(14));
    job.unset("mapred.rdma.shuffle.merge.enabled");
    assertThat(streamedReduces(submitted())).as("by default").isOne();
    job.set(MRJobConfig.REDUCE_INPUT_BUFFER_PERCENT, "0.0");
    assertThat(streamedReduces(submitted())).as("a job that sets %s", MRJobConfig.REDUCE_INPUT_BUFFER_PERCENT).isZero();
    job.setBoolean("mapred.rdma.shuffle.merge.enabled", true);
    assertThat(streamedReduces(submitted())).as("a job that sets both").isOne();
  }

  /** The job's settings as its tasks read them. */
  private JobConf submitted() throws IOException {
    Path file = scratch.resolve("job.xml");
    try (OutputStream out = Files.newOutputStream(file)) {
      job.writeXml(out);
    }
    JobConf task = new JobConf();
    task.addResource(new org.apache.hadoop.fs.Path(file.toUri()));
    return task;
  }

  private long streamedReduces(JobConf task) throws Exception {
    ReduceRun run = new ReduceRun(task, scratch, REDUCE, node.secret(), codec);
    allSucceed(run);
    assertRecords(run.run(), 0);
    run.close();
    return run.count("STREAMED_REDUCES");
  }

  // Faults.

  /** An attempt of which only the first windows are here is given up for another one; nothing of it is seen. */
  @Test
  void anAttemptThatBecomesObsoleteIsReplaced() throws Exception {
    write(MAPS, OUTPUT, 3000, new Random(7));
    ReduceRun run = reducer(SMALL_HEAP);
    for (int map = 0; map < MAPS - 1; map++) {
      run.event(ShuffleNode.map(map), Status.SUCCEEDED, node.port());
    }
    Thread later = new Thread(() -> {
      try {
        Wait.until("the first windows", () -> run.count(TaskCounter.SHUFFLED_MAPS) >= MAPS - 1);
        List<Item> others = records(0, OUTPUT, 3000, new Random(70));
        expected.removeIf(item -> item.isOf(0));
        writeAttempt("attempt_1000_0001_m_000000_1", others);
        Collections.sort(expected);
        run.event(ShuffleNode.map(0), Status.KILLED, node.port());
        run.event("attempt_1000_0001_m_000000_1", Status.SUCCEEDED, node.port());
        run.event(ShuffleNode.map(MAPS - 1), Status.SUCCEEDED, node.port());
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    });
    later.start();
    RawKeyValueIterator records = run.run();
    later.join();
    assertRecords(records, 0);
    run.close();
    assertThat(run.count("STREAMED_MAPS")).isEqualTo(MAPS);
    assertThat(run.count(TaskCounter.SHUFFLED_MAPS)).isEqualTo(MAPS);
    assertThat(run.lost).isEmpty();
  }

  @Test
  void aNodeManagerThatRestartsGoesOn() throws Exception {
    write(MAPS, OUTPUT, 3000, new Random(8));
    ReduceRun run = reducer(SMALL_HEAP);
    allSucceed(run);
    RawKeyValueIterator records = run.run();
    read(records, 50);
    int port = node.port();
    node.close();
    node = new ShuffleNode(new RdmaShuffleHandler(), node, port);
    readOn(records, 50);
    run.close();
    assertThat(run.lost).isEmpty();
    awaitNoSessions();
  }

  @Test
  void whatANodeManagerServesNoLongerOverTheEngineIsFetchedOverHttp() throws Exception {
    write(3, 400_000, 3000, new Random(9));
    ReduceRun run = reducer(SMALL_HEAP / 2);
    allSucceed(run);
    RawKeyValueIterator records = run.run();
    read(records, 10);
    int port = node.port();
    node.close();
    node = new ShuffleNode(new ShuffleHandler(), node, port);
    assertRecords(records, 10);
    run.close();
    assertThat(run.count("BYTES_TCP")).isPositive();
  }

  @Test
  void aHostThatIsLostFailsTheAttemptAndIsReported() throws Exception {
    write(MAPS, OUTPUT, 3000, new Random(10));
    ReduceRun run = reducer(SMALL_HEAP);
    allSucceed(run);
    RawKeyValueIterator records = run.run();
    read(records, 50);
    node.close();
    assertThatThrownBy(() -> readOn(records, 50)).isInstanceOf(IOException.class).hasMessageContaining("_m_0000")
        .hasStackTraceContaining("This reduce attempt fails");
    run.close();
    assertThat(run.lost).isNotEmpty().isSubsetOf(maps());
  }

  private List<TaskAttemptID> maps() {
    List<TaskAttemptID> maps = new ArrayList<>();
    for (int map = 0; map < MAPS; map++) {
      maps.add(TaskAttemptID.forName(ShuffleNode.map(map)));
    }
    return maps;
  }

  /** A byte that differs is an error at the output's end at the latest, before the attempt could commit. */
  @Test
  void anOutputWithAnotherChecksumFailsTheAttempt() throws Exception {
    write(MAPS, OUTPUT, 3000, new Random(11));
    Path file = writeAttempt(ShuffleNode.map(3), records(3, OUTPUT, 3000, new Random(11)));
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.READ)) {
      ByteBuffer one = ByteBuffer.allocate(1);
      channel.read(one, channel.size() - 100);
      one.put(0, (byte) ~one.get(0)).flip();
      channel.write(one, channel.size() - 100);
    }
    ReduceRun run = reducer(SMALL_HEAP);
    allSucceed(run);
    RawKeyValueIterator records = run.run();
    assertThatThrownBy(() -> {
      boolean more = true;
      while (more) {
        more = records.next();
      }
    }).isInstanceOf(IOException.class).hasMessageContaining("checksum");
    run.close();
    awaitNoSessions();
  }

  @Test
  void aReducerThatEndsInTheMiddleLeavesNothingBehind() throws Exception {
    write(MAPS, OUTPUT, 3000, new Random(12));
    ReduceRun run = reducer(SMALL_HEAP);
    allSucceed(run);
    read(run.run(), 50);
    run.close();
    awaitNoSessions();
    Wait.until("the end of threads that fetch", () -> refills() == 0);
  }

  private static long refills() {
    return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("shuffle-refill")).count();
  }
}

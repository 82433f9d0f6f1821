package org.apache.spark.shuffle.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.engine.Engine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.network.rdma.TestRegions;
import org.apache.spark.shuffle.sort.SortShuffleManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import scala.Tuple2;

/** Jobs of a local master whose map output stays in memory, as far as there is room. */
@Timeout(300)
class RdmaShuffleManagerTest {
  private static final String KRYO = "spark.serializer=org.apache.spark.serializer.KryoSerializer";
  private static final int MAPS = 4;
  private static final int RECORDS = 300;

  @TempDir
  Path folder;

  private JavaSparkContext spark;
  private Engine engine;
  private OutputStore store;

  private void start(String limit, String... options) throws Exception {
    engine = TestRegions.engine(limit);
    SparkConf conf = new SparkConf(false).setMaster("local[2, 4]").setAppName("test").set("spark.ui.enabled", "false")
        .set("spark.shuffle.manager", TestManager.class.getName()).set("spark.local.dir", folder.toString())
        .set("spark.memory.offHeap.size", "1g").set("spark.storage.exceptionOnPinLeak", "true")
        .set("spark.unsafe.exceptionOnMemoryLeak", "true").set("spark.cleaner.referenceTracking", "false");
    for (String option : options) {
      conf.set(option.split("=", 2)[0], option.split("=", 2)[1]);
    }
    spark = new JavaSparkContext(conf);
    RdmaShuffleResolver resolver = manager().shuffleBlockResolver();
    resolver.start(TestRegions.of(engine, 0.5, SparkEnv.get().memoryManager()));
    store = resolver.store();
  }

  private static RdmaShuffleManager manager() {
    return (RdmaShuffleManager) SparkEnv.get().shuffleManager();
  }

  @AfterEach
  void close() throws Exception {
    if (spark != null) {
      spark.stop();
      assertThat(store.memory().used()).isZero();
      assertThat(store.memory().size()).isZero();
      engine.close();
    }
  }

  private List<String> shuffleFiles() throws Exception {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.map(path -> path.getFileName().toString())
          .filter(name -> name.matches("shuffle_.*|temp_.*")).collect(Collectors.toList());
    }
  }

  /** The output is in memory, and nobody has kept a reference to it. */
  private void assertNotRead(int shuffle, int map) {
    MapOutput output = store.pin(shuffle, map);
    assertThat(output).as("shuffle %d", shuffle).isNotNull();
    assertThat(output.pins).isEqualTo(1);
    store.unpin(output);
  }

  // Records that each task makes anew, and what is expected of them.

  private static Tuple2<Integer, byte[]> record(int number) {
    Random random = new Random(number);
    byte[] value = new byte[random.nextInt(3000)];
    random.nextBytes(value);
    return new Tuple2<>(number % 97, value);
  }

  private JavaPairRDD<Integer, byte[]> records() {
    List<Integer> numbers = new ArrayList<>();
    for (int i = 0; i < MAPS * RECORDS; i++) {
      numbers.add(i);
    }
    return spark.parallelize(numbers, MAPS).mapToPair(RdmaShuffleManagerTest::record);
  }

  private static long hash(byte[] value) {
    return 31L * value.length + Arrays.hashCode(value);
  }

  private static long hash(Iterable<byte[]> values) {
    long sum = 0;
    for (byte[] value : values) {
      sum += hash(value);
    }
    return sum;
  }

  private static long expected() {
    long sum = 0;
    for (int i = 0; i < MAPS * RECORDS; i++) {
      sum += hash(record(i)._2());
    }
    return sum;
  }

  private long grouped() {
    return records().groupByKey(8).mapValues(RdmaShuffleManagerTest::hash).values().reduce(Long::sum);
  }

  private long reduced() {
    return records().mapValues(RdmaShuffleManagerTest::hash).reduceByKey(Long::sum, 8).values().reduce(Long::sum);
  }

  private long partitioned() {
    return records().partitionBy(new HashPartitioner(300)).values().map(RdmaShuffleManagerTest::hash)
        .reduce(Long::sum);
  }

  private void assertAllJobs() {
    long sum = expected();
    assertThat(grouped()).isEqualTo(sum);
    assertThat(reduced()).isEqualTo(sum);
    assertThat(partitioned()).isEqualTo(sum);
  }

  @ParameterizedTest
  @ValueSource(strings = {"spark.io.encryption.enabled=true", KRYO + " spark.shuffle.compress=false"})
  void nothingIsWrittenToFilesWhileThereIsRoom(String options) throws Exception {
    start("64m", options.split(" "));
    assertAllJobs();
    assertThat(shuffleFiles()).isEmpty();
    assertThat(store.memory().used()).isGreaterThan(2_000_000);
    for (int shuffle = 0; shuffle < 3; shuffle++) {
      assertNotRead(shuffle, 0);
      manager().unregisterShuffle(shuffle);
    }
    assertThat(store.memory().used()).isZero();
    assertThatThrownBy(() -> manager().shuffleBlockResolver()
        .getBlockData(new org.apache.spark.storage.ShuffleBlockId(0, 0, 0))).hasMessageContaining("shuffle_0_0_0");
  }

  @Test
  void whatHasNoRoomIsInFilesThatSparkReads() throws Exception {
    start("4m", "spark.memory.offHeap.size=1m");
    assertAllJobs();
    assertThat(shuffleFiles()).isNotEmpty().noneMatch(name -> name.startsWith("temp_"))
        .noneMatch(name -> name.matches(".*[.](data|index)[.].*"));
    assertThat(store.memory().size()).isLessThanOrEqualTo(1 << 20);
    for (int shuffle = 0; shuffle < 3; shuffle++) {
      manager().unregisterShuffle(shuffle);
    }
    assertThat(shuffleFiles()).isEmpty();
    assertThat(store.memory().used()).isZero();
  }

  @Test
  void sortersThatSpillLoseNothing() throws Exception {
    start("64m", KRYO, "spark.shuffle.spill.numElementsForceSpillThreshold=100");
    assertAllJobs();
  }

  @Test
  void tasksThatFailHoldNothingAndAreRunAgain() throws Exception {
    start("64m");
    long sum = records().mapToPair(record -> {
      if (TaskContext.get().attemptNumber() == 0 && record._2().length % 7 == 3) {
        throw new IllegalStateException("the first attempt fails");
      }
      return record;
    }).groupByKey(8).mapValues(RdmaShuffleManagerTest::hash).values().reduce(Long::sum);
    assertThat(sum).isEqualTo(expected());
    manager().unregisterShuffle(0);
    assertThat(store.memory().used()).isZero();
  }

  @Test
  void outputThatIsLostIsMadeAgain() throws Exception {
    start("64m");
    JavaPairRDD<Integer, Iterable<byte[]>> groups = records().groupByKey(8);
    long sum = expected();
    assertThat(groups.mapValues(RdmaShuffleManagerTest::hash).values().reduce(Long::sum)).isEqualTo(sum);
    store.remove(0, 1);
    assertThat(groups.mapValues(RdmaShuffleManagerTest::hash).values().reduce(Long::sum)).isEqualTo(sum);
    assertNotRead(0, 1);
  }

  @Test
  void anExecutorIsNotTakenForTheDriverWhoseConfigurationItHas() {
    SparkConf conf = new SparkConf(false).set("spark.executor.id", "driver");
    RdmaShuffleManager.choose(conf, true, "sort");
    assertThat(conf.get("spark.executor.id")).isEqualTo("driver");
    RdmaShuffleManager.choose(conf, false, "sort");
    assertThat(conf.contains("spark.executor.id")).isFalse();
  }

  @Test
  void sparkTakesItsOwnManagerWhereOutputCannotStayInMemory() {
    String sort = SortShuffleManager.class.getName();
    String ours = RdmaShuffleManager.class.getName();
    SparkConf conf = new SparkConf(false).set("spark.master", "spark://h:1");
    assertThat(RdmaShuffleManager.choose(conf, false, sort)).isEqualTo(ours);
    assertThat(RdmaShuffleManager.choose(conf.clone().set("spark.shuffle.manager", "sort"), false, sort))
        .isEqualTo(sort);
    assertThat(RdmaShuffleManager.choose(conf.clone().set("spark.shuffle.service.enabled", "true"), true, sort))
        .isEqualTo(sort);
    assertThat(RdmaShuffleManager.choose(conf.clone().set("spark.master", "local[2]"), true, sort)).isEqualTo(sort);
    conf.set("spark.shuffle.manager", "rdma");
    assertThat(RdmaShuffleManager.choose(conf, false, "rdma")).isEqualTo(ours);
    assertThat(RdmaShuffleManager.choose(conf.clone().set("spark.shuffle.service.enabled", "true"), true, "rdma"))
        .isEqualTo(sort);
    assertThat(RdmaShuffleManager.choose(conf.clone().set("spark.memory.useLegacyMode", "true"), true, "rdma"))
        .isEqualTo(sort);
    assertThat(RdmaShuffleManager.choose(conf.clone().set("spark.shuffle.rdma.enabled", "false"), true, "rdma"))
        .isEqualTo(sort);
    assertThat(RdmaShuffleManager.choose(conf.clone().set("spark.master", "local[2]"), true, "rdma")).isEqualTo(sort);
  }
}

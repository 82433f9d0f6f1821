package org.apache.hadoop.mapred;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.apache.hadoop.fs.FSError;
import org.apache.hadoop.io.ByteWritable;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.DoubleWritable;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.ShortWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.io.WritableComparable;
import org.apache.hadoop.io.WritableComparator;
import org.apache.hadoop.io.serializer.Deserializer;
import org.apache.hadoop.io.serializer.JavaSerialization;
import org.apache.hadoop.io.serializer.SerializationFactory;
import org.apache.hadoop.io.serializer.WritableSerialization;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.security.TokenCache;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.UserGroupInformation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What maps leave is what stock's collector leaves, whatever the keys, the settings and the sizes. */
class PagedMapOutputTest {
  /** How many seeds of each kind of test, at least. */
  private static final int SEEDS = Boolean.getBoolean("howdah.test.slow") ? 100 : 0;

  private static final String MEMORY = "mapred.rdma.spill.memory.enabled";

  @TempDir
  Path folder;

  private static LongStream seeds(int least) {
    return LongStream.rangeClosed(1, Math.max(least, SEEDS));
  }

  static LongStream sixSeeds() {
    return seeds(6);
  }

  static LongStream nineSeeds() {
    return seeds(KINDS);
  }

  static LongStream threeSeeds() {
    return seeds(3);
  }

  /** Sums. */
  public static final class Sum extends MapReduceBase
      implements Reducer<WritableComparable<?>, BytesWritable, WritableComparable<?>, BytesWritable> {
    @Override
    public void reduce(WritableComparable<?> key, Iterator<BytesWritable> values,
        OutputCollector<WritableComparable<?>, BytesWritable> output, Reporter reporter) throws IOException {
      int sum = 0;
      while (values.hasNext()) {
        sum += values.next().copyBytes()[0];
      }
      output.collect(key, new BytesWritable(new byte[] {(byte) sum}));
    }
  }

  /** A record of a map. */
  private static final class Item {
    final Writable key;
    final BytesWritable value;
    final int partition;

    Item(Writable key, byte[] value, int partition) {
      this.key = key;
      this.value = new BytesWritable(value);
      this.partition = partition;
    }
  }

  private static Writable key(int kind, Random random, int variety) {
    int number = random.nextInt(variety) - variety / 2;
    switch (kind) {
      case 0:
        return new IntWritable(number);
      case 1:
        return new LongWritable((long) number << random.nextInt(4) * 11);
      case 2:
        return new BytesWritable(Arrays.copyOf(Integer.toString(number, 3).getBytes(), random.nextInt(20)));
      case 3:
        return new Text(Integer.toHexString(number));
      case 4:
        return new Text(String.join("", Collections.nCopies(random.nextInt(12), "http://a.b/")) + number);
      case 5:
        return new ShortWritable((short) number);
      case 6:
        return new ByteWritable((byte) number);
      case 7:
        return NullWritable.get();
      default:
        byte[] bytes = new byte[random.nextInt(300)];
        random.nextBytes(bytes);
        return new BytesWritable(bytes);
    }
  }

  private static final int KINDS = 9;

  private static List<Item> items(Random random, int kind, int count, int partitions, boolean unique, int valueSize) {
    List<Item> items = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    for (int i = 0; i < count; i++) {
      Writable key = key(kind, random, 5 * count);
      if (unique && !seen.add(key.toString())) {
        continue;
      }
      byte[] value = new byte[1 + random.nextInt(valueSize)];
      random.nextBytes(value);
      items.add(new Item(key, value, (key.hashCode() & Integer.MAX_VALUE) % partitions));
    }
    return items;
  }

  private JobConf job(Class<?> key, int partitions, int megabytes) {
    JobConf job = new JobConf(false);
    job.set("io.serializations", "org.apache.hadoop.io.serializer.WritableSerialization");
    job.set("hadoop.tmp.dir", folder.toString());
    job.setMapOutputKeyClass(key);
    job.setMapOutputValueClass(BytesWritable.class);
    job.setNumReduceTasks(partitions);
    job.setInt(MRJobConfig.IO_SORT_MB, megabytes);
    job.setBoolean(MEMORY, false); // so that maps spill
    return job;
  }

  private MapOutputRun<Writable, Writable> start(JobConf job, String name, boolean stock) throws Exception {
    return new MapOutputRun<>(job, folder.resolve(name),
        stock ? new MapTask.MapOutputBuffer<>() : new PagedMapOutput<>());
  }

  private static MapOutputRun<Writable, Writable> finish(MapOutputRun<Writable, Writable> run, List<Item> items)
      throws Exception {
    for (Item item : items) {
      run.collector.collect(item.key, item.value, item.partition);
    }
    run.collector.flush();
    run.collector.close();
    return run;
  }

  private MapOutputRun<Writable, Writable> run(JobConf job, String name, boolean stock, List<Item> items)
      throws Exception {
    return finish(start(job, name, stock), items);
  }

  /** Records with the values of each key in order: stock promises none. */
  private static List<byte[]> inOrder(List<byte[]> records) {
    List<byte[]> ordered = new ArrayList<>();
    for (int from = 0; from < records.size();) {
      List<byte[]> values = new ArrayList<>();
      int to = from;
      for (; to < records.size() && Arrays.equals(records.get(to), records.get(from)); to += 2) {
        values.add(records.get(to + 1));
      }
      values.sort((one, two) -> WritableComparator.compareBytes(one, 0, one.length, two, 0, two.length));
      for (byte[] value : values) {
        ordered.add(records.get(from));
        ordered.add(value);
      }
      from = to;
    }
    return ordered;
  }

  private static void assertSameRecords(List<byte[]> ours, List<byte[]> stock) {
    assertThat(Arrays.deepEquals(inOrder(ours).toArray(), inOrder(stock).toArray())).as("records are equal").isTrue();
  }

  @ParameterizedTest
  @MethodSource("sixSeeds")
  void filesAreStocksByteForByteIfKeysDiffer(long seed) throws Exception {
    Random random = new Random(seed);
    int partitions = new int[] {1, 2, 7, 300}[random.nextInt(4)];
    int kind = (int) (seed % 6);
    List<Item> items = items(random, kind, random.nextInt(10_000), partitions, true, 1 + random.nextInt(800));
    if (items.isEmpty()) {
      return;
    }
    JobConf job = job(items.get(0).key.getClass(), partitions, 1 + random.nextInt(3));
    job.setBoolean(MEMORY, seed % 2 == 0);
    MapOutputRun<Writable, Writable> stock = run(job, "stock", true, items);
    MapOutputRun<Writable, Writable> ours = run(job, "ours", false, items);
    assertThat(Arrays.equals(ours.file(), stock.file())).as("seed %d: files are equal", seed).isTrue();
    assertThat(ours.index()).isEqualTo(stock.index());
    for (TaskCounter counter : new TaskCounter[] {TaskCounter.MAP_OUTPUT_RECORDS, TaskCounter.MAP_OUTPUT_BYTES,
        TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES}) {
      assertThat(ours.count(counter)).as("%s", counter).isEqualTo(stock.count(counter));
    }
    assertThat(ours.count(TaskCounter.SPILLED_RECORDS)).isLessThanOrEqualTo(stock.count(TaskCounter.SPILLED_RECORDS));
  }

  @ParameterizedTest
  @MethodSource("nineSeeds")
  void recordsAreStocksWithEqualKeysCombinersAndCodecs(long seed) throws Exception {
    Random random = new Random(seed);
    int partitions = 1 + random.nextInt(5);
    List<Item> items = items(random, (int) (seed % KINDS), 2000 + random.nextInt(4_000), partitions, false,
        1 + random.nextInt(1200));
    Collections.addAll(items, items.subList(0, items.size() / 2).toArray(new Item[0]));
    JobConf job = job(items.get(0).key.getClass(), partitions, 1 + random.nextInt(4));
    job.setBoolean(MEMORY, seed % 2 == 0);
    boolean combine = random.nextInt(3) == 0;
    if (combine) {
      job.setCombinerClass(Sum.class);
    }
    job.setCompressMapOutput(random.nextBoolean());
    job.setInt(MRJobConfig.IO_SORT_FACTOR, 2 + random.nextInt(4));
    job.setInt(MRJobConfig.MAP_COMBINE_MIN_SPILLS, 1); // so that each key is left once, however many spills there are
    MapOutputRun<Writable, Writable> stock = run(job, "stock", true, items);
    MapOutputRun<Writable, Writable> ours = run(job, "ours", false, items);
    for (int partition = 0; partition < partitions; partition++) {
      assertSameRecords(ours.records(partition), stock.records(partition));
    }
    assertThat(ours.count(TaskCounter.MAP_OUTPUT_RECORDS)).isEqualTo(items.size());
    assertThat(ours.count(TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES)).isEqualTo(ours.file().length);
    if (!combine) {
      assertThat(ours.count(TaskCounter.COMBINE_INPUT_RECORDS)).isZero();
    }
  }

  @Test
  void equalKeysKeepTheirOrderAndAreWrittenOnceIfTheyFit() throws Exception {
    List<Item> items = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      items.add(new Item(new Text("key " + i % 7), new byte[] {(byte) (i >> 8), (byte) i}, i % 2));
    }
    MapOutputRun<Writable, Writable> run = run(job(Text.class, 2, 8), "ours", false, items);
    List<byte[]> records = run.records(1);
    assertThat(records).hasSize(20_000);
    for (int i = 3; i < records.size(); i += 2) {
      if (Arrays.equals(records.get(i - 1), records.get(i - 3))) {
        assertThat(new BytesWritable(records.get(i)).compareTo(new BytesWritable(records.get(i - 2)))).isPositive();
      }
    }
    assertThat(run.count(TaskCounter.SPILLED_RECORDS)).isEqualTo(items.size());
    assertThat(files("ours")).containsExactly("file.out", "file.out.index");
  }

  @Test
  void outputIsWrittenOnceWhileTheHeapHasRoomExceptByLaterAttempts() throws Exception {
    List<Item> items = items(new Random(5), 3, 12_000, 2, true, 800);
    JobConf job = job(Text.class, 2, 1);
    MapOutputRun<Writable, Writable> stock = run(job, "stock", true, items);
    job.setBoolean(MEMORY, true);
    job.setInt(MRJobConfig.MAP_MEMORY_MB, -1); // not known: the heap alone counts
    MapOutputRun<Writable, Writable> first = run(job, "first", false, items);
    assertSameFiles(first, stock);
    assertThat(first.count(TaskCounter.SPILLED_RECORDS)).isEqualTo(items.size());
    job.setInt(MapOutputRun.ATTEMPT, 1);
    MapOutputRun<Writable, Writable> second = run(job, "second", false, items);
    assertSameFiles(second, stock);
    assertThat(second.count(TaskCounter.SPILLED_RECORDS)).isGreaterThan(items.size());
    job.setInt(MapOutputRun.ATTEMPT, 0);
    job.setInt(MRJobConfig.MAP_MEMORY_MB, 1);
    MapOutputRun<Writable, Writable> small = run(job, "small", false, items);
    assertSameFiles(small, stock);
    assertThat(small.count(TaskCounter.SPILLED_RECORDS)).as("a container of 1 MB").isGreaterThan(items.size());
  }

  @Test
  void aMergeOfManySpillsHasMemoryOfItsOwn() throws Exception {
    List<Item> items = items(new Random(6), 3, 40_000, 1, true, 1000);
    JobConf job = job(Text.class, 1, 1);
    job.setInt(MRJobConfig.IO_SORT_FACTOR, 100);
    MapOutputRun<Writable, Writable> ours = run(job, "ours", false, items);
    assertThat(ours.count(TaskCounter.SPILLED_RECORDS)).as("all were in spills").isEqualTo(2 * items.size());
    assertSameFiles(ours, run(job, "stock", true, items));
  }

  @Test
  void theOnlySpillIsTheOutput() throws Exception {
    List<Item> items = Collections.singletonList(new Item(new Text("key"), new byte[3 << 20], 1));
    for (int cache : new int[] {0, 1 << 20}) {
      JobConf job = job(Text.class, 3, 1);
      job.setInt(MRJobConfig.INDEX_CACHE_MEMORY_LIMIT, cache);
      MapOutputRun<Writable, Writable> ours = run(job, "ours" + cache, false, items);
      assertSameFiles(ours, run(job, "stock" + cache, true, items));
      assertThat(ours.count(TaskCounter.SPILLED_RECORDS)).isEqualTo(1);
      assertThat(ours.count(TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES)).isEqualTo(ours.file().length);
    }
  }

  private List<String> files(String name) throws IOException {
    List<String> names = new ArrayList<>();
    Files.walk(folder.resolve(name)).filter(Files::isRegularFile)
        .forEach(file -> names.add(file.getFileName().toString()));
    names.removeIf(file -> file.endsWith(".crc"));
    Collections.sort(names);
    return names;
  }

  @Test
  void recordsThatAreLargerThanTheBufferAreWrittenToo() throws Exception {
    Random random = new Random(1);
    List<Item> items = items(random, 3, 100, 3, true, 100);
    for (int i = 0; i < 4; i++) {
      byte[] large = new byte[(1 << 20) + i * 300_000];
      random.nextBytes(large);
      items.add(random.nextInt(items.size()), new Item(new Text("large" + i), large, i % 3));
      byte[] most = new byte[700_000];
      items.add(random.nextInt(items.size()), new Item(new Text("most" + i), most, i % 3));
    }
    JobConf job = job(Text.class, 3, 1);
    MapOutputRun<Writable, Writable> stock = run(job, "stock", true, items);
    MapOutputRun<Writable, Writable> ours = run(job, "ours", false, items);
    assertThat(Arrays.equals(ours.file(), stock.file())).isTrue();
    assertThat(ours.count(TaskCounter.MAP_OUTPUT_RECORDS)).isEqualTo(items.size());
    assertThat(files("ours")).containsExactly("file.out", "file.out.index");
  }

  @Test
  void mapsWithoutOutputLeaveWhatStocksLeave() throws Exception {
    JobConf job = job(Text.class, 4, 1);
    MapOutputRun<Writable, Writable> stock = run(job, "stock", true, new ArrayList<>());
    MapOutputRun<Writable, Writable> ours = run(job, "ours", false, new ArrayList<>());
    assertThat(ours.file()).isEqualTo(stock.file());
    assertThat(ours.index()).isEqualTo(stock.index());
  }

  @Test
  void encryptedOutputIsReadBack() throws Exception {
    List<Item> items = items(new Random(3), 3, 8000, 2, true, 500);
    JobConf job = job(Text.class, 2, 1);
    MapOutputRun<Writable, Writable> plain = run(job, "plain", false, items);
    job.set("hadoop.security.crypto.codec.classes.aes.ctr.nopadding",
        "org.apache.hadoop.crypto.JceAesCtrCryptoCodec");
    job.setBoolean(MRJobConfig.MR_ENCRYPTED_INTERMEDIATE_DATA, true);
    Credentials credentials = new Credentials();
    TokenCache.setEncryptedSpillKey(new byte[16], credentials);
    UserGroupInformation user = UserGroupInformation.createRemoteUser("somebody");
    user.addCredentials(credentials); // a task has the key from its user's
    user.doAs((PrivilegedExceptionAction<Void>) () -> {
      MapOutputRun<Writable, Writable> run = run(job, "ours", false, items);
      assertThat(run.file().length).isGreaterThan(plain.file().length);
      assertThat(new String(run.file(), StandardCharsets.ISO_8859_1)).doesNotContain(
          new String(items.get(0).value.copyBytes(), StandardCharsets.ISO_8859_1));
      for (int partition = 0; partition < 2; partition++) {
        assertSameRecords(run.records(partition), plain.records(partition));
      }
      return null;
    });
  }

  @ParameterizedTest
  @ValueSource(ints = {7, 100, 118, 119, 120, 133, 1000})
  void filesAreStocksByteForByteIfKeysBeginAlike(int alike) throws Exception {
    Random random = new Random(alike);
    String prefix = String.join("", Collections.nCopies(alike, "x"));
    List<Item> items = new ArrayList<>();
    for (int i = 0; i < 1500; i++) {
      String end = Integer.toString(i * 7919 % 1511, 2); // one may be another's beginning
      items.add(new Item(new Text(prefix + end), new byte[random.nextInt(900)], i % 3));
    }
    Collections.shuffle(items, random);
    JobConf job = job(Text.class, 3, 1);
    assertSameFiles(run(job, "ours", false, items), run(job, "stock", true, items));
  }

  @Test
  void manyPartitionsMostOfThemEmptyAreStocksByteForByte() throws Exception {
    List<Item> items = items(new Random(7), 3, 7000, 1500, true, 300);
    JobConf job = job(Text.class, 1500, 1);
    assertSameFiles(run(job, "ours", false, items), run(job, "stock", true, items));
  }

  @ParameterizedTest
  @MethodSource("threeSeeds")
  void recordsOfAllSizesAreStocksByteForByte(long seed) throws Exception {
    Random random = new Random(seed);
    int megabytes = 1 << random.nextInt(4);
    List<Item> items = new ArrayList<>();
    for (int bytes = 0; bytes < 16 << 20;) {
      byte[] value = new byte[random.nextInt(2 << random.nextInt(23))];
      random.nextBytes(value);
      items.add(new Item(new Text("key " + items.size()), value, random.nextInt(3)));
      bytes += 100 + value.length;
    }
    JobConf job = job(Text.class, 3, megabytes);
    MapOutputRun<Writable, Writable> ours = run(job, "ours", false, items);
    assertSameFiles(ours, run(job, "stock", true, items));
    assertThat(ours.count(TaskCounter.MAP_OUTPUT_RECORDS)).isEqualTo(items.size());
  }

  private static void assertSameFiles(MapOutputRun<?, ?> ours, MapOutputRun<?, ?> stock) throws IOException {
    assertThat(Arrays.equals(ours.file(), stock.file())).as("files are equal").isTrue();
    assertThat(ours.index()).isEqualTo(stock.index());
  }

  @Test
  void aDiskThatIsFullFailsTheMapWhereStockFailsIt() throws Exception {
    List<Item> items = items(new Random(2), 3, 20_000, 2, true, 200);
    JobConf job = job(Text.class, 2, 1);
    for (boolean stock : new boolean[] {true, false}) {
      String name = stock ? "stock" : "ours";
      MapOutputRun<Writable, Writable> run = start(job, name, stock);
      full(run.task.getMapOutputFile().getSpillFileForWrite(0, 1));
      assertThatThrownBy(() -> finish(run, items)).as(name).isInstanceOf(IOException.class).hasMessage("Spill failed")
          .hasRootCauseMessage("No space left on device");
      assertThat(run.fatal).as(name).isInstanceOf(FSError.class);
    }
    MapOutputRun<Writable, Writable> last = start(job, "last", false);
    full(last.task.getMapOutputFile().getOutputFileForWrite(1));
    assertThatThrownBy(() -> finish(last, items.subList(0, 100))).isInstanceOf(FSError.class)
        .hasRootCauseMessage("No space left on device");
    last.collector.flush(); // as MapTask does after a failure: nothing is written again
    assertThat(last.count(TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES)).isZero();
  }

  /** Whatever is written there finds the disk full. */
  private static void full(org.apache.hadoop.fs.Path file) throws IOException {
    Path path = Paths.get(file.toUri().getPath());
    Files.createDirectories(path.getParent());
    Files.createSymbolicLink(path, Paths.get("/dev/full"));
  }

  @Test
  void aSpillThatFailsEndsTheMapWhateverItCatches() throws Exception {
    List<Item> items = items(new Random(2), 3, 20_000, 2, true, 200);
    JobConf job = job(Text.class, 2, 1);
    MapOutputRun<Writable, Writable> run = new MapOutputRun<>(job, folder.resolve("ours"), new PagedMapOutput<>());
    Files.walk(folder.resolve("ours")).sorted(Collections.reverseOrder()).forEach(file -> file.toFile().delete());
    Files.write(folder.resolve("ours"), new byte[1]);
    assertThatThrownBy(() -> {
      for (Item item : items) {
        run.collector.collect(item.key, item.value, item.partition);
      }
    }).isInstanceOf(IOException.class).hasMessage("Spill failed");
    Item item = items.get(0);
    assertThatThrownBy(() -> run.collector.collect(item.key, item.value, 0)).hasMessage("Spill failed");
    assertThatThrownBy(run.collector::flush).hasMessage("Spill failed");
  }

  /** A value that fails in the middle. */
  public static final class Fragile implements Writable {
    private boolean broken;

    /** As serialization makes it. */
    Fragile() {
    }

    @Override
    public void write(DataOutput out) throws IOException {
      out.writeLong(1);
      if (broken) {
        throw new IOException("broken");
      }
    }

    @Override
    public void readFields(DataInput in) throws IOException {
      in.readLong();
    }
  }

  @Test
  void aRecordThatFailsInTheMiddleLeavesNothing() throws Exception {
    JobConf job = job(Text.class, 1, 1);
    job.setMapOutputValueClass(Fragile.class);
    MapOutputRun<Writable, Writable> run = new MapOutputRun<>(job, folder.resolve("ours"), new PagedMapOutput<>());
    Fragile value = new Fragile();
    for (int i = 0; i < 50_000; i++) {
      value.broken = i % 5 == 0;
      try {
        run.collector.collect(new Text("key " + i), value, 0);
        assertThat(value.broken).isFalse();
      } catch (IOException e) {
        assertThat(e).hasMessage("broken");
      }
    }
    run.collector.flush();
    assertThat(run.records(0)).hasSize(80_000);
    assertThat(run.count(TaskCounter.MAP_OUTPUT_RECORDS)).isEqualTo(40_000);
  }

  /** A value that Java serializes, with a buffer. */
  public static final class Buffered implements Serializable {
    private static final long serialVersionUID = 1;
    private final byte[] bytes;
    private final boolean broken;

    Buffered(int size, boolean broken) {
      bytes = new byte[size];
      this.broken = broken;
    }

    private void writeObject(ObjectOutputStream out) throws IOException {
      out.defaultWriteObject();
      if (broken) {
        throw new IOException("broken");
      }
    }
  }

  @Test
  void serializersThatBufferLeaveNothingOfRecordsThatFailOrAreTooLarge() throws Exception {
    JobConf job = job(IntWritable.class, 1, 1);
    job.setStrings("io.serializations", WritableSerialization.class.getName(), JavaSerialization.class.getName());
    job.setMapOutputValueClass(Buffered.class);
    MapOutputRun<Writable, Buffered> run = new MapOutputRun<>(job, folder.resolve("ours"), new PagedMapOutput<>());
    int[] sizes = {10, 2 << 20, 20, 500, 30};
    for (int i = 0; i < sizes.length; i++) {
      Buffered value = new Buffered(sizes[i], sizes[i] == 500);
      if (value.broken) {
        assertThatThrownBy(() -> run.collector.collect(new IntWritable(), value, 0)).hasMessage("broken");
      } else {
        run.collector.collect(new IntWritable(i), value, 0);
      }
    }
    run.collector.flush();
    List<byte[]> records = run.records(0);
    assertThat(records).hasSize(8);
    for (int i = 0; i < records.size(); i += 2) {
      Deserializer<Buffered> deserializer = new SerializationFactory(job).getDeserializer(Buffered.class);
      deserializer.open(new ByteArrayInputStream(records.get(i + 1)));
      assertThat(deserializer.deserialize(null).bytes)
          .hasSize(sizes[WritableComparator.readInt(records.get(i), 0)]);
    }
  }

  @Test
  void wrongTypesAndPartitionsAreRefusedAsInStock() throws Exception {
    MapOutputRun<Writable, Writable> run = new MapOutputRun<>(job(Text.class, 2, 1), folder.resolve("ours"),
        new PagedMapOutput<>());
    BytesWritable value = new BytesWritable();
    assertThatThrownBy(() -> run.collector.collect(new IntWritable(), value, 0)).hasMessageContaining("in key");
    assertThatThrownBy(() -> run.collector.collect(new Text(), new Text(), 0)).hasMessageContaining("in value");
    assertThatThrownBy(() -> run.collector.collect(new Text(), value, 2)).hasMessageContaining("Illegal partition");
  }

  @Test
  void jobsThatAreNotServedKeepStocksCollectorOrTheirOwn() {
    Class<?>[] stock = {MapTask.MapOutputBuffer.class};
    JobConf job = job(Text.class, 2, 100);
    assertThat(PagedMapOutput.inPlaceOf(stock, job)).as("on by default")
        .containsExactly(PagedMapOutput.class, MapTask.MapOutputBuffer.class);
    Class<?>[] own = {PagedMapOutputTest.class, MapTask.MapOutputBuffer.class};
    assertThat(PagedMapOutput.inPlaceOf(own, job)).isSameAs(own);
    assertThat(PagedMapOutput.obstacle(job(String.class, 2, 100))).contains("String");
    for (String setting : new String[] {"mapred.rdma.map.output.sort=false", "hadoop.rdma.enabled=false",
        "mapred.rdma.enabled=false", "map.sort.class=org.apache.hadoop.util.HeapSort", "mapreduce.job.reduces=70000",
        "mapreduce.task.io.sort.mb=4096", "mapreduce.map.sort.spill.percent=1.5",
        "mapreduce.map.output.key.class=no.such.Key"}) {
      JobConf other = new JobConf(job);
      other.set(setting.split("=")[0], setting.split("=")[1]);
      assertThat(PagedMapOutput.inPlaceOf(stock, other)).as(setting).isSameAs(stock);
    }
    assertThatComparatorsThatAreNotKnownAreLeftToStock(stock);
    job.set("mapred.rdma.spill.memory.percentage", "2");
    assertThatThrownBy(() -> PagedMapOutput.inPlaceOf(stock, job)).hasMessageContaining("mapred.rdma.spill.memory");
  }

  /** Orders as {@link Text} does, but may not. */
  public static final class OwnComparator extends Text.Comparator {
  }

  private void assertThatComparatorsThatAreNotKnownAreLeftToStock(Class<?>[] stock) {
    for (Class<?> comparator : new Class<?>[] {OwnComparator.class, LongWritable.DecreasingComparator.class}) {
      JobConf job = job(Text.class, 2, 100);
      job.set(MRJobConfig.KEY_COMPARATOR, comparator.getName());
      assertThat(PagedMapOutput.inPlaceOf(stock, job)).isSameAs(stock);
      assertThat(PagedMapOutput.obstacle(job)).contains(comparator.getName());
    }
    assertThat(PagedMapOutput.obstacle(job(DoubleWritable.class, 2, 100))).contains("DoubleWritable$Comparator");
    JobConf job = job(DoubleWritable.class, 2, 100);
    job.set(MRJobConfig.KEY_COMPARATOR, BytesWritable.Comparator.class.getName());
    assertThat(PagedMapOutput.obstacle(job)).isNull();
  }
}

package io.howdah.bench.hdfs;

import com.google.gson.GsonBuilder;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code howdah bench hdfs}: what a client of the cluster in the configuration sees of its HDFS. */
@Command(name = "hdfs", sortOptions = false, abbreviateSynopsis = true,
    description = "Measures HDFS of the cluster that HADOOP_CONF_DIR names: latency of sequential writes and reads and "
        + "of random reads and small files, throughput of many clients.")
public final class HdfsBench implements Callable<Integer> {
  private static final List<String> ONE_CLIENT = Arrays.asList("write", "read", "random");
  /** As nnbench's. */
  private static final int SMALL_BYTES = 10;
  private static final List<String> MANY_CLIENTS = Arrays.asList("writers", "readers");
  /** Bytes of heap that a client takes at most, the packets that it has under way, and all that are not clients'. */
  private static final long CLIENT_HEAP = 8L << 20;
  private static final long OTHER_HEAP = 64L << 20;
  private static final List<String> MEASURES =
      Arrays.asList("write", "read", "random", "small", "writers", "readers");

  @Spec private CommandSpec spec;

  @Option(names = "--measure", split = ",", paramLabel = "WHAT",
      defaultValue = "write,read,random,small,writers,readers",
      description = "write, read, random, small (one client), writers, readers (--clients) (default: all).")
  private List<String> measures;

  @Option(names = "--size", defaultValue = "256m", description = "Bytes of the one client's file (default: 256m).")
  private String size;

  @Option(names = "--client-size", defaultValue = "64m", description = "Bytes of each of many clients' (default: 64m).")
  private String clientSize;

  @Option(names = "--clients", split = ",", defaultValue = "4",
      description = "Clients at a time, one file each (default: 4).")
  private List<Integer> clients;

  @Option(names = "--buffer", defaultValue = "1m", description = "Bytes of one write or read (default: 1m).")
  private String buffer;

  @Option(names = "--block", description = "Bytes of a block (default: the site's).")
  private String block;

  @Option(names = "--replication", defaultValue = "3", description = "Replicas (default: 3).")
  private short replication;

  @Option(names = "--part", defaultValue = "4k", description = "Bytes of a random read (default: 4k).")
  private String part;

  @Option(names = "--random", defaultValue = "2000", description = "Random reads (default: 2000).")
  private int random;

  @Option(names = "--small", defaultValue = "200", paramLabel = "FILES",
      description = "Files of 10 bytes that the one client makes, one after the other (default: 200).")
  private int small;

  @Option(names = "--settle", defaultValue = "5", paramLabel = "SECONDS",
      description = "How long the one client does each before it counts: the JVMs "
          + "of cluster and client compile meanwhile (default: 5).")
  private int settle;

  @Option(names = "--folder", defaultValue = "/benchmarks/howdah",
      description = "Where the files are made; it is removed (default: /benchmarks/howdah).")
  private String folder;

  @Option(names = "--verify", description = "Compare all that is read with what was written.")
  private boolean verify;

  @Option(names = {"-D", "--setting"}, paramLabel = "NAME=VALUE", description = "Hadoop's configuration.")
  private List<String> settings = new ArrayList<>();

  @Option(names = "--json", paramLabel = "FILE", description = "Where to write all figures.")
  private File json;

  @Option(names = {"-h", "--help"}, usageHelp = true, description = "This text.")
  private boolean help;

  private final List<HdfsSample> samples = new ArrayList<>();
  private Configuration conf;
  private long blockSize;

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    conf = configuration();
    Path home = new Path(folder);
    try (FileSystem files = FileSystem.newInstance(conf)) {
      blockSize = block == null ? files.getDefaultBlockSize(home) : bytes("--block", block);
      try {
        one(files);
        if (measures.contains("small")) {
          addSmall(files);
        }
        for (int count : clients) {
          many(count);
        }
      } finally {
        files.delete(home, true);
      }
    }
    if (samples.isEmpty()) {
      throw new IOException("nothing was measured");
    }
    print();
    if (json != null) {
      write();
    }
    return 0;
  }

  private void check() {
    for (String measure : measures) {
      if (!MEASURES.contains(measure)) {
        throw new ParameterException(spec.commandLine(), "--measure " + measure + ": one of " + MEASURES);
      }
    }
    if (random < 1 || small < 1 || settle < 0 || replication < 1
        || clients.stream().anyMatch(count -> count < 1 || count > 1024)) {
      throw new ParameterException(spec.commandLine(),
          "--random and --small are from 1 on, --settle from 0, --replication from 1, --clients from 1 to 1024");
    }
    if (!Collections.disjoint(measures, MANY_CLIENTS)) {
      String lack = lackOfHeap(Collections.max(clients), Runtime.getRuntime().maxMemory());
      if (lack != null) {
        throw new ParameterException(spec.commandLine(), lack);
      }
    }
  }

  /** What is wrong with so many clients in a heap of so many bytes, or null. */
  static String lackOfHeap(int clients, long heap) {
    long wanted = OTHER_HEAP + clients * CLIENT_HEAP;
    return wanted <= heap ? null : String.format(Locale.ROOT,
        "--clients %d: they may take %d MB of heap, and this JVM has %d; set HOWDAH_OPTS=-Xmx%dm",
        clients, wanted >> 20, heap >> 20, (wanted + wanted / 8) >> 20); // a JVM keeps a survivor space for itself
  }

  private Configuration configuration() {
    Configuration made = new Configuration();
    for (String setting : settings) {
      int at = setting.indexOf('=');
      if (at < 1) {
        throw new ParameterException(spec.commandLine(), "-D " + setting + ": NAME=VALUE was expected");
      }
      made.set(setting.substring(0, at), setting.substring(at + 1));
    }
    return made;
  }

  private long bytes(String option, String value) {
    if (!value.matches("[1-9]\\d{0,9}[kmgKMG]?")) {
      throw new ParameterException(spec.commandLine(), option + " " + value + ": a number of bytes, or of k, m or g");
    }
    int unit = "kmg".indexOf(value.toLowerCase(Locale.ROOT).charAt(value.length() - 1)) + 1;
    return Long.parseLong(unit == 0 ? value : value.substring(0, value.length() - 1)) << 10 * unit;
  }

  // One client.

  private void one(FileSystem files) throws IOException {
    if (Collections.disjoint(measures, ONE_CLIENT)) {
      return;
    }
    HdfsLoad load = load(files);
    long length = bytes("--size", size);
    Path path = new Path(folder, "one");
    long begin = System.nanoTime();
    boolean counts = false;
    while (!counts) {
      counts = settled(begin);
      long write = System.nanoTime();
      add(counts, "write", write, load.write(path, length, replication, blockSize));
      if (measures.contains("read")) {
        long read = System.nanoTime();
        add(counts, "read", read, load.read(path, length));
      }
    }
    if (measures.contains("random")) {
      addRandom(load, path, length);
    }
    files.delete(path, false);
  }

  private boolean settled(long begin) {
    return System.nanoTime() - begin >= TimeUnit.SECONDS.toNanos(settle);
  }

  private void addRandom(HdfsLoad load, Path path, long length) throws IOException {
    long begin = System.nanoTime();
    int size = (int) bytes("--part", part);
    while (!settled(begin)) {
      load.readRandom(path, length, size, random);
    }
    long counts = System.nanoTime();
    samples.add(HdfsSample.latency("random", 1, counts, load.readRandom(path, length, size, random)));
  }

  private void addSmall(FileSystem files) throws IOException {
    Path path = new Path(folder, "small");
    HdfsLoad load = load(files);
    long begin = System.nanoTime();
    while (!settled(begin)) {
      load.writeMany(path, small, SMALL_BYTES, replication, blockSize);
    }
    long counts = System.nanoTime();
    long[] times = load.writeMany(path, small, SMALL_BYTES, replication, blockSize);
    samples.add(HdfsSample.latency("small", 1, counts, times));
    files.delete(path, true);
  }

  private HdfsLoad load(FileSystem files) {
    return new HdfsLoad(files, (int) bytes("--buffer", buffer), verify);
  }

  private void add(boolean counts, String measure, long begin, long nanos) {
    if (counts && measures.contains(measure)) {
      samples.add(HdfsSample.latency(measure, 1, begin, new long[] {nanos}));
    }
  }

  // Many clients.

  private interface Work {
    long run(HdfsLoad load, Path path) throws IOException;
  }

  private void many(int count) throws IOException, InterruptedException {
    long length = bytes("--client-size", clientSize);
    if (!measures.contains("writers") && !measures.contains("readers")) {
      return;
    }
    together("writers", count, length, (load, path) -> load.write(path, length, replication, blockSize));
    if (measures.contains("readers")) {
      together("readers", count, length, (load, path) -> load.read(path, length));
    }
  }

  /** Each client has a file system, and so connections, of its own. */
  private void together(String measure, int count, long length, Work work) throws IOException, InterruptedException {
    ExecutorService threads = Executors.newFixedThreadPool(count);
    CyclicBarrier begin = new CyclicBarrier(count + 1);
    List<Future<Long>> running = new ArrayList<>();
    List<FileSystem> systems = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        FileSystem files = FileSystem.newInstance(conf);
        systems.add(files);
        Path path = new Path(folder, "many-" + i);
        running.add(threads.submit(() -> {
          HdfsLoad load = load(files);
          begin.await();
          return work.run(load, path);
        }));
      }
      begin.await();
      long start = System.nanoTime();
      long[] times = new long[count];
      for (int i = 0; i < count; i++) {
        times[i] = running.get(i).get();
      }
      if (measures.contains(measure)) {
        samples.add(HdfsSample.throughput(measure, count, count * length, start, times));
      }
    } catch (ExecutionException | java.util.concurrent.BrokenBarrierException e) {
      throw new IOException(measure + ": " + (e.getCause() == null ? e : e.getCause()), e);
    } finally {
      threads.shutdownNow();
      for (FileSystem files : systems) {
        files.close();
      }
    }
  }

  // What came out.

  private void print() {
    System.out.printf("%-8s %8s %12s %12s %12s %12s %10s%n", "measure", "clients", "mean ms", "p50 ms", "p99 ms",
        "max ms", "MB/s");
    for (HdfsSample sample : samples) {
      Map<String, Double> values = sample.values;
      System.out.printf(Locale.ROOT, "%-8s %8d %12.3f %12.3f %12.3f %12.3f %10s%n", sample.measure, sample.clients,
          values.get("mean"), values.get("p50"), values.get("p99"), values.get("max"),
          values.containsKey("mb_s") ? String.format(Locale.ROOT, "%.1f", values.get("mb_s")) : "");
    }
  }

  private void write() throws IOException {
    Map<String, Object> document = new LinkedHashMap<>();
    document.put("name", "hdfs");
    Map<String, Object> conditions = new LinkedHashMap<>();
    conditions.put("bytes", bytes("--size", size));
    conditions.put("client_bytes", bytes("--client-size", clientSize));
    conditions.put("buffer", bytes("--buffer", buffer));
    conditions.put("block", blockSize);
    conditions.put("replication", replication);
    conditions.put("part", bytes("--part", part));
    conditions.put("settle_seconds", settle);
    document.put("conditions", conditions);
    document.put("samples", samples);
    String text = new GsonBuilder().setPrettyPrinting().create().toJson(document) + "\n";
    Files.write(json.toPath(), text.getBytes(StandardCharsets.UTF_8));
  }
}

package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.upgrade.PeerCache;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.DefaultCodec;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleSchedule.Fault;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.util.ReflectionUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whatever happens while map output is fetched and merged: a reducer gets all records of one attempt of each map, in
 * order, or its attempt fails and the next one gets them. NodeManagers are processes, so links go over shared memory.
 * -Dhowdah.test.seed is the first seed, -Dhowdah.test.rounds how many there are.
 */
@Timeout(7200)
class ShuffleScheduleTest {
  private static final boolean SLOW = Boolean.getBoolean("howdah.test.slow");
  /** So many schedules have each fault; the rarest is in one of fifty. */
  private static final int ENOUGH_FOR_ALL = 500;
  private static final int SEEDS = Integer.getInteger("howdah.test.rounds", SLOW ? 1000 : 8);
  private static final int NODES = 2;
  private static final int SECONDS_MOST = 400;
  /** Longer than a NodeManager takes for its first answer on a machine that has much to do. */
  private static final int PATIENCE_MILLIS = 60_000;
  /** What the engine of a NodeManager, or of a reducer, does on purpose. */
  private static final List<List<String>> LINKS = Arrays.asList(
      Arrays.asList("drop.rate=0.005"), Arrays.asList("corrupt.rate=0.002"), Arrays.asList("slow.rate=0.1"),
      Arrays.asList("delay.rate=0.05", "delay.time=5ms"), Arrays.asList("duplicate.rate=0.05"),
      Arrays.asList("error.rate=0.01"), Arrays.asList("register.rate=0.1"), Arrays.asList("deaf.rate=0.02"));

  @TempDir
  Path folder;

  private final Token<JobTokenIdentifier> token = ShuffleNode.token();
  private final List<ShuffleNodeProcess> nodes = new ArrayList<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Set<Fault> happened = EnumSet.noneOf(Fault.class);
  private final Set<ShuffleNodeProcess> faulty = new HashSet<>();
  private int schedulesWithLinkFaults;

  @BeforeEach
  void start() throws Exception {
    PeerCache.ofThisProcess().clear();
    for (int i = 0; i < NODES; i++) {
      nodes.add(new ShuffleNodeProcess(folder.resolve("node-" + i), token));
      nodes.get(i).start(new ArrayList<>());
    }
  }

  @AfterEach
  void stop() throws IOException {
    threads.shutdownNow();
    for (ShuffleNodeProcess node : nodes) {
      node.close();
    }
    SmallLocalFs.ROOM.set(Long.MAX_VALUE);
  }

  private static List<String> links(Random random) {
    List<String> settings = new ArrayList<>();
    if (random.nextBoolean()) {
      return settings;
    }
    for (String setting : LINKS.get(random.nextInt(LINKS.size()))) {
      settings.add("hadoop.rdma.fault." + setting);
    }
    if (!settings.isEmpty()) {
      settings.add("hadoop.rdma.fault.seed=" + (1 + random.nextInt(1 << 20)));
    }
    return settings;
  }

  private JobConf job(Random random) {
    JobConf job = new JobConf();
    job.setMapOutputKeyClass(Text.class);
    job.setMapOutputValueClass(BytesWritable.class);
    job.set("hadoop.rdma.enabled", "auto");
    job.set("mapred.rdma.fallback.remember", "100ms");
    job.set("mapred.rdma.shuffle.packet.size", (16 << random.nextInt(3)) + "k");
    job.setBoolean("mapred.rdma.shuffle.merge.enabled", random.nextInt(10) < 7);
    job.setInt("mapred.rdma.shuffle.lustre", random.nextInt(4) == 0 ? 2 : 0);
    job.setLong(MRJobConfig.REDUCE_MEMORY_TOTAL_BYTES, 1L << 20 + random.nextInt(3));
    job.setBoolean(MRJobConfig.SHUFFLE_FETCH_RETRY_ENABLED, random.nextBoolean());
    job.setInt(MRJobConfig.SHUFFLE_FETCH_RETRY_TIMEOUT_MS, 600);
    job.setInt(MRJobConfig.SHUFFLE_FETCH_RETRY_INTERVAL_MS, 50);
    job.setInt(MRJobConfig.MAX_SHUFFLE_FETCH_RETRY_DELAY, 100);
    job.setInt(MRJobConfig.SHUFFLE_CONNECT_TIMEOUT, PATIENCE_MILLIS);
    job.setInt(MRJobConfig.SHUFFLE_READ_TIMEOUT, PATIENCE_MILLIS);
    job.setClass("fs.file.impl", SmallLocalFs.class, Object.class);
    job.setBoolean("fs.file.impl.disable.cache", true);
    return job;
  }

  @Test
  void aReducerGetsAllRecordsOfOneAttemptOfEachMapOrFails() throws Exception {
    long first = Long.getLong("howdah.test.seed", 1);
    int good = 0;
    for (int i = 0; i < SEEDS; i++) {
      good += runSeed(first + i, i) ? 1 : 0;
    }
    System.out.println(SEEDS + " schedules, " + good + " came through at the first attempt, "
        + schedulesWithLinkFaults + " with faults of links; " + happened);
    assertThat(good).as("first attempts that came through").isPositive();
    if (SLOW) {
      assertThat(good).as("first attempts that came through").isGreaterThan(SEEDS / 2);
    }
    if (SEEDS >= ENOUGH_FOR_ALL) {
      assertThat(happened).containsAll(EnumSet.allOf(Fault.class));
    }
  }

  private boolean runSeed(long seed, int number) throws Exception {
    Random random = new Random(~seed);
    JobConf job = job(random);
    List<String> own = links(random);
    own.forEach(setting -> job.set(setting.split("=")[0], setting.split("=")[1]));
    if (random.nextInt(SLOW ? 40 : 4) == 0) {
      restart(nodes.get(random.nextInt(NODES)), links(random));
    }
    for (ShuffleNodeProcess node : nodes) {
      if (!node.isAlive()) {
        restart(node, links(random));
      }
    }
    SmallLocalFs.ROOM.set(Long.MAX_VALUE);
    boolean full = random.nextInt(8) == 0;
    CompressionCodec codec = random.nextInt(5) == 0 ? ReflectionUtils.newInstance(DefaultCodec.class, job) : null;
    boolean linkFaults = !own.isEmpty() || !faulty.isEmpty();
    schedulesWithLinkFaults += linkFaults ? 1 : 0;
    ShuffleSchedule schedule = new ShuffleSchedule(seed, number, nodes, job, codec, folder.resolve("reducer"),
        JobTokenSecretManager.createSecretKey(token.getPassword()));
    String what = "seed " + seed + ": " + schedule + (full ? ", disk full; " : "; ") + settings(job);
    try {
      int attempt = random.nextInt(10) == 0 ? 1 : 0;
      long room = full ? random.nextInt(1 << 20) : Long.MAX_VALUE;
      return inTime(threads.submit(() -> schedule.run(attempt, room, linkFaults)));
    } catch (ExecutionException e) {
      throw new AssertionError(what, e.getCause());
    } catch (TimeoutException e) {
      throw new AssertionError(what + "\n" + stacks(), e);
    } finally {
      happened.addAll(schedule.happened());
      schedule.clean();
    }
  }

  private void restart(ShuffleNodeProcess node, List<String> settings) throws Exception {
    if (node.isAlive()) {
      node.kill();
    }
    node.start(settings);
    if (settings.isEmpty()) {
      faulty.remove(node);
    } else {
      faulty.add(node);
    }
  }

  private static boolean inTime(Future<Boolean> ran) throws Exception {
    boolean good = ran.get(SECONDS_MOST, TimeUnit.SECONDS);
    Wait.until("the end of threads that fetch", () -> refills() == 0);
    return good;
  }

  private static long refills() {
    return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("shuffle-refill")).count();
  }

  private static String settings(JobConf job) {
    StringBuilder text = new StringBuilder();
    for (Map.Entry<String, String> setting : job.getValByRegex("rdma|reduce.memory.totalbytes|retry.enabled")
        .entrySet()) {
      text.append(setting).append(' ');
    }
    return text.toString();
  }

  private static String stacks() {
    StringBuilder text = new StringBuilder();
    Thread.getAllStackTraces().forEach((thread, frames) -> {
      text.append(thread.getName()).append('\n');
      for (StackTraceElement frame : frames) {
        text.append("  ").append(frame).append('\n');
      }
    });
    return text.toString();
  }
}

package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.crypto.SecretKey;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RawKeyValueIterator;
import org.apache.hadoop.mapred.ReduceRun;
import org.apache.hadoop.mapred.ReduceRun.Item;
import org.apache.hadoop.mapred.TaskAttemptID;
import org.apache.hadoop.mapred.TaskCompletionEvent.Status;
import org.apache.hadoop.mapreduce.TaskCounter;

/**
 * A job with one reducer, and what happens to it: faults when so many maps were fetched or so many records were read.
 * Maps that run again write other records than before, as maps need not be deterministic. All is chosen by a random
 * number's seed; what comes of it also depends on the time, so what is checked has to hold whatever that is.
 */
final class ShuffleSchedule {
  /** What happens. */
  enum Fault {
    /** A NodeManager is killed, and starts again on its port. */
    RESTART,
    /** A map host is killed: its maps run again elsewhere. */
    LOSE,
    /** A NodeManager does nothing for a while. */
    PAUSE,
    /** A map runs again, and its output stays. */
    OBSOLETE,
    /** The file of an output is deleted. */
    VANISH,
    /** The file of an output is cut. */
    CUT,
    /** A byte of an output is another one. */
    DAMAGE,
    /** The reduce attempt is killed. */
    KILL
  }

  private static final int ATTEMPTS_MOST = 4;
  private static final int REPEATS_MOST = 10;
  private static final int LOOK_MILLIS = 3;

  private final Random random;
  private final List<ShuffleNodeProcess> nodes;
  private final JobConf job;
  private final CompressionCodec codec;
  private final Path scratch;
  private final SecretKey secret;
  private final int maps;
  private final int sizeMost;
  private final int valueMost;
  private final Map<String, Item> items = new HashMap<>();
  /** How many records each attempt has written. */
  private final Map<String, Integer> counts = new HashMap<>();
  private final Map<String, Path> files = new HashMap<>();
  private final String[] current;
  private final ShuffleNodeProcess[] homes;
  private final int[] repeats;
  private final List<Fault> atCopies = new ArrayList<>();
  private final List<Fault> atRecords = new ArrayList<>();
  private final Set<Fault> happened = new HashSet<>();
  private boolean linkFaults;
  private volatile boolean copying;
  private volatile Throwable failure;
  private int attempts;

  /**
   * A schedule.
   *
   * @param number one that no other schedule has, for the names of attempts
   */
  ShuffleSchedule(long seed, int number, List<ShuffleNodeProcess> nodes, JobConf job, CompressionCodec codec,
      Path scratch, SecretKey secret) {
    this.random = new Random(seed);
    this.nodes = nodes;
    this.job = job;
    this.codec = codec;
    this.scratch = scratch;
    this.secret = secret;
    this.attempts = number * 1000;
    maps = 1 + random.nextInt(10);
    sizeMost = 1 << 10 + random.nextInt(10);
    valueMost = random.nextInt(4) == 0 ? 100_000 : 300;
    current = new String[maps];
    homes = new ShuffleNodeProcess[maps];
    repeats = new int[maps];
    for (int i = random.nextInt(4); i > 0; i--) {
      List<Fault> when = random.nextBoolean() ? atCopies : atRecords;
      when.add(Fault.values()[random.nextInt(Fault.values().length)]);
    }
  }

  /** What has happened until now. */
  Set<Fault> happened() {
    return happened;
  }

  @Override
  public String toString() {
    return maps + " maps of at most " + sizeMost + " bytes, values of at most " + valueMost
        + "; while maps are fetched " + atCopies + ", while records are read " + atRecords;
  }

  // Maps.

  /** A map's next attempt succeeds on a node that lives. */
  private synchronized void runMap(int map) throws IOException {
    String attempt = String.format("attempt_1000_0001_m_%06d_%d", map, attempts++);
    List<Item> records = new ArrayList<>();
    int bytes = random.nextInt(5) == 0 ? 0 : random.nextInt(sizeMost);
    for (int size = 0; size < bytes;) {
      byte[] value = new byte[random.nextInt(valueMost + 1)];
      random.nextBytes(value);
      Item item = new Item(String.format("%08x-%d-%s-%d", random.nextInt(), map, attempt, records.size()), value);
      records.add(item);
      items.put(item.key(), item);
      size += value.length + 20;
    }
    List<ShuffleNodeProcess> alive = nodes.stream().filter(ShuffleNodeProcess::isAlive).collect(Collectors.toList());
    homes[map] = alive.get(random.nextInt(alive.size()));
    long[] raw = new long[1];
    byte[] part = ReduceRun.part(job, codec, records, raw, 0);
    files.put(attempt, ShuffleNode.write(homes[map].local(), attempt, raw, part));
    counts.put(attempt, records.size());
    current[map] = attempt;
  }

  private void announce(ReduceRun run, int map) {
    run.event(current[map], Status.SUCCEEDED, homes[map].port());
  }

  /** A map runs again. The reducer hears that the attempt before is of no use, and of the next one. */
  private synchronized void repeat(ReduceRun run, int map) throws IOException {
    Status[] ends = {Status.OBSOLETE, Status.KILLED, Status.FAILED};
    run.event(current[map], ends[random.nextInt(ends.length)], homes[map].port());
    runMap(map);
    announce(run, map);
  }

  // Faults.

  private void happen(Fault fault, ReduceRun run) throws IOException, InterruptedException {
    int map = random.nextInt(maps);
    ShuffleNodeProcess node = homes[map];
    happened.add(fault);
    switch (fault) {
      case RESTART:
        node.kill();
        node.start(new ArrayList<>());
        break;
      case LOSE:
        lose(node, run);
        break;
      case PAUSE:
        node.pause(50 + random.nextInt(600));
        break;
      case OBSOLETE:
        repeat(run, map);
        break;
      default:
        harm(fault, files.get(current[map]));
    }
  }

  private void lose(ShuffleNodeProcess node, ReduceRun run) throws IOException, InterruptedException {
    if (nodes.stream().filter(ShuffleNodeProcess::isAlive).count() < 2) {
      return;
    }
    node.kill();
    TimeUnit.MILLISECONDS.sleep(random.nextInt(100));
    for (int map = 0; map < maps; map++) {
      if (homes[map] == node) {
        repeat(run, map);
      }
    }
  }

  private void harm(Fault fault, Path file) throws IOException {
    if (fault == Fault.VANISH) {
      Files.deleteIfExists(file);
    } else if (Files.exists(file) && Files.size(file) > 0) {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        long at = (long) (random.nextDouble() * channel.size());
        if (fault == Fault.CUT) {
          channel.truncate(at);
        } else {
          ByteBuffer one = ByteBuffer.allocate(1);
          channel.read(one, at);
          one.put(0, (byte) ~one.get(0)).flip();
          channel.write(one, at);
        }
      }
    }
  }

  /** The ApplicationMaster: runs maps again whose output can't be fetched; and the faults while maps are fetched. */
  private void attend(ReduceRun run, List<Fault> faults) {
    try {
      Set<TaskAttemptID> done = new HashSet<>();
      for (Fault fault : faults) {
        long from = random.nextInt(maps + 1);
        while (copying && run.count(TaskCounter.SHUFFLED_MAPS) < from) {
          answer(run, done);
        }
        if (fault != Fault.KILL && copying) {
          happen(fault, run);
        }
      }
      while (copying) {
        answer(run, done);
      }
    } catch (Throwable e) {
      failure = e;
    }
  }

  private void answer(ReduceRun run, Set<TaskAttemptID> done) throws IOException, InterruptedException {
    for (TaskAttemptID lost : run.lost) {
      int map = lost.getTaskID().getId();
      if (done.add(lost) && lost.toString().equals(current[map]) && repeats[map]++ < REPEATS_MOST) {
        repeat(run, map);
      }
    }
    TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
  }

  // The reducer.

  /**
   * Runs the job: an attempt with faults and, if that fails or is killed, others without.
   *
   * @param first number of the attempt
   * @param room bytes that the first attempt may write to its disk
   * @param links whether links are lost, slow, or the like, whatever else happens
   * @return whether the first attempt came through
   */
  boolean run(int first, long room, boolean links) throws Exception {
    linkFaults = links;
    for (int map = 0; map < maps; map++) {
      runMap(map);
    }
    job.setNumMapTasks(maps);
    SmallLocalFs.ROOM.set(room);
    boolean isFirst = attempt(first, true);
    boolean good = isFirst;
    SmallLocalFs.ROOM.set(Long.MAX_VALUE);
    for (int number = 1; number < ATTEMPTS_MOST && !good; number++) {
      repair();
      good = attempt(number, false);
    }
    assertThat(good).as("the job").isTrue();
    return isFirst;
  }

  /** By the next attempt maps have run again whose output is lost. */
  private void repair() throws IOException, InterruptedException {
    for (ShuffleNodeProcess node : nodes) {
      if (!node.isAlive()) {
        node.start(new ArrayList<>());
      }
    }
    for (int map = 0; map < maps; map++) {
      runMap(map);
    }
  }

  private boolean attempt(int number, boolean faults) throws Exception {
    ReduceRun run = new ReduceRun(job, scratch, "attempt_1000_0001_r_000000_" + number, secret, codec);
    Thread master = new Thread(() -> attend(run, faults ? atCopies : new ArrayList<>()));
    copying = true;
    try {
      synchronized (this) {
        for (int map = 0; map < maps; map++) {
          announce(run, map);
        }
      }
      master.start();
      RawKeyValueIterator records = run.run();
      stop(master);
      boolean whole = read(records, faults ? atRecords : new ArrayList<>(), run);
      records.close();
      return whole;
    } catch (IOException e) {
      boolean isFull = SmallLocalFs.ROOM.get() < 0;
      if (!linkFaults && !isFull && (!faults || happened.isEmpty())) {
        throw new AssertionError("without a fault", e);
      }
      return false;
    } finally {
      stop(master);
      run.close();
      long heap = job.getLong("mapreduce.reduce.memory.totalbytes", 0);
      assertThat(run.count("MERGE_MEMORY_PEAK")).as("bytes that were held")
          .isLessThanOrEqualTo(run.count("STREAMED_REDUCES") > 0 ? heap / 2 + 4L * maps : heap / 10 * 9);
    }
  }

  private void stop(Thread master) throws InterruptedException {
    copying = false;
    master.join();
    if (failure != null) {
      throw new AssertionError("of the test itself", failure);
    }
  }

  /** Reads and checks all records. @return false if the attempt was killed */
  private boolean read(RawKeyValueIterator records, List<Fault> faults, ReduceRun run) throws Exception {
    String[] seen = new String[maps];
    int[] read = new int[maps];
    String last = "";
    int next = random.nextInt(200);
    int fault = 0;
    for (int i = 0; records.next(); i++) {
      String key = ReduceRun.key(records);
      Item item = items.get(key);
      if (happened.contains(Fault.DAMAGE) && (item == null || !ReduceRun.isAt(records, item))) {
        return failAtChecksum(records, key);
      }
      assertThat(item).as("the record %s", key).isNotNull();
      assertThat(ReduceRun.isAt(records, item)).as("the value of %s", key).isTrue();
      assertThat(last.compareTo(key)).as("%s before %s", last, key).isLessThan(0);
      last = key;
      String[] parts = key.split("-");
      int map = Integer.parseInt(parts[1]);
      assertThat(seen[map] == null || seen[map].equals(parts[2])).as("%s after %s", parts[2], seen[map]).isTrue();
      seen[map] = parts[2];
      read[map]++;
      if (i == next && fault < faults.size()) {
        if (faults.get(fault) == Fault.KILL) {
          happened.add(Fault.KILL);
          return false;
        }
        happen(faults.get(fault++), run);
        next += random.nextInt(200);
      }
    }
    checkWhole(seen, read);
    return true;
  }

  /** reduce() may be given bytes before the checksum that follows them; such an attempt has to fail before its end. */
  private static boolean failAtChecksum(RawKeyValueIterator records, String key) throws IOException {
    while (records.next()) {
      records.getValue();
    }
    throw new AssertionError("an attempt came through with damaged bytes in " + key);
  }

  private void checkWhole(String[] seen, int[] read) {
    for (int map = 0; map < maps; map++) {
      if (seen[map] != null) {
        assertThat(read[map]).as("records of %s", seen[map]).isEqualTo(counts.get(seen[map]));
      } else {
        String of = String.format("_m_%06d_", map);
        assertThat(counts.entrySet()).as("empty outputs of map %d", map)
            .anyMatch(entry -> entry.getKey().contains(of) && entry.getValue() == 0);
      }
    }
  }

  /** Deletes the outputs. */
  void clean() throws IOException {
    for (Path file : files.values()) {
      for (Path one : Arrays.asList(file, file.resolveSibling("file.out.index"), file.getParent())) {
        Files.deleteIfExists(one);
      }
    }
  }
}

package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.howdah.engine.Counter;
import io.howdah.engine.Engine;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.netty.SparkTransportConf;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Blocks, and sums of blocks, for which the engine's memory limit leaves no room. */
@Timeout(180)
class MemoryLimitTest {
  private static final String[] SMALL = {RdmaBlockConf.REQUIRED + "=true", "engine.memory.limit=8m",
      "engine.memory.slab.size=1m", "spark.shuffle.io.maxRetries=0", "spark.shuffle.io.connectionTimeout=20s"};
  private static final long LIMIT = 8 << 20;

  @TempDir
  Path folder;

  private final long leaks = Engine.leaks();
  private TestService client;
  private TestService server;

  @AfterEach
  void close() {
    client.close();
    server.close();
  }

  private void start() throws Exception {
    client = TestService.rdma(SMALL);
    server = TestService.rdma(SMALL);
  }

  private static byte[] bytes(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static String[] put(TestService service, int from, int count, int size) {
    String[] names = new String[count];
    for (int i = 0; i < count; i++) {
      names[i] = "rdd_1_" + (from + i);
      service.blocks.put(names[i], new TestService.Counted(bytes(size, from + i)));
    }
    return names;
  }

  private static void assertWhole(Fetched fetched, String... names) throws Exception {
    for (String name : names) {
      int seed = Integer.parseInt(name.substring(name.lastIndexOf('_') + 1));
      byte[] read = fetched.read(name);
      assertThat(read).isEqualTo(bytes(read.length, seed));
    }
  }

  private void assertNothingIsHeld(TestService... services) throws Exception {
    for (TestService service : services) {
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
      while ((service.engine.counters().get(Counter.MEMORY_USED) > 0 || service.rdma.metrics().held.getCount() > 0)
          && System.nanoTime() < end) {
        Thread.sleep(5);
      }
      assertThat(service.engine.counters().get(Counter.MEMORY_USED)).isZero();
      assertThat(service.rdma.client().shares().kept()).isZero();
      assertThat(service.rdma.client().credits().out()).isZero();
      assertThat(service.rdma.metrics().held.getCount()).isZero();
    }
    assertThat(Engine.leaks()).isEqualTo(leaks);
  }

  @Test
  void aBlockLargerThanTheLimitArrivesFromMemoryAndFromAFile() throws Exception {
    start();
    byte[] contents = bytes(40 << 20, 1);
    File file = folder.resolve("block").toFile();
    Files.write(file.toPath(), contents);
    server.blocks.put("rdd_1_1", new TestService.Counted(contents));
    server.blocks.put("shuffle_1_1_1", new FileSegmentManagedBuffer(
        SparkTransportConf.fromSparkConf(TestService.conf(), "shuffle", 1), file, 0, contents.length));
    Fetched fetched = Fetched.of(client, server, "rdd_1_1", "shuffle_1_1_1");
    assertThat(fetched.read("rdd_1_1")).isEqualTo(contents);
    assertThat(fetched.read("shuffle_1_1_1")).isEqualTo(contents);
    assertThat(client.rdma.metrics().copiedBytes.getCount()).isEqualTo(2L * contents.length);
    fetched.release();
    ManagedBuffer awaited = client.service.fetchBlockSync(TestService.HOST, server.port(), "1", "rdd_1_1");
    assertThat(awaited.nioByteBuffer()).isEqualTo(ByteBuffer.wrap(contents));
    assertNothingIsHeld(client, server);
  }

  @Test
  void blocksThatAreNotReleasedLeaveRoomForOthersOfEverySize() throws Exception {
    start();
    String[] large = put(server, 0, 12, 3 << 20);
    String[] middle = put(server, 100, 60, 120_000);
    String[] tiny = put(server, 200, 300, 500);
    List<Fetched> all = new ArrayList<>();
    for (String[] names : new String[][] {large, middle, tiny, large, middle, tiny}) {
      Fetched fetched = Fetched.of(client, server, names);
      assertThat(fetched.failures).isEmpty();
      all.add(fetched);
      assertThat(client.rdma.client().shares().kept()).isLessThanOrEqualTo(LIMIT / 16 * 5);
    }
    for (Fetched fetched : all) {
      assertWhole(fetched, fetched.blocks.keySet().toArray(new String[0]));
      fetched.release();
    }
    assertThat(client.rdma.metrics().failures.getCount()).isZero();
    assertNothingIsHeld(client, server);
    // Once all is released there is room again.
    long copied = client.rdma.metrics().copiedBytes.getCount();
    Fetched.of(client, server, tiny).release();
    assertThat(client.rdma.metrics().copiedBytes.getCount()).isEqualTo(copied);
  }

  @Test
  void twoProcessesThatHoldEachOthersBlocksBothGetMore() throws Exception {
    start();
    String[] there = put(server, 0, 40, 700_000);
    String[] here = put(client, 0, 40, 700_000);
    List<Fetched> held = new ArrayList<>();
    for (int round = 0; round < 3; round++) {
      Fetched ours = new Fetched(there.length);
      Fetched theirs = new Fetched(here.length);
      client.service.fetchBlocks(TestService.HOST, server.port(), "1", there, ours);
      server.service.fetchBlocks(TestService.HOST, client.port(), "1", here, theirs);
      assertThat(ours.await().failures).isEmpty();
      assertThat(theirs.await().failures).isEmpty();
      held.add(ours);
      held.add(theirs);
    }
    for (Fetched fetched : held) {
      assertWhole(fetched, there);
      fetched.release();
    }
    assertNothingIsHeld(client, server);
  }

  @Test
  void manyTasksAskForLargeBlocksOfSeveralPeers() throws Exception {
    start();
    try (TestService another = TestService.rdma(SMALL)) {
      String[] there = put(server, 0, 24, 5 << 20);
      String[] elsewhere = put(another, 0, 24, 5 << 20);
      List<Fetched> tasks = new ArrayList<>();
      for (int task = 0; task < 24; task++) {
        Fetched fetched = new Fetched(2);
        client.service.fetchBlocks(TestService.HOST, server.port(), "1", new String[] {there[task]}, fetched);
        client.service.fetchBlocks(TestService.HOST, another.port(), "1", new String[] {elsewhere[23 - task]}, fetched);
        tasks.add(fetched);
      }
      for (Fetched fetched : tasks) {
        fetched.await();
        assertWhole(fetched, fetched.blocks.keySet().toArray(new String[0]));
        fetched.release();
      }
      assertThat(client.rdma.metrics().failures.getCount()).isZero();
      assertNothingIsHeld(client, server, another);
    }
  }

  @Test
  void whatWasUnderWayAsTheServerEndedGivesItsRoomBack() throws Exception {
    start();
    String[] names = put(server, 0, 20, 3 << 20);
    Fetched fetched = new Fetched(names.length);
    client.service.fetchBlocks(TestService.HOST, server.port(), "1", names, fetched);
    server.close();
    fetched.await();
    assertThat(fetched.blocks.size() + fetched.failures.size()).isEqualTo(names.length);
    fetched.release();
    assertNothingIsHeld(client);
  }
}

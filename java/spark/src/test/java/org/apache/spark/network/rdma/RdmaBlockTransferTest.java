package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.howdah.engine.Counter;
import io.howdah.engine.Engine;
import io.howdah.upgrade.Options;
import io.howdah.upgrade.Upgrade;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkException;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.netty.SparkTransportConf;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import org.apache.spark.storage.TestBlockId;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.concurrent.Await;
import scala.concurrent.Future;
import scala.concurrent.duration.Duration;
import scala.reflect.ClassTag$;
import scala.runtime.BoxedUnit;

@Timeout(180)
class RdmaBlockTransferTest {
  private static final String REQUIRED = RdmaBlockConf.REQUIRED + "=true";

  @TempDir
  Path folder;

  private final long leaks = Engine.leaks();
  private TestService client;
  private TestService server;

  @AfterEach
  void close() {
    if (client != null) {
      client.close();
    }
    if (server != null) {
      server.close();
    }
  }

  private void start(String... options) throws Exception {
    client = TestService.rdma(options);
    server = TestService.rdma(options);
  }

  private static byte[] bytes(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private FileSegmentManagedBuffer file(String name, byte[] contents, int from, int length) throws IOException {
    File file = folder.resolve(name).toFile();
    Files.write(file.toPath(), contents);
    return new FileSegmentManagedBuffer(SparkTransportConf.fromSparkConf(TestService.conf(), "shuffle", 1), file, from,
        length);
  }

  private static void awaitZero(Engine engine) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (engine.counters().get(Counter.MEMORY_USED) > 0 && System.nanoTime() < end) {
      Thread.sleep(5);
    }
    assertThat(engine.counters().get(Counter.MEMORY_USED)).isZero();
  }

  private static void awaitReleased(ManagedBuffer block) throws Exception {
    for (;;) {
      try {
        block.nioByteBuffer();
      } catch (IllegalStateException e) {
        return;
      }
      Thread.sleep(1);
    }
  }

  private void assertNothingIsHeld() throws Exception {
    awaitZero(client.engine);
    awaitZero(server.engine);
    while (client.rdma.metrics().held.getCount() > 0) { // given back behind the listener's call
      Thread.sleep(1);
    }
    assertThat(Engine.leaks()).isEqualTo(leaks);
  }

  @Test
  void blocksOfAllSizesFromMemoryAndFiles() throws Exception {
    start(REQUIRED);
    int[] sizes = {0, 1, 100, 65_536, 1 << 20, (1 << 20) + 1, 4 << 20, (8 << 20) + 12_345};
    String[] names = new String[2 * sizes.length];
    for (int i = 0; i < sizes.length; i++) {
      byte[] contents = bytes(sizes[i] + 7, i);
      names[2 * i] = "shuffle_1_" + i + "_0";
      names[2 * i + 1] = "rdd_1_" + i;
      server.blocks.put(names[2 * i], file("f" + i, contents, 7, sizes[i]));
      server.blocks.put(names[2 * i + 1], new TestService.Counted(bytes(sizes[i], i)));
    }
    Fetched fetched = Fetched.of(client, server, names);
    for (int i = 0; i < sizes.length; i++) {
      byte[] contents = bytes(sizes[i] + 7, i);
      assertThat(fetched.read(names[2 * i])).isEqualTo(java.util.Arrays.copyOfRange(contents, 7, contents.length));
      assertThat(fetched.read(names[2 * i + 1])).isEqualTo(bytes(sizes[i], i));
      assertThat(fetched.blocks.get(names[2 * i]).nioByteBuffer().remaining()).isEqualTo(sizes[i]);
    }
    assertThat(client.rdma.metrics().nettyBlocks.getCount()).isZero();
    assertThat(client.rdma.metrics().blocks.getCount()).isEqualTo(names.length);
    fetched.release();
    assertNothingIsHeld();
    for (String name : names) {
      if (name.startsWith("rdd")) {
        assertThat(((TestService.Counted) server.blocks.get(name)).held).describedAs(name).hasValue(0);
      }
    }
  }

  @Test
  void thousandsOfTinyBlocksTravelTogether() throws Exception {
    start(REQUIRED);
    String[] names = new String[5000];
    for (int i = 0; i < names.length; i++) {
      names[i] = "shuffle_3_" + i + "_" + i * 31;
      server.blocks.put(names[i], new TestService.Counted(bytes(i % 300, i)));
    }
    Fetched fetched = Fetched.of(client, server, names);
    for (int i = 0; i < names.length; i++) {
      assertThat(fetched.read(names[i])).isEqualTo(bytes(i % 300, i));
    }
    assertThat(fetched.told).hasValue(names.length);
    assertThat(client.rdma.metrics().requests.getCount()).isLessThan(names.length / 50);
    fetched.release();
    assertNothingIsHeld();
  }

  @Test
  void whatAnAnswerHasNoRoomForIsAskedForSideBySide() throws Exception {
    start(REQUIRED);
    String[] names = new String[40];
    for (int i = 0; i < names.length; i++) {
      names[i] = "shuffle_1_" + i + "_1";
      server.blocks.put(names[i], new TestService.Counted(bytes(300_000, i))); // an answer takes three
    }
    Fetched fetched = Fetched.of(client, server, names);
    for (int i = 0; i < names.length; i++) {
      assertThat(fetched.read(names[i])).isEqualTo(bytes(300_000, i));
    }
    fetched.release();
    assertThat(client.rdma.metrics().requests.getCount()).isEqualTo(14);
    assertThat(client.rdma.metrics().fullAnswers.getCount()).isEqualTo(1); // one after the other it was 13
    Fetched.of(client, server, names).release();
    assertThat(client.rdma.metrics().requests.getCount()).isEqualTo(28);
    assertThat(client.rdma.metrics().fullAnswers.getCount()).isEqualTo(1); // the size of an answer is known by now
    assertNothingIsHeld();
  }

  @Test
  void aLargeBlockBeforeManyTinyOnesDoesNotScatterThem() throws Exception {
    start(REQUIRED);
    String[] names = new String[100];
    for (int i = 0; i < names.length; i++) {
      names[i] = "shuffle_1_" + i + "_1";
      server.blocks.put(names[i], new TestService.Counted(bytes(i == 0 ? 1 << 20 : 10, i)));
    }
    Fetched fetched = Fetched.of(client, server, names);
    assertThat(fetched.read(names[99])).isEqualTo(bytes(10, 99));
    fetched.release();
    assertThat(client.rdma.metrics().requests.getCount()).isLessThanOrEqualTo(17);
    assertNothingIsHeld();
  }

  @Test
  void aBlockThatIsMissingFailsAlone() throws Exception {
    start(REQUIRED);
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(10, 1)));
    server.blocks.put("shuffle_9_9_9", file("short", bytes(10, 1), 0, 500));
    Fetched fetched = Fetched.of(client, server, "rdd_1_1", "rdd_1_2");
    assertThat(fetched.blocks).containsOnlyKeys("rdd_1_1");
    assertThat(fetched.failures.get("rdd_1_2")).isInstanceOf(RuntimeException.class)
        .hasMessageContaining("no rdd_1_2 in the test");
    fetched.release();
    Fetched cut = Fetched.of(client, server, "shuffle_9_9_9");
    assertThat(cut.failures.get("shuffle_9_9_9")).hasMessageContaining("ends at 10");
    assertThat(Fetched.of(client, server, "nonsense").failures).containsOnlyKeys("nonsense");
    Fetched again = Fetched.of(client, server, "rdd_1_1");
    assertThat(again.failures).isEmpty();
    again.release();
    assertNothingIsHeld();
  }

  @Test
  void aBlockThatStockSparkCannotTransferFailsWithItsWords() throws Exception {
    start(REQUIRED);
    File file = folder.resolve("large").toFile();
    server.blocks.put("shuffle_1_1_1", new FileSegmentManagedBuffer(
        SparkTransportConf.fromSparkConf(TestService.conf(), "shuffle", 1), file, 0, 2200L << 20));
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(10, 1)));
    Fetched fetched = Fetched.of(client, server, "shuffle_1_1_1", "rdd_1_1");
    assertThat(fetched.failures.get("shuffle_1_1_1")).hasMessageContaining("Too large frame: 2306867200");
    assertThat(fetched.blocks).containsOnlyKeys("rdd_1_1");
    fetched.release();
    assertNothingIsHeld();
  }

  /** Bytes on the heap that threads of this name have taken so far. */
  private static long allocated(String name) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    return Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
        .filter(thread -> thread != null && thread.getThreadName().equals(name))
        .mapToLong(thread -> threads.getThreadAllocatedBytes(thread.getThreadId())).sum();
  }

  @Test
  void aBlockThatAThreadWaitsForIsCopiedByThatThreadAndOnce() throws Exception {
    start(REQUIRED, "spark.shuffle.io.maxRetries=0");
    int size = 9 << 20; // in three pieces
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(size, 1)));
    Fetched.of(client, server, "rdd_1_1").release(); // whatever has to be loaded and connected is
    String self = Thread.currentThread().getName();
    long answering = allocated("rdma-block-client");
    long asking = allocated(self);
    ManagedBuffer block = client.service.fetchBlockSync(TestService.HOST, server.port(), "1", "rdd_1_1");
    answering = allocated("rdma-block-client") - answering;
    asking = allocated(self) - asking;
    assertThat(block.nioByteBuffer()).isEqualTo(ByteBuffer.wrap(bytes(size, 1)));
    assertThat(answering).isLessThan(size / 4);
    assertThat(asking).isBetween((long) size, size + (long) size / 4);
    assertThatThrownBy(() -> client.service.fetchBlockSync(TestService.HOST, server.port(), "1", "rdd_9_9"))
        .isInstanceOf(SparkException.class).hasStackTraceContaining("no rdd_9_9 in the test");
    assertNothingIsHeld();
  }

  @Test
  void whatIsReleasedIsGoneAndOnlyOnce() throws Exception {
    start(REQUIRED);
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 1)));
    server.blocks.put("rdd_1_2", new TestService.Counted(bytes(9 << 20, 1)));
    Fetched fetched = Fetched.of(client, server, "rdd_1_1", "rdd_1_2");
    for (String name : new String[] {"rdd_1_1", "rdd_1_2"}) {
      ManagedBuffer block = fetched.blocks.get(name);
      java.io.InputStream input = block.createInputStream();
      assertThat(input.read()).isEqualTo(bytes(1, 1)[0] & 0xff);
      block.retain().release();
      block.release();
      awaitReleased(block); // the service gives its own reference up behind the listener's call
      assertThatThrownBy(block::release).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(block::retain).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(block::nioByteBuffer).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(input::read).isInstanceOf(IOException.class).hasMessageContaining("released");
    }
    assertNothingIsHeld();
  }

  @Test
  void oneSessionServesAllAndLastsUntilItIsIdle() throws Exception {
    start(REQUIRED, Options.SPARK_IDLE + "=1s");
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 1)));
    for (int i = 0; i < 50; i++) {
      Fetched.of(client, server, "rdd_1_1").release();
    }
    assertThat(client.rdma.metrics().sessions.getCount()).isEqualTo(1);
    assertThat(server.rdma.server().sessionCount()).isEqualTo(1);
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (server.rdma.server().sessionCount() > 0 && System.nanoTime() < end) {
      Thread.sleep(20);
    }
    assertThat(server.rdma.server().sessionCount()).isZero();
    Fetched again = Fetched.of(client, server, "rdd_1_1");
    assertThat(again.failures).isEmpty();
    again.release();
    assertThat(client.rdma.metrics().sessions.getCount()).isEqualTo(2);
  }

  @Test
  void aServerThatEndsFailsWhatIsUnderWayAndCountsOnce() throws Exception {
    start(REQUIRED, "spark.shuffle.io.maxRetries=1");
    for (int i = 0; i < 40; i++) {
      server.blocks.put("rdd_1_" + i, new TestService.Counted(bytes(3 << 20, i)));
    }
    String[] names = server.blocks.keySet().toArray(new String[0]);
    Fetched fetched = new Fetched(names.length);
    client.service.fetchBlocks(TestService.HOST, server.port(), "1", names, fetched);
    server.close();
    fetched.await();
    assertThat(fetched.told).hasValue(names.length);
    assertThat(fetched.blocks.size() + fetched.failures.size()).isEqualTo(names.length);
    fetched.release();
    Fetched after = Fetched.of(client, server, "rdd_1_1");
    assertThat(after.failures.get("rdd_1_1")).isInstanceOf(IOException.class);
    awaitZero(client.engine);
    assertThat(client.rdma.metrics().held.getCount()).isZero();
    for (ManagedBuffer block : server.blocks.values()) {
      assertThat(((TestService.Counted) block).held).hasValue(0);
    }
  }

  @Test
  void aServiceThatTookThePlaceOfAnotherIsFoundOverTheSameLink() throws Exception {
    client = TestService.rdma(REQUIRED);
    try (Upgrade process = TestService.process()) {
      server = TestService.in(process, 0, REQUIRED);
      int port = server.port();
      server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 1)));
      Fetched.of(client, server, "rdd_1_1").release();
      server.close();
      server = TestService.in(process, port, REQUIRED);
      assertThat(server.port()).isEqualTo(port);
      server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 2)));
      Fetched fetched = Fetched.of(client, server, "rdd_1_1");
      assertThat(fetched.read("rdd_1_1")).isEqualTo(bytes(1000, 2));
      fetched.release();
      assertThat(client.engine.counters().get(Counter.LINKS_OPENED)).isEqualTo(1);
      assertThat(client.rdma.metrics().sessions.getCount()).isEqualTo(2);
      server.close();
    }
  }

  @Test
  void aSilentPeerLosesItsLink() throws Exception {
    start(REQUIRED, "spark.shuffle.io.maxRetries=0", "spark.shuffle.io.connectionTimeout=5s");
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 1)));
    Fetched.of(client, server, "rdd_1_1").release();
    Fetched fetched = Fetched.of(client, server, TestService.SLOW);
    assertThat(fetched.failures.get(TestService.SLOW)).isInstanceOf(IOException.class)
        .hasMessageContaining("the fetch from").hasMessageContaining("failed");
    assertThat(server.asked).hasValue(2);
    server.answer.countDown();
    Fetched again = Fetched.of(client, server, "rdd_1_1");
    assertThat(again.read("rdd_1_1")).isEqualTo(bytes(1000, 1));
    again.release();
    assertThat(client.rdma.metrics().sessions.getCount()).isEqualTo(2);
  }

  @Test
  void unlessTheEngineIsRequiredASilentPeerIsAskedOverNettyFromThenOn() throws Exception {
    start("spark.shuffle.io.maxRetries=0", "spark.shuffle.io.connectionTimeout=5s");
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 1)));
    assertThat(Fetched.of(client, server, TestService.SLOW).failures).containsOnlyKeys(TestService.SLOW);
    server.answer.countDown();
    Fetched again = Fetched.of(client, server, "rdd_1_1");
    assertThat(again.read("rdd_1_1")).isEqualTo(bytes(1000, 1));
    again.release();
    assertThat(client.rdma.metrics().nettyBlocks.getCount()).isEqualTo(1);
    assertThat(client.rdma.metrics().fallbacks.getCount()).isEqualTo(1);
  }

  @Test
  void linksThatAreLostTwiceBeforeABlockHasComeMeanNetty() throws Exception {
    start("spark.shuffle.io.maxRetries=3", "spark.shuffle.io.retryWait=50ms");
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 1)));
    Peer peer = client.rdma.client().peer(TestService.HOST, server.port());
    for (int i = 0; i < 2; i++) {
      ClientSession session = peer.session();
      session.link().disconnect();
      while (session.isOpen()) { // a link that was cut is down a moment later
        Thread.sleep(5);
      }
    }
    Fetched fetched = Fetched.of(client, server, "rdd_1_1");
    assertThat(fetched.read("rdd_1_1")).isEqualTo(bytes(1000, 1));
    fetched.release();
    assertThat(client.rdma.metrics().nettyBlocks.getCount()).isEqualTo(1);
    assertThat(client.rdma.metrics().sessions.getCount()).isEqualTo(2);
  }

  @Test
  void closingTheClientEndsEverything() throws Exception {
    start(REQUIRED, "spark.shuffle.io.maxRetries=0");
    for (int i = 0; i < 20; i++) {
      server.blocks.put("rdd_1_" + i, new TestService.Counted(bytes(3 << 20, i)));
    }
    String[] names = server.blocks.keySet().toArray(new String[0]);
    Fetched fetched = new Fetched(names.length);
    client.service.fetchBlocks(TestService.HOST, server.port(), "1", names, fetched);
    client.close();
    fetched.await();
    assertThat(fetched.told).hasValue(names.length);
    fetched.release();
    awaitZero(server.engine);
  }

  @Test
  void aServerWithoutTheEngineIsServedOverNetty() throws Exception {
    client = TestService.rdma();
    server = TestService.netty();
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1 << 20, 1)));
    for (int i = 0; i < 3; i++) {
      Fetched fetched = Fetched.of(client, server, "rdd_1_1");
      assertThat(fetched.read("rdd_1_1")).isEqualTo(bytes(1 << 20, 1));
      fetched.release();
    }
    assertThat(client.rdma.metrics().nettyBlocks.getCount()).isEqualTo(3);
    assertThat(client.rdma.metrics().blocks.getCount()).isZero();
    assertThat(client.rdma.metrics().fallbacks.getCount()).isEqualTo(1);
  }

  @Test
  void aClientWithoutTheEngineIsServedOverNetty() throws Exception {
    client = TestService.netty();
    server = TestService.rdma(REQUIRED);
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(5 << 20, 1)));
    Fetched fetched = Fetched.of(client, server, "rdd_1_1");
    assertThat(fetched.read("rdd_1_1")).isEqualTo(bytes(5 << 20, 1));
    fetched.release();
    assertThat(server.rdma.metrics().servedBlocks.getCount()).isZero();
  }

  @Test
  void requiredMeansNoNetty() throws Exception {
    client = TestService.rdma(REQUIRED, "spark.shuffle.io.maxRetries=0");
    server = TestService.netty();
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 1)));
    Fetched fetched = Fetched.of(client, server, "rdd_1_1");
    assertThat(fetched.failures.get("rdd_1_1")).isInstanceOf(IOException.class)
        .hasMessageContaining("has to go over the engine");
    assertThat(client.rdma.metrics().nettyBlocks.getCount()).isZero();
    assertThat(server.asked).hasValue(0);
  }

  @Test
  void anotherApplicationIsRefused() throws Exception {
    client = TestService.rdma(REQUIRED, "spark.app.id=another", "spark.shuffle.io.maxRetries=0");
    server = TestService.rdma(REQUIRED);
    server.blocks.put("rdd_1_1", new TestService.Counted(bytes(1000, 1)));
    Fetched fetched = Fetched.of(client, server, "rdd_1_1");
    assertThat(fetched.failures.get("rdd_1_1")).hasMessageContaining("not another");
    assertThat(server.asked).hasValue(0);
  }

  @Test
  void memoryThatIsShortMakesPeersWait() throws Exception {
    start(REQUIRED, "engine.memory.limit=32m", "engine.memory.slab.size=4m");
    String[] names = new String[40];
    for (int i = 0; i < names.length; i++) {
      names[i] = "rdd_1_" + i;
      server.blocks.put(names[i], new TestService.Counted(bytes(3 << 20, i)));
    }
    Fetched fetched = new Fetched(names.length) {
      @Override
      public void onBlockFetchSuccess(String block, ManagedBuffer data) {
        try {
          assertThat(data.nioByteBuffer()).isEqualTo(ByteBuffer.wrap(bytes(3 << 20, block.hashCode())));
        } catch (IOException | AssertionError e) {
          failures.put(block, e);
        }
        super.onBlockFetchSuccess(block, data);
        blocks.remove(block).release();
      }
    };
    for (String name : names) {
      server.blocks.put(name, new TestService.Counted(bytes(3 << 20, name.hashCode())));
    }
    client.service.fetchBlocks(TestService.HOST, server.port(), "1", names, fetched);
    fetched.await();
    assertThat(fetched.failures).isEmpty();
    assertNothingIsHeld();
  }

  /** The handlers take turns at receiving: one of them must always be left to it. */
  @Test
  void whileAllHandlersAreBusyRequestsWaitOrAreRefusedAndPeersCome() throws Exception {
    start(REQUIRED, Options.SPARK_HANDLERS + "=2", RdmaBlockConf.QUEUE + "=16", Options.SPARK_FETCHES + "=64",
        "spark.shuffle.io.maxRetries=0");
    server.blocks.put(TestService.SLOW, new TestService.Counted(bytes(10, 1)));
    Fetched[] slow = {new Fetched(1), new Fetched(1)};
    for (int i = 0; i < slow.length; i++) {
      client.service.fetchBlocks(TestService.HOST, server.port(), "1", new String[] {TestService.SLOW}, slow[i]);
      awaitAsked(i + 1);
    }
    Fetched quick = new Fetched(40);
    for (int i = 0; i < 40; i++) {
      server.blocks.put("rdd_1_" + i, new TestService.Counted(bytes(10, 2)));
      client.service.fetchBlocks(TestService.HOST, server.port(), "1", new String[] {"rdd_1_" + i}, quick);
    }
    while (quick.told.get() < 24) {
      Thread.sleep(1);
    }
    assertThat(quick.failures).hasSize(24);
    assertThat(quick.failures.values()).allSatisfy(e -> assertThat(e).hasMessageContaining(RdmaBlockConf.QUEUE));
    try (TestService another = TestService.rdma(REQUIRED, "spark.shuffle.io.maxRetries=0")) {
      Fetched refused = Fetched.of(another, server, "rdd_1_1"); // over a session of its own, made meanwhile
      assertThat(refused.failures.get("rdd_1_1")).hasMessageContaining(RdmaBlockConf.QUEUE);
    }
    assertThat(server.asked).hasValue(2);
    server.answer.countDown();
    for (Fetched each : slow) {
      each.await().release();
    }
    quick.await().release();
    assertThat(quick.blocks).hasSize(16);
    assertThat(server.rdma.metrics().refused.getCount()).isEqualTo(25);
    assertNothingIsHeld();
  }

  private void awaitAsked(int count) throws InterruptedException {
    while (server.asked.get() < count) {
      Thread.sleep(1);
    }
  }

  @Test
  void blocksAreSentToBeKept() throws Exception {
    start(REQUIRED);
    for (int size : new int[] {0, 1, 100_000, 6 << 20}) {
      BlockId block = new TestBlockId("of_" + size);
      TestService.Counted data = new TestService.Counted(bytes(size, size));
      Future<BoxedUnit> stored = client.service.uploadBlock(TestService.HOST, server.port(), "1", block, data,
          StorageLevel.MEMORY_ONLY(), ClassTag$.MODULE$.Int());
      Await.result(stored, Duration.create(60, TimeUnit.SECONDS));
      String key = block + " " + StorageLevel.MEMORY_ONLY().description() + " Int";
      assertThat(server.stored).containsKey(key);
      assertThat(server.stored.get(key)).isEqualTo(bytes(size, size));
    }
    assertThat(client.rdma.metrics().uploads.getCount()).isEqualTo(4);
    Future<BoxedUnit> refused = client.service.uploadBlock(TestService.HOST, server.port(), "1",
        BlockId.apply("rdd_6_6"), new TestService.Counted(new byte[10]), StorageLevel.MEMORY_ONLY(),
        ClassTag$.MODULE$.Int());
    assertThatThrownBy(() -> Await.result(refused, Duration.create(60, TimeUnit.SECONDS)))
        .hasMessageContaining("no room for rdd_6_6");
    assertNothingIsHeld();
  }
}

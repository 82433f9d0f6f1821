package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two JVMs, and how JVMs end. */
@Timeout(120)
class ProcessesTest {
  @Test
  void threadsShareALinkToAnotherJvm() throws Exception {
    try (Peer peer = Peer.start("echo")) {
      assertThat(peer.link.transport()).isEqualTo(Transports.LINKED);
      assertThat(peer.link.peer()).contains("child");
      List<CompletableFuture<Object>> threads = new ArrayList<>();
      for (int t = 0; t < 6; t++) {
        int seed = t;
        threads.add(Threads.supply(() -> {
          try (EngineStream stream = peer.link.open("test")) {
            for (int i = 0; i < 200; i++) {
              Peer.exchange(stream, EngineStreamTest.bytes(i % 20 == 0 ? 300_000 : 1 + i * 7, seed * 1000 + i));
            }
          }
          return null;
        }));
      }
      for (CompletableFuture<Object> thread : threads) {
        thread.get(60, TimeUnit.SECONDS);
      }
      assertThat(peer.engine.counters().get(Counter.PROTOCOL_ERRORS)).isZero();
    }
  }

  @Test
  void aBufferThatIsBeingReleasedIsNoGarbage() throws Exception {
    List<String> options = new ArrayList<>(Peer.properties());
    Collections.addAll(options, BuffersInUse.OPTIONS);
    assertThat(Peer.output(Peer.java(options, BuffersInUse.class.getName()))).containsPattern("(?m)^0 dropped$");
  }

  @Test
  void thousandsOfStreamsAreServedByOneThread() throws Exception {
    try (Peer peer = Peer.start("echo")) {
      long before = Leaks.open(Handle.Kind.STREAM);
      List<EngineStream> streams = new ArrayList<>();
      for (int i = 0; i < 3000; i++) {
        streams.add(peer.link.open("test"));
        streams.get(i).send(java.nio.ByteBuffer.wrap(EngineStreamTest.bytes(100, i)));
      }
      EventQueue queue = peer.engine.newQueue();
      boolean[] seen = new boolean[streams.size()];
      int[] count = {0};
      for (int i = 0; i < streams.size(); i++) {
        streams.get(i).configureBlocking(false).register(queue, i);
      }
      while (count[0] < streams.size()) {
        queue.poll(new EventHandler() {
          @Override
          public void readable(EngineStream stream) throws java.io.IOException {
            RegisteredBuffer message = stream.receive();
            if (message == null) {
              return;
            }
            int i = (Integer) stream.attachment();
            assertThat(seen[i]).isFalse();
            byte[] bytes = new byte[message.length()];
            message.buffer().get(bytes);
            assertThat(bytes).isEqualTo(EngineStreamTest.bytes(100, i));
            message.release();
            seen[i] = true;
            count[0]++;
          }
        }, Pair.PATIENCE);
      }
      for (EngineStream stream : streams) {
        stream.close();
      }
      assertThat(queue.members()).isZero();
      assertThat(Leaks.open(Handle.Kind.STREAM)).isEqualTo(before);
      queue.close();
    }
  }

  @Test
  void aKilledPeerIsNamedAndNothingHangs() throws Exception {
    try (Peer peer = Peer.start("mute")) {
      EngineStream stream = peer.link.open("test");
      EngineStream full = peer.link.open("test");
      CompletableFuture<Object> reader = Threads.supply(stream::receive);
      CompletableFuture<Object> writer = Threads.supply(() -> {
        for (;;) {
          full.send(java.nio.ByteBuffer.allocate(100_000));
        }
      });
      Thread.sleep(50);
      kill(peer.process);
      for (CompletableFuture<Object> blocked : Arrays.asList(reader, writer)) {
        assertThatThrownBy(() -> blocked.get(Pair.PATIENCE, TimeUnit.MILLISECONDS))
            .isInstanceOf(ExecutionException.class).hasCauseInstanceOf(LinkException.class)
            .hasMessageContaining("child");
      }
      assertThat(peer.link.isUp()).isFalse();
      assertThatThrownBy(peer.link::check).isInstanceOf(LinkException.class).hasMessageContaining("child");
      stream.close();
      full.close();
      Threads.await(() -> EngineStreamTest.used(peer.engine) == 0);
    }
  }

  private static void kill(Process process) throws Exception {
    java.lang.reflect.Field field = process.getClass().getDeclaredField("pid");
    field.setAccessible(true);
    assertThat(new ProcessBuilder("kill", "-KILL", field.get(process).toString()).start().waitFor()).isZero();
  }

  /** Threads wait in every way while main returns or exits. */
  static final class Exits {
    private Exits() {
    }

    public static void main(String[] args) throws Exception {
      Pair pair = new Pair(Transports.LINKED);
      EngineStream[] ends = pair.streams();
      List<Thread> threads = new ArrayList<>();
      threads.add(Threads.start(() -> Threads.failure(ends[0]::receive)));
      threads.add(Threads.start(() -> Threads.failure(ends[1].input()::read)));
      threads.add(Threads.start(() -> Threads.failure(() -> pair.client.newQueue().poll(new EventHandler() { }, -1))));
      java.nio.channels.SocketChannel[] sockets = Pair.sockets();
      threads.add(Threads.start(() -> Threads.failure(() -> pair.server.accept(sockets[0], null, 0))));
      for (Thread thread : threads) {
        Threads.awaitInside(thread);
      }
      Threads.start(() -> Threads.failure(() -> {
        for (;;) {
          Peer.exchange(pair.streams()[0], new byte[10]); // and some are busy
        }
      }));
      System.out.println("stats " + Native.statsPath(pair.client.core().enter()));
      pair.client.core().exit();
      if ("hook".equals(args[0])) {
        Runtime.getRuntime().addShutdownHook(new Thread(pair::close));
      }
      if (!"return".equals(args[0])) {
        System.exit(7);
      }
    }
  }

  @Test
  void aJvmEndsWhileThreadsAreInside() throws Exception {
    for (String way : new String[] {"exit", "return", "hook"}) {
      Process process = Peer.java(Peer.properties(), Exits.class.getName(), way);
      String output = Peer.output(process);
      assertThat(process.exitValue()).as(output).isEqualTo("return".equals(way) ? 0 : 7);
      assertThat(output).contains("stats /").doesNotContain("FATAL", "A fatal error", "Exception in");
      assertThat(jniWarnings(output)).isEmpty();
      for (String line : output.split("\n")) {
        if (line.startsWith("stats ")) {
          assertThat(new File(line.substring(6))).doesNotExist();
        }
      }
    }
  }

  /** What -Xcheck:jni says, but for what it says of JDK 8's own launcher. */
  private static List<String> jniWarnings(String output) {
    List<String> warnings = new ArrayList<>();
    for (String line : output.split("\n")) {
      if (line.matches(".*(WARNING|FATAL ERROR) in native method.*")
          && !line.endsWith("from CallStaticObjectMethod")) { // we call none
        warnings.add(line);
      }
    }
    return warnings;
  }

  /** Every native method at least once, in a JVM that checks how JNI is used. */
  static final class Workout {
    private Workout() {
    }

    public static void main(String[] args) throws Exception {
      EngineStreamTest streams = new EngineStreamTest();
      streams.messagesKeepTheirBordersInEveryProtocol(Transports.LINKED);
      streams.anySequenceOfCallsCarriesTheSameBytes(1);
      streams.timeoutsAreASockets();
      EngineEndTest ends = new EngineEndTest();
      ends.closingTheEngineWakesEverybody();
      ends.whatIsDroppedIsCountedAndGivenBack();
      EngineOptionTest options = new EngineOptionTest();
      options.theCommittedTableIsTheLibrarys();
      options.badValuesAreRefusedWithTheirRange();
      MetricsTest metrics = new MetricsTest();
      metrics.threadsAreBoundOnlyIfAskedFor();
      metrics.sizesArePredictedFromHistory();
      new SocketsTest().plainSocketsAndChannelsMeet();
      FetchTest fetches = new FetchTest();
      fetches.folder = java.nio.file.Files.createTempDirectory("howdah-test-");
      for (Threads.Action action : new Threads.Action[] {fetches::blocksOfAllSizesFromBuffersAndFiles,
          fetches::rangesGoIntoTheCallersBuffer, fetches::cancellingTellsOnce}) {
        fetches.begin();
        action.run();
        fetches.end();
      }
      deleteAll(fetches.folder);
      System.out.println("worked out");
    }
  }

  @Test
  void jniIsUsedAsItShould() throws Exception {
    Process process = Peer.java(Peer.properties(), Workout.class.getName());
    String output = Peer.output(process);
    assertThat(output).contains("worked out");
    assertThat(jniWarnings(output)).isEmpty();
    assertThat(process.exitValue()).isZero();
  }

  /** Says whether the engine is there, and uses it. */
  static final class Says {
    private Says() {
    }

    public static void main(String[] args) throws Exception {
      if (!Engine.isAvailable()) {
        System.out.println("unavailable: " + Engine.unavailabilityCause().getMessage());
        System.out.println(Threads.failure(Engine::ensureAvailable).getClass().getSimpleName());
        return;
      }
      System.out.println("available: " + Engine.description());
      Engine.create(Pair.conf(Transports.LINKED)).close();
      if (args.length > 0) {
        Engine.acquire(Pair.conf(Transports.LINKED, "stats.dir=/nonexistent"));
        Engine.acquire(Pair.conf(Transports.LINKED, "chunk.size=64k"));
        Engine.acquire(Pair.conf(Transports.LINKED, "chunk.size=64k"));
        Thread.sleep(1000); // housekeeping looks five times a second
      }
    }
  }

  private static String says(String... options) throws Exception {
    return Peer.output(Peer.java(Arrays.asList(options), Says.class.getName()));
  }

  @Test
  void itCanBeSwitchedOff() throws Exception {
    assertThat(says("-Dio.howdah.engine=off")).contains("unavailable: switched off by the system property")
        .contains("EngineUnavailableException");
    assertThat(says("-Dio.howdah.engine=perhaps")).contains("unavailable").contains("neither on nor off");
  }

  @Test
  void theLibraryIsLookedForWhereItMayBe() throws Exception {
    assertThat(says("-Dio.howdah.native=" + System.getProperty("io.howdah.native")))
        .contains("available: libhowdah").contains(System.getProperty("io.howdah.native"));
    assertThat(says("-Dio.howdah.native=/nonexistent")).contains("unavailable: there is no /nonexistent/libhowdah_jni");
  }

  @Test
  void theJarsOwnCopyLoadsAndLeavesNothingBehind() throws Exception {
    java.nio.file.Path folder = java.nio.file.Files.createTempDirectory("howdah-test-");
    String output = says("-Djava.io.tmpdir=" + folder);
    assertThat(output).contains("available: libhowdah").contains("from the jar");
    assertThat(folder.toFile().list((dir, name) -> name.startsWith("howdah-native-"))).isEmpty();
    deleteAll(folder);
    assertThat(says("-Djava.io.tmpdir=/nonexistent")).contains("unavailable: the library can't be taken out");
  }

  private static void deleteAll(java.nio.file.Path folder) throws Exception {
    try (java.util.stream.Stream<java.nio.file.Path> files = java.nio.file.Files.walk(folder)) {
      files.sorted(Collections.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }

  @Test
  void aJarOfAnotherBuildIsRefused() throws Exception {
    java.nio.file.Path folder = java.nio.file.Files.createTempDirectory("howdah-test-");
    java.nio.file.Path place = folder.resolve("io/howdah/engine/Native.class");
    java.nio.file.Files.createDirectories(place.getParent());
    java.nio.file.Files.write(place, withAbi(98));
    String classPath = folder + File.pathSeparator + System.getProperty("java.class.path");
    assertThat(Peer.output(Peer.javaWith(Peer.properties(), classPath, Says.class.getName())))
        .contains("unavailable: ").contains("has interface " + Native.ABI + ", the classes have 98");
    deleteAll(folder);
  }

  /** Native.class with another constant; its constant pool has the number as tag 3 and four bytes. */
  private static byte[] withAbi(int abi) throws Exception {
    try (java.io.InputStream in = Native.class.getResourceAsStream("Native.class")) {
      byte[] bytes = new byte[100_000];
      int length = 0;
      for (int n; (n = in.read(bytes, length, bytes.length - length)) > 0; length += n) {
        assertThat(length).isLessThan(bytes.length);
      }
      for (int i = 0; i < length - 5; i++) {
        if (java.nio.ByteBuffer.wrap(bytes).getInt(i + 1) == Native.ABI && bytes[i] == 3) {
          bytes[i + 4] = (byte) abi;
          return Arrays.copyOf(bytes, length);
        }
      }
      throw new AssertionError("no constant ABI");
    }
  }

  @Test
  void theEnginesLogGoesToSlf4j() throws Exception {
    Process process = Peer.java(Peer.properties(), Says.class.getName(), "log");
    assertThat(Peer.output(process)).contains("WARN io.howdah.engine.Engine").contains("/nonexistent")
        .containsOnlyOnce("hadoop.rdma.chunk.size=64k (from the test) has no effect");
  }
}

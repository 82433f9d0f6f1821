package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class EngineStreamTest {
  private static final int[] SIZES = {1, 63, 2047, 2048, 2049, 65536, 65537, 524289, 3_000_000};

  static byte[] bytes(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  static ByteBuffer direct(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(bytes.length);
    buffer.put(bytes).flip();
    return buffer;
  }

  private static byte[] readAll(EngineStream stream, ByteBuffer to) throws Exception {
    while (to.hasRemaining() && stream.read(to) >= 0) {
      assertThat(to.position()).isPositive();
    }
    to.flip();
    byte[] bytes = new byte[to.remaining()];
    to.get(bytes);
    return bytes;
  }

  private static void closeAll(EngineStream... streams) throws Exception {
    for (EngineStream stream : streams) {
      stream.close();
    }
  }

  @ParameterizedTest
  @MethodSource("io.howdah.engine.Transports#all")
  void bytesArriveThroughAllKindsOfBuffers(String transport) throws Exception {
    try (Pair pair = new Pair(transport)) {
      EngineStream[] ends = pair.streams();
      for (int size : SIZES) {
        for (int kind = 0; kind < 4; kind++) {
          byte[] sent = bytes(size, size + kind);
          ByteBuffer from = kind % 2 == 0 ? direct(sent) : ByteBuffer.wrap(sent);
          CompletableFuture<Integer> writing = Threads.supply(() -> ends[0].write(from));
          ByteBuffer to = kind / 2 == 0 ? ByteBuffer.allocateDirect(size) : ByteBuffer.allocate(size);
          assertThat(readAll(ends[1], to)).isEqualTo(sent);
          assertThat(writing.get(Pair.PATIENCE, TimeUnit.MILLISECONDS)).isEqualTo(size);
          assertThat(from.hasRemaining()).isFalse();
        }
      }
      closeAll(ends);
    }
  }

  @ParameterizedTest
  @MethodSource("io.howdah.engine.Transports#all")
  void messagesKeepTheirBordersInEveryProtocol(String transport) throws Exception {
    try (Pair pair = new Pair(transport, "stream.window=16m")) { // all that one thread sends before it receives
      EngineStream[] ends = pair.streams();
      for (Protocol protocol : Protocol.values()) {
        ends[0].protocol(protocol);
        for (int size : SIZES) {
          byte[] sent = bytes(size, size);
          assertThat(ends[0].send(ByteBuffer.wrap(sent))).isTrue();
          assertThat(ends[0].send(direct(sent))).isTrue();
          try (RegisteredBuffer buffer = pair.client.allocate(size + 10)) {
            buffer.slice(10, size).put(sent);
            assertThat(ends[0].send(buffer, 10, size)).isTrue();
          }
          for (int i = 0; i < 3; i++) {
            try (RegisteredBuffer message = i == 0 ? ends[1].awaitMessage(-1) : ends[1].receive()) {
              byte[] received = new byte[message.length()];
              message.buffer().get(received);
              assertThat(received).isEqualTo(sent);
            }
          }
        }
      }
      ends[0].send(ByteBuffer.allocate(0));
      try (RegisteredBuffer empty = ends[1].receive()) {
        assertThat(empty.length()).isZero();
      }
      closeAll(ends);
      Threads.await(() -> used(pair.client) == 0 && used(pair.server) == 0);
    }
  }

  @Test
  void waitingForAMessageEndsInTimeOrByAnInterruptAndLosesNothing() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED)) {
      EngineStream[] ends = pair.streams();
      assertThat(ends[1].awaitMessage(0)).isNull();
      assertThat(ends[1].awaitMessage(1_000_000)).isNull();
      Thread.currentThread().interrupt();
      assertThat(ends[1].awaitMessage(-1)).isNull();
      assertThat(Thread.interrupted()).isTrue();
      assertThat(ends[1].isEnded()).isFalse();
      byte[] sent = bytes(100_000, 1);
      ends[0].send(ByteBuffer.wrap(sent));
      ends[0].shutdownOutput();
      try (RegisteredBuffer message = ends[1].awaitMessage(-1)) {
        byte[] received = new byte[message.length()];
        message.buffer().get(received);
        assertThat(received).isEqualTo(sent);
      }
      assertThat(ends[1].awaitMessage(-1)).isNull();
      assertThat(ends[1].isEnded()).isTrue();
      closeAll(ends);
    }
  }

  static long used(Engine engine) {
    try {
      return engine.counters().get(Counter.MEMORY_USED);
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4})
  void anySequenceOfCallsCarriesTheSameBytes(long seed) throws Exception {
    Random random = new Random(seed);
    byte[] all = bytes(2_000_000 + random.nextInt(500_000), seed);
    try (Pair pair = new Pair(Transports.LINKED, "stream.window=64k")) {
      EngineStream[] ends = pair.streams();
      ends[1].deferred(seed % 2 == 0);
      CompletableFuture<Void> writing = Threads.supply(() -> {
        writeInAnyWay(ends[0], ByteBuffer.wrap(all), new Random(seed + 1), pair.client);
        ends[0].shutdownOutput();
        return null;
      });
      ByteBuffer got = ByteBuffer.allocate(all.length);
      while (readInAnyWay(ends[1], got, random)) {
        assertThat(got.position()).isLessThanOrEqualTo(all.length);
      }
      writing.get(Pair.PATIENCE, TimeUnit.MILLISECONDS);
      assertThat(got.array()).isEqualTo(all);
      assertThat(got.hasRemaining()).isFalse();
      closeAll(ends);
    }
  }

  private static void writeInAnyWay(EngineStream stream, ByteBuffer from, Random random, Engine engine)
      throws Exception {
    while (from.hasRemaining()) {
      byte[] piece = new byte[Math.min(from.remaining(), 1 + random.nextInt(random.nextInt(8) == 0 ? 200_000 : 3000))];
      from.get(piece);
      switch (random.nextInt(5)) {
        case 0:
          stream.write(direct(piece));
          break;
        case 1:
          stream.output().write(piece);
          break;
        case 2:
          stream.send(ByteBuffer.wrap(piece));
          break;
        case 3:
          int cut = random.nextInt(piece.length + 1);
          ByteBuffer rest = ByteBuffer.wrap(piece, cut, piece.length - cut);
          long n = stream.write(new ByteBuffer[] {ByteBuffer.wrap(piece, 0, cut), ByteBuffer.allocate(0), rest});
          assertThat(n).isEqualTo(piece.length);
          break;
        default:
          try (RegisteredBuffer buffer = engine.allocate(piece.length)) {
            buffer.buffer().put(piece);
            stream.send(buffer, 0, piece.length);
          }
      }
    }
  }

  private static boolean readInAnyWay(EngineStream stream, ByteBuffer to, Random random) throws Exception {
    switch (random.nextInt(5)) {
      case 4:
        byte[] there = new byte[101 + random.nextInt(100_000)];
        int count = stream.tryRead(there, 100, there.length - 100);
        to.put(there, 100, Math.max(0, count));
        return count >= 0;
      case 0:
        RegisteredBuffer message = stream.receive();
        if (message == null) {
          return false;
        }
        to.put(message.buffer());
        message.release();
        return true;
      case 1:
        int one = stream.input().read();
        if (one >= 0) {
          to.put((byte) one);
        }
        return one >= 0;
      case 2:
        byte[] some = new byte[1 + random.nextInt(100_000)];
        int n = stream.input().read(some);
        to.put(some, 0, Math.max(0, n));
        return n >= 0;
      default:
        ByteBuffer buffer = ByteBuffer.allocateDirect(1 + random.nextInt(5000));
        int length = stream.read(buffer);
        buffer.flip();
        to.put(buffer);
        return length >= 0;
    }
  }

  @Test
  void itServesDataStreams() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED)) {
      EngineStream[] ends = pair.streams();
      DataOutputStream out = new DataOutputStream(new java.io.BufferedOutputStream(ends[0].output()));
      out.writeUTF("header");
      out.writeLong(42);
      out.flush();
      DataInputStream in = new DataInputStream(ends[1].input());
      assertThat(in.readUTF()).isEqualTo("header");
      assertThat(in.available()).isEqualTo(Long.BYTES);
      assertThat(in.readLong()).isEqualTo(42);
      ends[0].shutdownOutput();
      assertThat(in.read()).isEqualTo(-1);
      assertThat(in.read(new byte[3])).isEqualTo(-1);
      assertThat(ends[1].read(ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(ends[1].receive()).isNull();
      assertThat(ends[1].isEnded()).isTrue();
      out.close();
      assertThat(ends[0].isOpen()).isFalse();
      closeAll(ends);
    }
  }

  @Test
  void aDeferredMessageIsReadFromTheSendersMemory() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED)) {
      EngineStream[] ends = pair.streams();
      ends[1].deferred(true);
      byte[] sent = bytes(1_000_000, 1);
      assertThat(ends[1].isOffered()).isFalse();
      ends[0].protocol(Protocol.READ).send(direct(sent));
      byte[] got = new byte[sent.length + 7];
      assertThat(ends[1].await(ByteBuffer.allocateDirect(4), -1)).isEqualTo(4);
      assertThat(ends[1].isOffered()).isEqualTo(Transports.LINKED.equals("shm")); // an adapter has moved it
      assertThat(ends[1].available()).isEqualTo(sent.length - 4);
      assertThat(ends[1].tryRead(got, 11, got.length - 11)).isEqualTo(sent.length - 4);
      System.arraycopy(sent, 0, got, 7, 4);
      assertThat(java.util.Arrays.copyOfRange(got, 7, got.length)).isEqualTo(sent);
      assertThat(ends[1].isOffered()).isFalse();
      assertThat(ends[1].tryRead(got, 0, 1)).isZero();
      assertThatThrownBy(() -> ends[1].tryRead(got, 1, got.length)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> ends[1].tryRead(got, -1, 1)).isInstanceOf(IndexOutOfBoundsException.class);
      ends[0].shutdownOutput();
      while (ends[1].tryRead(got, 0, 1) == 0) {
        Thread.yield();
      }
      assertThat(ends[1].isEnded()).isTrue();
      closeAll(ends);
    }
  }

  @Test
  void withoutBlockingNothingWaits() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED, Pair.FULL_WINDOW)) {
      EngineStream[] ends = pair.streams();
      ends[0].configureBlocking(false);
      ends[1].configureBlocking(false);
      ByteBuffer one = ByteBuffer.allocateDirect(1000);
      assertThat(ends[1].read(one)).isZero();
      assertThat(ends[1].receive()).isNull();
      assertThat(ends[1].isEnded()).isFalse();
      int sent = 0;
      while (ends[0].send((ByteBuffer) one.clear())) {
        sent++;
      }
      assertThat(sent).isPositive();
      assertThat(ends[0].write(one)).isZero();
      assertThat(one.remaining()).isEqualTo(1000);
      ends[0].configureBlocking(true);
      try (RegisteredBuffer buffer = pair.client.allocate(10)) {
        assertThat(ends[0].trySend(buffer, 0, 10)).isFalse();
      }
      for (int i = 0; i < sent; i++) {
        ends[1].tryReceive().release();
      }
      assertThat(ends[1].tryReceive()).isNull();
      ends[0].configureBlocking(false);
      assertThatThrownBy(() -> ends[0].output().write(1))
          .isInstanceOf(java.nio.channels.IllegalBlockingModeException.class);
      closeAll(ends);
    }
  }

  @Test
  void timeoutsAreASockets() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED, Pair.FULL_WINDOW)) {
      EngineStream[] ends = pair.streams();
      ends[0].readTimeout(30).writeTimeout(30);
      InputStream in = ends[0].input();
      assertThatThrownBy(in::read).isInstanceOf(SocketTimeoutException.class).hasMessageContaining("server");
      assertThatThrownBy(() -> ends[0].read(ByteBuffer.allocate(10))).isInstanceOf(SocketTimeoutException.class);
      assertThatThrownBy(ends[0]::receive).isInstanceOf(SocketTimeoutException.class);
      OutputStream out = ends[0].output();
      SocketTimeoutException late =
          (SocketTimeoutException) Threads.failure(() -> out.write(new byte[1_000_000]));
      int arrived = 0;
      ends[1].configureBlocking(false);
      ByteBuffer to = ByteBuffer.allocateDirect(100_000);
      for (int n = 1; n > 0; arrived += n) {
        to.clear();
        n = ends[1].read(to);
      }
      assertThat(arrived).isEqualTo(late.bytesTransferred);
      out.write(7); // the stream goes on
      assertThat(ends[1].configureBlocking(true).input().read()).isEqualTo(7);
      closeAll(ends);
    }
  }

  @Test
  void directBuffersAndEventsCostNoGarbage() throws Exception {
    com.sun.management.ThreadMXBean threads =
        (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
    try (Pair pair = new Pair(Transports.LINKED); EventQueue queue = pair.server.newQueue()) {
      EngineStream[] ends = pair.streams();
      ByteBuffer buffer = ByteBuffer.allocateDirect(64);
      ends[1].configureBlocking(false).register(queue, null);
      EventHandler echo = new EventHandler() {
        @Override
        public void readable(EngineStream stream) throws java.io.IOException {
          buffer.clear();
          while (stream.read(buffer) > 0 && buffer.hasRemaining()) {
            continue;
          }
          buffer.flip();
          stream.write(buffer);
          buffer.clear();
          stream.read(buffer); // finds nothing, so the next one is reported
        }
      };
      roundTrips(ends[0], buffer, queue, echo, 2000);
      long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
      int rounds = 20_000;
      roundTrips(ends[0], buffer, queue, echo, rounds);
      long bytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
      assertThat(bytes).as("bytes of garbage in all").isLessThan(rounds);
      closeAll(ends);
    }
  }

  private static void roundTrips(EngineStream stream, ByteBuffer buffer, EventQueue queue, EventHandler echo, int count)
      throws java.io.IOException {
    for (int i = 0; i < count; i++) {
      buffer.clear();
      stream.write(buffer);
      queue.poll(echo, Pair.PATIENCE);
      buffer.clear();
      while (buffer.hasRemaining()) {
        stream.read(buffer);
      }
    }
  }

  @Test
  void anUnknownServiceIsRefused() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED); EngineStream stream = pair.link.open("nonsense")) {
      assertThatThrownBy(stream::receive).isInstanceOf(NoSuchServiceException.class).hasMessageContaining("nonsense");
    }
  }

  @Test
  void aReadOnlyBufferIsRefused() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED)) {
      EngineStream[] ends = pair.streams();
      ends[0].output().write(1);
      assertThatThrownBy(() -> ends[1].read(ByteBuffer.allocateDirect(8).asReadOnlyBuffer()))
          .isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> ends[1].read(ByteBuffer.allocate(8).asReadOnlyBuffer()))
          .isInstanceOf(IllegalArgumentException.class);
      closeAll(ends);
    }
  }
}

package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Closing, interrupting, losing the peer, leaking: while others are inside. */
@Timeout(120)
class EngineEndTest {
  private static Throwable await(CompletableFuture<?> future) throws Exception {
    try {
      future.get(Pair.PATIENCE, TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      return e.getCause();
    }
    throw new AssertionError("nothing was thrown");
  }

  /** A thread inside an action of the engine, and what comes of it. */
  private static final class Inside {
    final CompletableFuture<Object> result = new CompletableFuture<>();
    final Thread thread;

    Inside(Threads.Action action) throws InterruptedException {
      thread = Threads.start(() -> {
        try {
          action.run();
          result.complete("returned");
        } catch (Throwable e) {
          result.completeExceptionally(e);
        }
      });
      Threads.awaitInside(thread);
    }
  }

  private static void fill(EngineStream stream) throws IOException {
    stream.configureBlocking(false);
    while (stream.send(ByteBuffer.allocate(1000))) {
      assertThat(stream.isOpen()).isTrue();
    }
    stream.configureBlocking(true);
  }

  @ParameterizedTest
  @MethodSource("io.howdah.engine.Transports#all")
  void closingThrowsReadersAndWritersOut(String transport) throws Exception {
    try (Pair pair = new Pair(transport, Pair.FULL_WINDOW)) {
      EngineStream[] ends = pair.streams();
      fill(ends[0]);
      List<Inside> inside = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        inside.add(new Inside(ends[0]::receive));
        inside.add(new Inside(() -> ends[0].send(ByteBuffer.allocate(10))));
      }
      ends[0].close();
      for (Inside one : inside) {
        assertThat(await(one.result)).isInstanceOf(ClosedChannelException.class);
      }
      assertThatThrownBy(ends[0]::receive).isInstanceOf(ClosedChannelException.class);
      assertThatThrownBy(ends[0]::available).isInstanceOf(ClosedChannelException.class);
      ends[0].close();
      ends[1].close();
    }
  }

  @Test
  void anInterruptClosesAsForEveryChannel() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED)) {
      EngineStream[] ends = pair.streams();
      Inside reader = new Inside(ends[0]::receive);
      Inside other = new Inside(ends[0].input()::read);
      reader.thread.interrupt();
      assertThat(await(reader.result)).isInstanceOf(ClosedByInterruptException.class);
      assertThat(await(other.result)).isInstanceOf(AsynchronousCloseException.class)
          .isNotInstanceOf(ClosedByInterruptException.class);
      assertThat(ends[0].isOpen()).isFalse();
      Thread.currentThread().interrupt();
      assertThatThrownBy(() -> ends[1].write(ByteBuffer.allocate(1))).isInstanceOf(ClosedByInterruptException.class);
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  @Test
  void closingTheEngineWakesEverybody() throws Exception {
    Pair pair = new Pair(Transports.LINKED);
    EngineStream[] ends = pair.streams();
    EventQueue queue = pair.client.newQueue();
    java.nio.channels.SocketChannel[] sockets = Pair.sockets();
    Inside reader = new Inside(ends[0]::receive);
    Inside poller = new Inside(() -> queue.poll(new EventHandler() { }, -1));
    Inside greeter = new Inside(() -> pair.client.accept(sockets[0], null, 0));
    pair.client.close();
    for (Inside one : new Inside[] {reader, poller, greeter}) {
      assertThat(await(one.result)).isInstanceOf(EngineClosedException.class).hasMessageContaining("closed");
    }
    assertThatThrownBy(() -> pair.client.allocate(1)).isInstanceOf(EngineClosedException.class);
    assertThatThrownBy(() -> pair.link.open("test")).isInstanceOf(IOException.class);
    assertThatThrownBy(ends[0]::receive).isInstanceOf(EngineClosedException.class);
    Throwable lost = Threads.failure(ends[1]::receive);
    assertThat(lost).isInstanceOf(LinkException.class).hasMessageContaining("client");
    assertThat(((LinkException) lost).peer()).contains("client");
    queue.close();
    ends[0].close();
    ends[1].close();
    pair.close();
    sockets[0].close();
    sockets[1].close();
  }

  @Test
  void aPollerIsWokenAndInterrupted() throws Exception {
    try (Engine engine = Engine.create(Pair.conf("self"))) {
      EventQueue queue = engine.newQueue();
      EventHandler nothing = new EventHandler() { };
      assertThat(queue.poll(nothing, 0)).isZero();
      assertThat(queue.poll(nothing, 5)).isZero();
      queue.wakeup();
      assertThat(queue.poll(nothing, -1)).isZero();
      AtomicReference<Boolean> status = new AtomicReference<>();
      for (int i = 0; i < 3; i++) {
        Inside poller = new Inside(() -> {
          queue.poll(nothing, -1);
          status.set(Thread.currentThread().isInterrupted());
        });
        poller.thread.interrupt();
        assertThat(poller.result.get(Pair.PATIENCE, TimeUnit.MILLISECONDS)).isEqualTo("returned");
        assertThat(status.get()).isTrue();
      }
      Inside poller = new Inside(() -> queue.poll(nothing, -1));
      assertThatThrownBy(() -> queue.poll(nothing, 0)).isInstanceOf(IllegalStateException.class);
      queue.close();
      assertThat(await(poller.result)).isInstanceOf(EngineClosedException.class);
    }
  }

  @Test
  void theSharedEngineLivesAsLongAsItsUsers() throws Exception {
    Engine first = Engine.acquire(Pair.conf(Transports.LINKED));
    Engine second = Engine.acquire(Pair.conf(Transports.LINKED, "chunk.size=64k")); // said, and without effect
    assertThat(second.option(EngineOption.CHUNK_SIZE)).isEqualTo(EngineOption.CHUNK_SIZE.defaultValue());
    first.close();
    first.close();
    assertThat(first.isOpen()).isFalse();
    assertThatThrownBy(() -> first.allocate(1)).isInstanceOf(EngineClosedException.class);
    second.allocate(1).release();
    second.close();
    try (Engine third = Engine.acquire(Pair.conf(Transports.LINKED, "chunk.size=64k"))) {
      assertThat(third.option(EngineOption.CHUNK_SIZE)).isEqualTo("64k");
    }
  }

  @Test
  void nullIsNoCrash() throws Exception {
    try (Pair pair = new Pair("self")) {
      List<Threads.Action> actions = new ArrayList<>();
      actions.add(() -> pair.link.open(null));
      actions.add(() -> pair.client.findLink(null));
      actions.add(() -> pair.client.listen(null, pair.serverQueue, null));
      actions.add(() -> pair.client.connect(Pair.sockets()[0], null, 1));
      actions.add(() -> new FetchParams(null, new byte[1]));
      actions.add(() -> new EngineConf().set(EngineOption.CHUNK_SIZE, null));
      for (Threads.Action action : actions) {
        assertThat(Threads.failure(action)).isInstanceOf(NullPointerException.class);
      }
    }
  }

  @Test
  void aBufferIsReleasedOnce() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED)) {
      EngineStream[] ends = pair.streams();
      RegisteredBuffer buffer = pair.client.allocate(100);
      assertThat(buffer.buffer().isDirect()).isTrue();
      assertThat(buffer.slice(90, 10).remaining()).isEqualTo(10);
      assertThatThrownBy(() -> buffer.slice(90, 11)).isInstanceOf(IllegalArgumentException.class);
      assertThatThrownBy(() -> ends[0].send(buffer, 90, 11)).isInstanceOf(IndexOutOfBoundsException.class);
      buffer.release();
      assertThatThrownBy(buffer::release).isInstanceOf(IllegalStateException.class).hasMessageContaining("twice");
      assertThatThrownBy(buffer::buffer).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> ends[0].send(buffer, 0, 1)).isInstanceOf(IllegalStateException.class);
      assertThatThrownBy(() -> pair.client.allocate(Integer.MAX_VALUE)).isInstanceOf(MemoryLimitException.class);
      ends[0].close();
      ends[1].close();
    }
  }

  @Test
  void whatIsDroppedIsCountedAndGivenBack() throws Exception {
    try (Pair pair = new Pair(Transports.LINKED)) {
      long before = Engine.leaks();
      ByteBuffer[] view = {dropBuffer(pair.client)};
      dropStream(pair);
      System.gc();
      Threads.await(() -> Engine.leaks() >= before + 1);
      assertThat(EngineStreamTest.used(pair.client)).as("a view keeps the memory").isPositive();
      assertThat(view[0].get(0)).isEqualTo((byte) 42);
      view[0] = null;
      Threads.await(() -> {
        System.gc();
        return Engine.leaks() >= before + 2 && EngineStreamTest.used(pair.client) == 0;
      });
    }
  }

  private static ByteBuffer dropBuffer(Engine engine) throws IOException {
    RegisteredBuffer buffer = engine.allocate(1000);
    buffer.buffer().put(5, (byte) 42);
    return buffer.slice(5, 10);
  }

  private static void dropStream(Pair pair) throws IOException {
    EngineStream[] ends = pair.streams();
    ends[1].close();
    assertThat(ends[0].isOpen()).isTrue();
  }

  @Test
  void closingAndUsingAtTheSameTimeIsSafe() throws Exception {
    int rounds = 200 / Integer.getInteger("howdah.test.divisor", 1);
    try (Pair pair = new Pair(Transports.LINKED)) {
      for (int round = 0; round < rounds; round++) {
        EngineStream[] ends = pair.streams();
        List<CompletableFuture<Object>> users = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
          users.add(Threads.supply(() -> {
            for (;;) {
              ends[0].send(ByteBuffer.allocate(100));
            }
          }));
          users.add(Threads.supply(() -> {
            for (;;) {
              ends[0].available();
              ends[0].link().close();
            }
          }));
        }
        RegisteredBuffer first = ends[1].receive();
        if (first != null) {
          first.release();
        }
        ends[0].close();
        for (CompletableFuture<Object> user : users) {
          assertThat(await(user)).isInstanceOf(ClosedChannelException.class);
        }
        ends[1].close();
      }
    }
  }
}

package io.howdah.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class FetchTest {
  private static final int SIZE = 5_000_000;

  @TempDir
  Path folder;

  private final byte[] contents = EngineStreamTest.bytes(SIZE, 77);
  private final BlockingQueue<FetchRequest> kept = new LinkedBlockingQueue<>();
  private Pair pair;
  private Service blocks;
  private EventQueue queue;
  private Thread server;
  private FileChannel file;

  /** Serves parts of the same contents: b from a buffer, f from a file, e with an error; k keeps the request. */
  private final class Blocks implements EventHandler {
    @Override
    public void requested(FetchRequest request, Service service) throws IOException {
      String name = new String(request.name(), StandardCharsets.US_ASCII);
      long size = name.length() > 1 ? Long.parseLong(name.substring(1)) : 0;
      long rest = size - request.offset();
      long length = request.length() < 0 ? rest : Math.min(request.length(), rest);
      switch (name.charAt(0)) {
        case 'b':
          try (RegisteredBuffer buffer = pair.server.allocate((int) Math.max(1, length))) {
            buffer.buffer().put(contents, (int) request.offset(), (int) length);
            request.reply(buffer, 0, (int) length);
          }
          break;
        case 'f':
          request.reply(file, request.offset(), length);
          break;
        case 'k':
          kept.add(request);
          break;
        default:
          request.refuse(Errno.EACCES, "you may not have this");
      }
    }
  }

  /** Counts how often it is told. */
  private static final class Result implements FetchListener {
    final AtomicInteger told = new AtomicInteger();
    byte[] bytes;
    IOException cause;

    @Override
    public void fetched(Fetch fetch, RegisteredBuffer block) {
      bytes = new byte[block.buffer().remaining()];
      block.buffer().get(bytes);
      block.release();
      told.incrementAndGet();
    }

    @Override
    public void failed(Fetch fetch, IOException why) {
      cause = why;
      told.incrementAndGet();
    }
  }

  @BeforeEach
  void begin() throws Exception {
    pair = new Pair(Transports.LINKED, "memory.limit=128m");
    blocks = pair.server.listen("blocks", pair.serverQueue, null);
    queue = pair.client.newQueue();
    Path path = folder.resolve("blocks");
    Files.write(path, contents);
    file = FileChannel.open(path);
    server = Threads.start(() -> {
      try {
        for (;;) {
          pair.serverQueue.poll(new Blocks(), -1);
        }
      } catch (IOException e) {
        assertThat(e).isInstanceOf(EngineClosedException.class);
      }
    });
  }

  @AfterEach
  void end() throws Exception {
    blocks.close();
    queue.close();
    pair.close();
    server.join(Pair.PATIENCE);
    file.close();
  }

  private Result ask(FetchParams params) throws IOException {
    Result result = new Result();
    pair.link.fetch(params, queue, result);
    return result;
  }

  private static FetchParams block(String name) {
    return new FetchParams("blocks", name.getBytes(StandardCharsets.US_ASCII));
  }

  private void await(Result... results) throws IOException {
    for (Result result : results) {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(Pair.PATIENCE);
      while (result.told.get() == 0 && System.nanoTime() < end) {
        queue.poll(new EventHandler() { }, 1000);
      }
      assertThat(result.told.get()).isEqualTo(1);
    }
  }

  @Test
  void blocksOfAllSizesFromBuffersAndFiles() throws Exception {
    for (int size : new int[] {0, 1, 2048, 2049, 600_000, SIZE}) {
      for (String kind : new String[] {"b", "f"}) {
        Result result = ask(block(kind + size));
        await(result);
        assertThat(result.cause).isNull();
        assertThat(result.bytes).isEqualTo(java.util.Arrays.copyOf(contents, size));
      }
    }
    Threads.await(() -> EngineStreamTest.used(pair.client) == 0 && EngineStreamTest.used(pair.server) == 0);
    assertThat(queue.members()).isZero();
  }

  @Test
  void rangesGoIntoTheCallersBuffer() throws Exception {
    try (RegisteredBuffer into = pair.client.allocate(500_000)) {
      for (String name : new String[] {"b1000000", "f1000000"}) {
        List<RegisteredBuffer> given = new ArrayList<>();
        pair.link.fetch(block(name).range(123_457, 400_000).into(into), queue, new FetchListener() {
          @Override
          public void fetched(Fetch fetch, RegisteredBuffer block) {
            given.add(block);
          }

          @Override
          public void failed(Fetch fetch, IOException cause) throws IOException {
            throw cause;
          }
        });
        while (given.isEmpty()) {
          queue.poll(new EventHandler() { }, Pair.PATIENCE);
        }
        assertThat(given.get(0)).isSameAs(into);
        assertThat(into.buffer().remaining()).isEqualTo(400_000);
        ByteBuffer wanted = ByteBuffer.wrap(contents, 123_457, 400_000);
        assertThat(into.buffer().compareTo(wanted)).isZero();
      }
      Result tooLarge = ask(block("b1000000").into(into));
      await(tooLarge);
      assertThat(tooLarge.cause).isInstanceOf(EngineException.class);
      assertThat(((EngineException) tooLarge.cause).errno()).isEqualTo(Errno.EMSGSIZE);
    }
  }

  @Test
  void blocksGoIntoMemoryOfTheProgram() throws Exception {
    ByteBuffer memory = ByteBuffer.allocateDirect(2_000_000);
    RegisteredMemory registered = pair.client.register(memory);
    assertThat(registered.length()).isEqualTo(2_000_000);
    assertThatThrownBy(() -> pair.client.register(memory)).isInstanceOf(EngineException.class)
        .hasMessageContaining("registered already");
    for (String name : new String[] {"b1000000", "f1000000", "b10"}) {
      int size = Integer.parseInt(name.substring(1));
      Result result = ask(block(name).into(registered.part(123_457, size)));
      assertThat(registered.deregister(0)).isFalse();
      await(result); // which releases the part
      assertThat(result.cause).isNull();
      ByteBuffer there = memory.duplicate();
      there.position(123_457).limit(123_457 + size);
      assertThat(there.slice().compareTo(ByteBuffer.wrap(contents, 0, size))).isZero();
    }
    assertThat(registered.deregister(Pair.PATIENCE)).isTrue();
    assertThat(registered.deregister(0)).isTrue();
    assertThatThrownBy(() -> registered.part(0, 1)).isInstanceOf(IllegalStateException.class);
    assertThat(pair.client.counters().asMap().get("memory.registered.now")).isZero();
    assertThatThrownBy(() -> pair.client.register(ByteBuffer.allocate(10)))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void refusalsCarryTheirCause() throws Exception {
    Result refused = ask(block("e"));
    await(refused);
    assertThat(refused.cause).hasMessage("you may not have this");
    assertThat(((EngineException) refused.cause).errno()).isEqualTo(Errno.EACCES);
    Result unknown = ask(new FetchParams("nonsense", new byte[] {1}));
    await(unknown);
    assertThat(unknown.cause).isInstanceOf(NoSuchServiceException.class);
    Result beyond = ask(block("f" + (SIZE + 10)));
    await(beyond);
    assertThat(beyond.cause).hasMessageContaining("file");
    assertThatThrownBy(() -> block("")).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aSlowBlockIsOvertakenAndAnsweredOnce() throws Exception {
    Result slow = ask(block("k"));
    Result quick = ask(block("b10"));
    await(quick);
    assertThat(slow.told.get()).isZero();
    FetchRequest request = kept.take();
    request.refuse(Errno.EIO, "busy");
    assertThatThrownBy(() -> request.refuse(Errno.EIO, "again")).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(request::link).isInstanceOf(IllegalStateException.class);
    await(slow);
    assertThat(slow.cause).hasMessageContaining("busy");
  }

  @Test
  void cancellingTellsOnce() throws Exception {
    Result slow = new Result();
    Fetch fetch = pair.link.fetch(block("k"), queue, slow);
    FetchRequest request = kept.take();
    fetch.cancel();
    fetch.cancel();
    await(slow);
    assertThat(((EngineException) slow.cause).errno()).isEqualTo(Errno.ECANCELED);
    assertThat(fetch.isDone()).isTrue();
    fetch.cancel();
    request.refuse(Errno.EIO, "too late");
  }

  @Test
  void hundredsAtOnceEndOnceEach() throws Exception {
    Random random = new Random(5);
    Result[] results = new Result[400];
    int[] sizes = new int[results.length];
    for (int i = 0; i < results.length; i++) {
      sizes[i] = random.nextInt(3) == 0 ? random.nextInt(200_000) : random.nextInt(3000);
      results[i] = ask(block((random.nextBoolean() ? "b" : "f") + sizes[i]));
    }
    await(results);
    assertThat(queue.poll(new EventHandler() { }, 20)).isZero();
    for (int i = 0; i < results.length; i++) {
      assertThat(results[i].told.get()).isEqualTo(1);
      assertThat(results[i].cause).isNull();
      assertThat(results[i].bytes).isEqualTo(java.util.Arrays.copyOf(contents, sizes[i]));
    }
  }

  @Test
  void closingTheQueueEndsItsFetches() throws Exception {
    Result slow = ask(block("k"));
    kept.take().link().close();
    queue.close();
    assertThat(slow.told.get()).isEqualTo(1);
    assertThat(slow.cause).isInstanceOf(EngineClosedException.class);
    assertThatThrownBy(() -> ask(block("b1"))).isInstanceOf(EngineClosedException.class);
  }

  @Test
  void aLostLinkEndsItsFetches() throws Exception {
    Result slow = ask(block("k"));
    Result large = ask(block("b" + SIZE));
    FetchRequest request = kept.take();
    pair.serverLink.disconnect();
    await(slow, large);
    assertThat(slow.cause).isInstanceOf(LinkException.class);
    request.refuse(Errno.EIO, "to nobody");
  }

  @Test
  void aRequestThatIsForgottenIsRefused() throws Exception {
    long before = Engine.leaks();
    Result forgotten = ask(block("k"));
    kept.take();
    Threads.await(() -> {
      System.gc();
      return Engine.leaks() > before;
    });
    await(forgotten);
    assertThat(forgotten.cause).hasMessageContaining("did not answer");
  }
}

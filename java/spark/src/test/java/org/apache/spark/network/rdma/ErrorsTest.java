package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.engine.FetchParams;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.StorageLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.concurrent.Await;
import scala.concurrent.Future;
import scala.concurrent.duration.Duration;
import scala.reflect.ClassTag$;
import scala.runtime.BoxedUnit;

/** Errors, such as a lack of memory, where answers are taken: nobody waits for ever, and the threads go on. */
@Timeout(120)
class ErrorsTest {
  private static final String[] OPTIONS = {RdmaBlockConf.REQUIRED + "=true", "spark.shuffle.io.maxRetries=0",
      "spark.shuffle.io.connectionTimeout=5s"};

  private TestService client;
  private TestService server;

  @BeforeEach
  void open() throws Exception {
    client = TestService.rdma(OPTIONS);
    server = TestService.rdma(OPTIONS);
    server.blocks.put("rdd_1_1", new TestService.Counted(new byte[] {1, 2, 3}));
  }

  @AfterEach
  void close() {
    client.close();
    server.close();
  }

  /** A request whose maker runs out of memory. */
  private final class Short implements ClientSession.Request {
    private final ClientSession session;
    private final CountDownLatch ended = new CountDownLatch(1);

    Short(ClientSession session) {
      this.session = session;
    }

    @Override
    public FetchParams params() {
      BlockRequest.Writer name = new BlockRequest.Writer(session.id(), null);
      name.add("rdd_1_1");
      return new FetchParams(session.service(), name.name()).range(0, most());
    }

    @Override
    public long most() {
      return 1000;
    }

    @Override
    public boolean isKept(int bytes) {
      return client.rdma.client().shares().keep(MemoryShares.charge(bytes));
    }

    @Override
    public void fetched(BlockMemory answer) {
      answer.release();
      throw new OutOfMemoryError("of the test");
    }

    @Override
    public void failed(IOException cause) {
      ended.countDown();
      throw new OutOfMemoryError("of the test again: " + cause);
    }
  }

  @Test
  void answersGoOnBeingTakenAndTimeoutsRun() throws Exception {
    ClientSession session = client.rdma.client().peer(TestService.HOST, server.port()).session();
    for (int i = 0; i < 3; i++) {
      Short request = new Short(session);
      session.submit(request);
      assertThat(request.ended.await(30, TimeUnit.SECONDS)).isTrue();
    }
    Fetched fetched = Fetched.of(client, server, "rdd_1_1");
    assertThat(fetched.read("rdd_1_1")).containsExactly(1, 2, 3);
    fetched.release();
    assertThat(Fetched.of(client, server, TestService.SLOW).failures).containsOnlyKeys(TestService.SLOW);
    server.answer.countDown();
    assertThat(client.rdma.client().credits().out()).isZero();
  }

  @Test
  void aReaderThatCannotTakeABlockIsToldThatItFailed() throws Exception {
    Fetched fetched = new Fetched(1) {
      @Override
      public void onBlockFetchSuccess(String block, ManagedBuffer data) {
        throw new OutOfMemoryError("of the test");
      }
    };
    client.service.fetchBlocks(TestService.HOST, server.port(), "1", new String[] {"rdd_1_1"}, fetched);
    assertThat(fetched.await().failures.get("rdd_1_1")).isInstanceOf(OutOfMemoryError.class);
  }

  @Test
  void aBlockThatCannotBeSentFailsItsTask() {
    ManagedBuffer data = new NioManagedBuffer(ByteBuffer.allocate(1)) {
      @Override
      public ByteBuffer nioByteBuffer() {
        throw new OutOfMemoryError("of the test");
      }
    };
    Future<BoxedUnit> stored = client.service.uploadBlock(TestService.HOST, server.port(), "1",
        BlockId.apply("rdd_1_1"), data, StorageLevel.MEMORY_ONLY(), ClassTag$.MODULE$.Int());
    assertThatThrownBy(() -> Await.result(stored, Duration.create(60, TimeUnit.SECONDS)))
        .hasStackTraceContaining("of the test");
  }
}

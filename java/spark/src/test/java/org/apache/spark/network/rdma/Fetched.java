package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.ShuffleClient;

/** Keeps what a service fetches, as Spark's reader does: retains each block, and releases it when it was read. */
class Fetched implements BlockFetchingListener {
  private static final long PATIENCE = 60;

  final Map<String, ManagedBuffer> blocks = new ConcurrentHashMap<>();
  final Map<String, Throwable> failures = new ConcurrentHashMap<>();
  final AtomicInteger told = new AtomicInteger();
  private final CountDownLatch left;

  Fetched(int count) {
    left = new CountDownLatch(count);
  }

  /** Asks for blocks and waits for all. */
  static Fetched of(TestService client, TestService server, String... blocks) throws InterruptedException {
    Fetched fetched = new Fetched(blocks.length);
    client.service.fetchBlocks(TestService.HOST, server.port(), "1", blocks, fetched);
    return fetched.await();
  }

  /** Asks a shuffle service for blocks of an executor and waits for all. */
  static Fetched of(ShuffleClient client, int port, String executor, String... blocks) throws InterruptedException {
    Fetched fetched = new Fetched(blocks.length);
    client.fetchBlocks(TestService.HOST, port, executor, blocks, fetched);
    return fetched.await();
  }

  Fetched await() throws InterruptedException {
    assertThat(left.await(PATIENCE, TimeUnit.SECONDS)).describedAs("%s of %s", told, left).isTrue();
    return this;
  }

  @Override
  public void onBlockFetchSuccess(String block, ManagedBuffer data) {
    blocks.put(block, data.retain());
    told.incrementAndGet();
    left.countDown();
  }

  @Override
  public void onBlockFetchFailure(String block, Throwable cause) {
    failures.put(block, cause);
    told.incrementAndGet();
    left.countDown();
  }

  /** The bytes as a reader's stream gives them. */
  byte[] read(String block) throws IOException {
    assertThat(failures).isEmpty();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    byte[] piece = new byte[9973];
    try (InputStream input = blocks.get(block).createInputStream()) {
      for (int count; (count = input.read(piece)) >= 0;) {
        bytes.write(piece, 0, count);
      }
    }
    return bytes.toByteArray();
  }

  void release() {
    blocks.values().forEach(ManagedBuffer::release);
  }
}

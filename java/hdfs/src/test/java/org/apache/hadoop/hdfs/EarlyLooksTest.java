package org.apache.hadoop.hdfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.protocol.ClientProtocol;
import org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException;
import org.apache.hadoop.ipc.RemoteException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Writers that ask the NameNode before it has heard of a replica. */
@Timeout(300)
class EarlyLooksTest {
  private static final String DELAY = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms";
  private static final String RETRIES = "dfs.client.block.write.locateFollowingBlock.retries";
  private static final int BLOCK = 1 << 20;
  private static final int MILLI = 1_000_000;

  /** A NameNode that has not heard of the replica when it is asked for the first few times. */
  private static final class LateNameNode implements AutoCloseable {
    final AtomicInteger completes = new AtomicInteger();
    final AtomicInteger blocks = new AtomicInteger();
    /** Of each call, the first so many are too early. */
    private final int early;
    private final MiniDFSCluster cluster;
    private final DFSClient client;

    LateNameNode(Configuration conf, int early) throws IOException {
      this.early = early;
      cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
      cluster.waitActive();
      ClientProtocol real =
          NameNodeProxiesClient.createProxyWithClientProtocol(conf, cluster.getURI(), null).getProxy();
      ClientProtocol late = (ClientProtocol) Proxy.newProxyInstance(getClass().getClassLoader(),
          new Class<?>[] {ClientProtocol.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("complete") && completes.incrementAndGet() <= early) {
              return false;
            }
            if (method.getName().equals("addBlock") && arguments[2] != null && blocks.incrementAndGet() <= early) {
              throw new RemoteException(NotReplicatedYetException.class.getName(), "not yet");
            }
            try {
              return method.invoke(real, arguments);
            } catch (InvocationTargetException e) {
              throw e.getCause();
            }
          });
      client = new DFSClient(null, late, conf, null);
    }

    void write(int size) throws IOException {
      try (java.io.OutputStream out = client.create("/late", true, (short) 1, BLOCK)) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        out.write(bytes);
      }
    }

    @Override
    public void close() throws IOException {
      client.closeAllFilesBeingWritten(true); // the proxy is none that a client can close
      cluster.shutdown();
    }
  }

  private static Configuration conf(boolean enabled, int delayMillis) {
    Configuration conf = new Configuration();
    conf.setLong("dfs.blocksize", BLOCK);
    conf.setInt(DELAY, delayMillis);
    conf.setBoolean("dfs.rdma.enabled", enabled);
    if (enabled) {
      conf.set("hadoop.rdma.transport", "shm");
    }
    return conf;
  }

  @Test
  void closeAndTheNextBlockDoNotWaitForTheConfiguredRetry() throws Exception {
    try (LateNameNode late = new LateNameNode(conf(true, 3_600_000), 3)) {
      late.write(BLOCK + 1); // would take an hour
      assertThat(late.completes.get()).isGreaterThanOrEqualTo(4); // more if the real one had not heard, too
      assertThat(late.blocks.get()).isGreaterThanOrEqualTo(4);
    }
  }

  @Test
  void theConfiguredRetriesFollow() throws Exception {
    Configuration conf = conf(true, 8);
    conf.setInt(RETRIES, 2);
    try (LateNameNode late = new LateNameNode(conf, Integer.MAX_VALUE)) {
      assertThatThrownBy(() -> late.write(1)).hasMessageContaining("does not have enough number of replicas");
      assertThat(late.completes.get()).as("up to three early ones").isBetween(3, 6);
    }
  }

  @Test
  void withoutTheEngineThereAreTheConfiguredRetriesOnly() throws Exception {
    Configuration conf = conf(false, 8);
    conf.setInt(RETRIES, 2);
    try (LateNameNode late = new LateNameNode(conf, Integer.MAX_VALUE)) {
      assertThatThrownBy(() -> late.write(1)).hasMessageContaining("does not have enough number of replicas");
      assertThat(late.completes.get()).isEqualTo(3);
    }
  }

  @Test
  void waitsDoubleFromAMillisecondOrFromTheAnswersTimeUntilTheConfiguredDelay() {
    EarlyLooks quick = new EarlyLooks(400);
    for (int millis = 1; millis < 400; millis *= 2) {
      assertThat(quick.next(1000)).isEqualTo((long) millis * MILLI);
    }
    assertThat(quick.next(1000)).isZero();
    assertThat(quick.next(1000)).as("for good").isZero();
    EarlyLooks busy = new EarlyLooks(400);
    assertThat(busy.next(150L * MILLI)).isEqualTo(150L * MILLI);
    assertThat(busy.next(150L * MILLI)).isEqualTo(300L * MILLI);
    assertThat(busy.next(150L * MILLI)).isZero();
    assertThat(new EarlyLooks(0).next(1000)).isZero();
  }
}

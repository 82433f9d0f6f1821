package org.apache.hadoop.ipc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.upgrade.PeerCache;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.reflect.Field;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.ipc.metrics.RpcMetrics;
import org.apache.hadoop.metrics2.lib.MutableCounterLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls over the engine, and beside it. */
@Timeout(120)
class RdmaRpcTest {
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private long connections;

  @BeforeEach
  void count() {
    PeerCache.ofThisProcess().clear();
    connections = RdmaMetrics.get().clientConnections().value();
  }

  @AfterEach
  void end() {
    threads.shutdownNow();
  }

  private long connectionsMade() {
    return RdmaMetrics.get().clientConnections().value() - connections;
  }

  private static BytesWritable bytes(int size) {
    byte[] bytes = new byte[size];
    for (int i = 0; i < size; i++) {
      bytes[i] = (byte) (i * 31 + size);
    }
    return new BytesWritable(bytes);
  }

  @Test
  void callsOfAllSizesAreAnswered() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 3)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      for (int size : new int[] {0, 1, 100, 2000, 2100, 8000, 8200, 16_384, 65_536, 100_000, 1 << 20, 5_000_001, 1}) {
        assertThat(proxy.echo(bytes(size))).isEqualTo(bytes(size));
      }
      assertThat(connectionsMade()).isEqualTo(1);
      assertThat(server.server.getNumOpenConnections()).isEqualTo(1);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void exceptionsOfTheServerArriveAndTheConnectionGoesOn() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      assertThatThrownBy(() -> proxy.fail(new Text("no luck"))).isInstanceOf(RemoteException.class)
          .hasMessageContaining("no luck").hasMessageContaining("IllegalArgumentException");
      assertThat(proxy.echo(bytes(10))).isEqualTo(bytes(10));
      assertThat(connectionsMade()).isEqualTo(1);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void theServerKnowsItsCaller() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      String[] first = proxy.caller().toString().split(" ");
      String[] second = proxy.caller().toString().split(" ");
      assertThat(first[0]).isEqualTo(System.getProperty("user.name"));
      assertThat(first[1]).isEqualTo("127.0.0.1");
      assertThat(Integer.parseInt(second[2])).isGreaterThan(Integer.parseInt(first[2]));
      assertThat(first[3]).isEqualTo("0");
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void bytesAreCountedAsOverSockets() throws Exception {
    long overEngine = received(RdmaTestServer.forced());
    long overSocket = received(RdmaTestServer.off());
    assertThat(overEngine - overSocket).isBetween(0L, 100L); // the four bytes of the greeting, and digits
  }

  private static long received(Configuration conf) throws Exception {
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.echo(bytes(1000));
      RPC.stopProxy(proxy);
      Field counter = RpcMetrics.class.getDeclaredField("receivedBytes");
      counter.setAccessible(true);
      return ((MutableCounterLong) counter.get(server.server.getRpcMetrics())).value();
    }
  }

  @Test
  void manyCallersShareAConnection() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 4)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      List<Future<Void>> callers = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        int seed = i;
        callers.add(threads.submit(() -> {
          for (int n = 0; n < 300; n++) {
            BytesWritable sent = bytes(seed * 1000 + n);
            assertThat(proxy.echo(sent)).isEqualTo(sent);
          }
          return null;
        }));
      }
      for (Future<Void> caller : callers) {
        caller.get(100, TimeUnit.SECONDS);
      }
      assertThat(connectionsMade()).isEqualTo(1);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void aLongCallHoldsUpNobodyElse() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 3)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      List<Future<?>> resting = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        resting.add(threads.submit(() -> {
          proxy.rest(3000);
          return null;
        }));
      }
      Thread.sleep(200);
      for (int i = 0; i < 100; i++) {
        proxy.echo(bytes(5));
      }
      assertThat(resting).noneMatch(Future::isDone);
      for (Future<?> rest : resting) {
        rest.get();
      }
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void callsAreQueuedWhileEveryHandlerIsBusy() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.echo(bytes(1));
      Future<?> resting = threads.submit((Callable<Void>) () -> {
        proxy.rest(2000);
        return null;
      });
      Thread.sleep(200);
      List<Future<BytesWritable>> waiting = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        waiting.add(threads.submit(() -> proxy.echo(bytes(7))));
      }
      while (!resting.isDone() && server.server.getCallQueueLen() < 5) {
        Thread.sleep(1);
      }
      assertThat(resting.isDone()).isFalse();
      for (Future<BytesWritable> call : waiting) {
        assertThat(call.get()).isEqualTo(bytes(7));
      }
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void aFullQueueMakesCallersWait() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    conf.setInt("ipc.server.handler.queue.size", 1);
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      List<Future<BytesWritable>> calls = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        calls.add(threads.submit(() -> {
          proxy.rest(20);
          return proxy.echo(bytes(3));
        }));
      }
      for (Future<BytesWritable> call : calls) {
        assertThat(call.get(60, TimeUnit.SECONDS)).isEqualTo(bytes(3));
      }
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void aCallTimesOut() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 2)) {
      RdmaTestProtocol proxy = server.proxy(conf, 500);
      assertThatThrownBy(() -> proxy.rest(5000)).isInstanceOf(SocketTimeoutException.class)
          .hasMessageContaining("" + server.address().getPort());
      assertThat(proxy.echo(bytes(1))).isEqualTo(bytes(1));
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void pingsKeepALongCallAlive() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    conf.setInt("ipc.ping.interval", 100);
    try (RdmaTestServer server = new RdmaTestServer(conf, 2)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.rest(1000);
      assertThat(proxy.echo(bytes(1))).isEqualTo(bytes(1));
      assertThat(connectionsMade()).isEqualTo(1);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void anInterruptEndsOneCallAndNotTheConnection() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 4)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.echo(bytes(1));
      Future<?> other = threads.submit((Callable<Void>) () -> {
        proxy.rest(1500);
        return null;
      });
      CountDownLatch started = new CountDownLatch(1);
      Future<?> interrupted = threads.submit((Callable<Void>) () -> {
        started.countDown();
        proxy.rest(20_000);
        return null;
      });
      started.await();
      Thread.sleep(300);
      interrupted.cancel(true);
      assertThat(proxy.echo(bytes(2))).isEqualTo(bytes(2));
      other.get();
      assertThat(connectionsMade()).isEqualTo(1);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void anInterruptedCallerIsTold() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 2)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.echo(bytes(1));
      Thread me = Thread.currentThread();
      threads.submit(() -> {
        Thread.sleep(300);
        me.interrupt();
        return null;
      });
      assertThatThrownBy(() -> proxy.rest(10_000)).isInstanceOf(InterruptedIOException.class);
      assertThat(Thread.interrupted()).isTrue();
      assertThat(proxy.echo(bytes(2))).isEqualTo(bytes(2));
      assertThat(connectionsMade()).isEqualTo(1);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void idleConnectionsAreClosedByTheClient() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    conf.setInt("ipc.client.connection.maxidletime", 300);
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.echo(bytes(1));
      assertThat(server.server.getNumOpenConnections()).isEqualTo(1);
      while (server.server.getNumOpenConnections() > 0) {
        Thread.sleep(10);
      }
      assertThat(proxy.echo(bytes(1))).isEqualTo(bytes(1));
      assertThat(connectionsMade()).isEqualTo(2);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void requestsAboveTheLimitAreRefused() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    conf.setInt("ipc.maximum.data.length", 10_000);
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      assertThat(proxy.echo(bytes(5000))).isEqualTo(bytes(5000));
      assertThatThrownBy(() -> proxy.echo(bytes(20_000))).isInstanceOf(IOException.class);
      assertThat(proxy.echo(bytes(5000))).isEqualTo(bytes(5000));
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void responsesAboveTheLimitAreRefused() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    conf.setInt("ipc.maximum.response.length", 10_000);
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      assertThat(proxy.give(5000).getLength()).isEqualTo(5000);
      assertThatThrownBy(() -> proxy.give(20_000)).isInstanceOf(IOException.class);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void moreConnectionsThanTheServerTakesAreRefused() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    conf.setInt("ipc.server.max.connections", 1);
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.echo(bytes(1));
      Configuration another = new Configuration(conf);
      another.setInt("ipc.client.connection.maxidletime", 12_345); // a connection of its own
      RdmaTestProtocol second = server.proxy(another);
      assertThatThrownBy(() -> second.echo(bytes(1))).isInstanceOf(IOException.class);
      assertThat(proxy.echo(bytes(1))).isEqualTo(bytes(1));
      RPC.stopProxy(second);
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void stoppingTheServerEndsCalls() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    RdmaTestServer server = new RdmaTestServer(conf, 2);
    int port = server.address().getPort();
    RdmaTestProtocol proxy = server.proxy(conf);
    proxy.echo(bytes(1));
    Future<?> call = threads.submit((Callable<Void>) () -> {
      proxy.rest(60_000);
      return null;
    });
    Thread.sleep(300);
    server.close();
    assertThatThrownBy(() -> call.get(30, TimeUnit.SECONDS)).isInstanceOf(ExecutionException.class);
    RPC.stopProxy(proxy);
    try (RdmaTestServer again = new RdmaTestServer(conf, 2, port, null)) {
      RdmaTestProtocol next = again.proxy(conf);
      assertThat(next.echo(bytes(9))).isEqualTo(bytes(9));
      RPC.stopProxy(next);
    }
  }

  @Test
  void stoppingTheClientEndsCalls() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 2)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.echo(bytes(1));
      Future<?> call = threads.submit((Callable<Void>) () -> {
        proxy.rest(60_000);
        return null;
      });
      Thread.sleep(300);
      RPC.stopProxy(proxy);
      assertThatThrownBy(() -> call.get(30, TimeUnit.SECONDS)).isInstanceOf(ExecutionException.class);
    }
  }

  // Clients that do as they like.

  @Test
  void garbageCostsOneConnection() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    try (RdmaTestServer server = new RdmaTestServer(conf, 2);
         Socket half = new Socket("127.0.0.1", server.address().getPort());
         Socket web = new Socket("127.0.0.1", server.address().getPort())) {
      web.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      byte[] answer = new byte[8];
      assertThat(web.getInputStream().read(answer)).isPositive();
      assertThat(new String(answer, StandardCharsets.US_ASCII)).startsWith("HTTP/1.1");
      RdmaTestProtocol proxy = server.proxy(conf);
      assertThat(proxy.echo(bytes(100))).isEqualTo(bytes(100));
      half.getOutputStream().write('h');
      half.getOutputStream().flush();
      assertThat(proxy.echo(bytes(100))).isEqualTo(bytes(100));
      RPC.stopProxy(proxy);
    }
  }
}

package org.apache.hadoop.ipc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.upgrade.Attempt;
import io.howdah.upgrade.StreamSocket;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.apache.hadoop.util.ExitUtil;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What neither end does right by itself: memory that runs out, interrupts at the wrong time. */
@Timeout(120)
class RdmaErrorTest {
  @AfterEach
  void forgetExits() {
    ExitUtil.resetFirstExitException();
  }

  /** A connection that announces a call larger than the heap. */
  private static Socket greedy(RdmaTestServer server, Configuration conf) throws IOException {
    Attempt attempt = RdmaRpc.of(conf).connector().attempt(server.address());
    try (Socket tcp = new Socket(server.address().getAddress(), server.address().getPort())) {
      assertThat(attempt.upgrade(tcp, 0)).isEqualTo(Attempt.Step.LINKED);
    }
    Socket socket = new StreamSocket(attempt.linked());
    DataOutputStream out = new DataOutputStream(socket.getOutputStream());
    out.write(new byte[] {'h', 'r', 'p', 'c', 9, 0, 0});
    out.writeInt(Integer.MAX_VALUE); // no array is that large, whatever the heap
    return socket;
  }

  @Test
  void anErrorWhileReadingEndsTheProcessAsInStock() throws Exception {
    ExitUtil.disableSystemExit();
    Configuration conf = RdmaTestServer.forced();
    conf.setInt("ipc.maximum.data.length", Integer.MAX_VALUE);
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      BytesWritable bytes = new BytesWritable(new byte[100]);
      assertThat(proxy.echo(bytes)).isEqualTo(bytes);
      try (Socket socket = greedy(server, conf)) {
        assertThat(socket.getInputStream().read()).isEqualTo(-1); // it costs its own connection
      }
      while (!ExitUtil.terminateCalled()) {
        Thread.sleep(10);
      }
      assertThat(ExitUtil.getFirstExitException()).hasMessageContaining("OutOfMemoryError");
      for (int i = 0; i < 100; i++) { // where the process may not end, other connections and the handlers go on
        assertThat(proxy.echo(bytes)).isEqualTo(bytes);
      }
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void anInterruptBeforeSendingLeavesNothingBehind() throws Exception {
    Configuration conf = RdmaTestServer.forced();
    conf.setInt("ipc.client.connection.maxidletime", 3000);
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      RdmaTestProtocol proxy = server.proxy(conf);
      proxy.echo(new BytesWritable());
      Thread.currentThread().interrupt();
      assertThatThrownBy(() -> proxy.echo(new BytesWritable())).isInstanceOf(IOException.class);
      assertThat(Thread.interrupted()).isTrue();
      while (server.server.getNumOpenConnections() > 0) { // the idle time ends it, as no call is open
        Thread.sleep(10);
      }
      RPC.stopProxy(proxy);
    }
  }
}

package org.apache.hadoop.ipc;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Servers of one process that share a port, and such that are dialled at another port than theirs. */
@Timeout(120)
class RdmaPortsTest {
  private final Configuration conf = RdmaTestServer.forced();

  /** Passes connections of a port of its own on to another one, as ssh and containers do. */
  private static final class Forwarder implements Closeable {
    private final ServerSocket listener = new ServerSocket(0, 10, InetAddress.getByName("127.0.0.1"));
    private final InetSocketAddress to;

    Forwarder(InetSocketAddress to) throws IOException {
      this.to = to;
      inBackground(this::serve);
    }

    InetSocketAddress address() {
      return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    private void serve() throws IOException {
      for (;;) {
        Socket inward = listener.accept();
        Socket outward = new Socket(to.getAddress(), to.getPort());
        inBackground(() -> pass(inward, outward));
        inBackground(() -> pass(outward, inward));
      }
    }

    private static void pass(Socket from, Socket to) throws IOException {
      byte[] bytes = new byte[4096];
      try (InputStream in = from.getInputStream(); OutputStream out = to.getOutputStream()) {
        for (int n = in.read(bytes); n > 0; n = in.read(bytes)) {
          out.write(bytes, 0, n);
        }
      }
    }

    private interface Work {
      void run() throws IOException;
    }

    private static void inBackground(Work work) {
      Thread thread = new Thread(() -> {
        try {
          work.run();
        } catch (IOException e) {
          return; // one of the ends is over
        }
      });
      thread.setDaemon(true);
      thread.start();
    }

    @Override
    public void close() throws IOException {
      listener.close();
    }
  }

  private void callsReach(RdmaTestServer server, InetSocketAddress dialled) throws IOException {
    long over = RdmaMetrics.get().serverConnections().value();
    long handled = server.server.getRpcMetrics().getProcessingSampleCount();
    RdmaTestProtocol proxy = RPC.getProxy(RdmaTestProtocol.class, RdmaTestProtocol.VERSION, dialled, conf);
    for (int size = 0; size < 10_000; size += 999) {
      BytesWritable bytes = new BytesWritable(new byte[size]);
      assertThat(proxy.echo(bytes)).isEqualTo(bytes);
    }
    assertThat(RdmaMetrics.get().serverConnections().value() - over).isEqualTo(1);
    assertThat(server.server.getNumOpenConnections()).isEqualTo(1);
    assertThat(server.server.getRpcMetrics().getProcessingSampleCount() - handled).isGreaterThanOrEqualTo(10);
    RPC.stopProxy(proxy);
  }

  @Test
  void forwardedPortsLeadToTheirServers() throws IOException {
    try (RdmaTestServer one = new RdmaTestServer(conf, 1);
         RdmaTestServer two = new RdmaTestServer(conf, 1);
         Forwarder first = new Forwarder(one.address());
         Forwarder second = new Forwarder(two.address())) {
      callsReach(one, first.address());
      callsReach(two, second.address());
    }
  }

  @Test
  void serversOfOneProcessMayShareAPort() throws IOException {
    try (RdmaTestServer one = new RdmaTestServer(conf, 1);
         RdmaTestServer two = new RdmaTestServer(conf, 1, "127.0.0.2", one.address().getPort(), null)) {
      callsReach(one, one.address());
      callsReach(two, two.address());
    }
  }
}

package org.apache.hadoop.ipc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.upgrade.PeerCache;
import java.io.IOException;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.BytesWritable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which calls go over the engine, by what the two ends want. */
@Timeout(120)
class RdmaSwitchTest {
  private long connections;
  private long fallbacks;

  @BeforeEach
  void count() {
    PeerCache.ofThisProcess().clear();
    connections = RdmaMetrics.get().clientConnections().value();
    fallbacks = RdmaMetrics.get().clientFallbacks().value();
  }

  private static Configuration with(Configuration conf, String... settings) {
    for (String setting : settings) {
      String[] parts = setting.split("=", 2);
      conf.set(parts[0], parts[1]);
    }
    return conf;
  }

  private static void calls(RdmaTestServer server, Configuration conf, int count) throws IOException {
    RdmaTestProtocol proxy = server.proxy(conf);
    for (int i = 0; i < count; i++) {
      BytesWritable bytes = new BytesWritable(new byte[i * 100]);
      assertThat(proxy.echo(bytes)).isEqualTo(bytes);
    }
    RPC.stopProxy(proxy);
  }

  private void wentOver(long engine, long fellBack) {
    assertThat(RdmaMetrics.get().clientConnections().value() - connections).isEqualTo(engine);
    assertThat(RdmaMetrics.get().clientFallbacks().value() - fallbacks).isEqualTo(fellBack);
  }

  @Test
  void byDefaultTheEngineIsUsed() throws Exception {
    try (RdmaTestServer server = new RdmaTestServer(RdmaTestServer.byDefault(), 2)) {
      calls(server, RdmaTestServer.byDefault(), 20);
      wentOver(1, 0);
    }
  }

  @Test
  void rpcHasASwitchOfItsOwn() throws Exception {
    Configuration on = with(RdmaTestServer.off(), "hadoop.rdma.rpc.enabled=true");
    try (RdmaTestServer server = new RdmaTestServer(on, 2)) {
      calls(server, with(RdmaTestServer.byDefault(), "hadoop.rdma.rpc.enabled=false"), 20);
      wentOver(0, 0);
      calls(server, on, 20);
      wentOver(1, 0);
    }
  }

  @Test
  void namesOfHiBDSwitchIt() throws Exception {
    try (RdmaTestServer server = new RdmaTestServer(with(RdmaTestServer.byDefault(), "hadoop.ib.enabled=true"), 2)) {
      calls(server, with(RdmaTestServer.byDefault(), "hadoop.ib.enabled=false", "hadoop.roce.enabled=false"), 2);
      wentOver(0, 0);
      calls(server, with(RdmaTestServer.byDefault(), "hadoop.roce.enabled=true"), 2);
      wentOver(1, 0);
    }
  }

  @Test
  void aStockClientIsServedByAServerWithTheEngine() throws Exception {
    try (RdmaTestServer server = new RdmaTestServer(RdmaTestServer.forced(), 2)) {
      calls(server, RdmaTestServer.off(), 200);
      wentOver(0, 0);
    }
  }

  @Test
  void aClientFallsBackForAServerWithoutTheEngine() throws Exception {
    try (RdmaTestServer server = new RdmaTestServer(RdmaTestServer.off(), 2)) {
      calls(server, RdmaTestServer.byDefault(), 20);
      wentOver(0, 1);
      calls(server, RdmaTestServer.byDefault(), 20);
      wentOver(0, 2);
    }
  }

  @Test
  void aRefusalThatIsNotRememberedDoesNotLoop() throws Exception {
    for (String remember : new String[] {"0", "1"}) {
      try (RdmaTestServer server = new RdmaTestServer(RdmaTestServer.off(), 2)) {
        calls(server, with(RdmaTestServer.byDefault(), "hadoop.rdma.rpc.fallback.remember=" + remember), 20);
      }
    }
    wentOver(0, 2);
  }

  @Test
  void anEngineThatCantBeMadeMeansSockets() throws Exception {
    Configuration broken = with(RdmaTestServer.byDefault(), "hadoop.rdma.tuning.profile=/no/such.profile");
    try (RdmaTestServer server = new RdmaTestServer(broken, 2)) {
      calls(server, broken, 20);
      calls(server, RdmaTestServer.byDefault(), 20);
      wentOver(0, 2);
    }
    Configuration required = with(broken, "hadoop.rdma.enabled=required");
    assertThatThrownBy(() -> new RdmaTestServer(required, 1)).isInstanceOf(IOException.class)
        .hasMessageContaining("hadoop.rdma.enabled=required").hasMessageContaining("/no/such.profile");
  }

  @Test
  void aClientThatMustNotFallBackNamesTheCause() throws Exception {
    try (RdmaTestServer server = new RdmaTestServer(RdmaTestServer.off(), 2)) {
      RdmaTestProtocol proxy = server.proxy(with(RdmaTestServer.byDefault(), "hadoop.rdma.rpc.required=true"));
      assertThatThrownBy(() -> proxy.echo(new BytesWritable())).isInstanceOf(IOException.class)
          .hasMessageContaining("has to go over the engine (hadoop.rdma.rpc.required=true")
          .hasMessageContaining("" + server.address().getPort());
      RPC.stopProxy(proxy);
    }
  }

  @Test
  void badValuesAreRefused() {
    for (String[] bad : Arrays.asList(
        new String[] {"hadoop.rdma.enabled=yes", "auto, true, required or false"},
        new String[] {"hadoop.rdma.rpc.enabled=1", "auto, true, required or false"},
        new String[] {"hadoop.rdma.rpc.fallback.remember=-1", "milliseconds"},
        new String[] {"hadoop.rdma.chunk.size=huge", "4k"})) {
      Configuration conf = with(RdmaTestServer.byDefault(), bad[0]);
      assertThatThrownBy(() -> new RdmaTestServer(conf, 1)).isInstanceOf(IOException.class)
          .hasMessageContaining(bad[0]).hasMessageContaining(bad[1]);
    }
  }

  @Test
  void anUnknownNameStopsNothing() throws Exception {
    Configuration conf = with(RdmaTestServer.byDefault(), "hadoop.rdma.rpc.speed=high", "hadoop.rdma.speed=high");
    try (RdmaTestServer server = new RdmaTestServer(conf, 1)) {
      calls(server, conf, 2);
      wentOver(1, 0);
    }
  }
}

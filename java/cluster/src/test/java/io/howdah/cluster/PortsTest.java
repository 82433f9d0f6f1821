package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PortsTest {
  private static final List<DaemonId> DAEMONS = new ClusterSpec().daemons();

  private static Map<PortKind, Integer> asking(PortKind kind, int port) {
    Map<PortKind, Integer> asked = new EnumMap<>(PortKind.class);
    asked.put(kind, port);
    return asked;
  }

  @Test
  void everyPortOfEveryDaemonIsDifferent() {
    Ports ports = new Ports(Collections.emptyMap());
    ports.assign(DAEMONS, Collections.emptyMap());
    assertThat(ports.asMap()).hasSize(2 + 3 * 3 + 5 + 2 * 4 + 3);
    assertThat(new HashSet<>(ports.asMap().values())).hasSameSizeAs(ports.asMap().values());
  }

  @Test
  void recordedPortsAreKept() {
    Ports first = new Ports(Collections.emptyMap());
    first.assign(DAEMONS, Collections.emptyMap());
    Ports second = new Ports(first.asMap());
    second.assign(DAEMONS, Collections.emptyMap());
    assertThat(second.asMap()).isEqualTo(first.asMap());
  }

  @Test
  void numberedDaemonsGetNumbersInARow() {
    Ports ports = new Ports(Collections.emptyMap());
    ports.assign(DAEMONS, asking(PortKind.DATANODE_HTTP, 40100));
    assertThat(ports.get(PortKind.DATANODE_HTTP, new DaemonId(DaemonKind.DATANODE, 1))).isEqualTo(40100);
    assertThat(ports.get(PortKind.DATANODE_HTTP, new DaemonId(DaemonKind.DATANODE, 3))).isEqualTo(40102);
  }

  @Test
  void onePortForTwoIsRefusedByName() {
    Map<PortKind, Integer> asked = asking(PortKind.NAMENODE_RPC, 40000);
    asked.put(PortKind.NAMENODE_HTTP, 40000);
    assertThatThrownBy(() -> new Ports(Collections.emptyMap()).assign(DAEMONS, asked))
        .isInstanceOf(ClusterException.class).hasMessageContaining("namenode.rpc")
        .hasMessageContaining("namenode.http").hasMessageContaining("40000");
  }

  @Test
  void aNumberThatIsNoPortIsRefused() {
    assertThatThrownBy(() -> new Ports(Collections.emptyMap()).assign(DAEMONS, asking(PortKind.DATANODE_IPC, 65534)))
        .isInstanceOf(ClusterException.class).hasMessageContaining("65536");
  }

  @Test
  void aPortInUseIsNamedWithItsHolder() throws IOException {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Ports ports = new Ports(Collections.emptyMap());
      ports.assign(DAEMONS, asking(PortKind.NAMENODE_RPC, taken.getLocalPort()));
      String pid = java.lang.management.ManagementFactory.getRuntimeMXBean().getName().replaceAll("@.*", "");
      assertThatThrownBy(() -> ports.checkFree(DaemonId.of(DaemonKind.NAMENODE)))
          .isInstanceOf(ClusterException.class).hasMessageContaining("namenode.rpc")
          .hasMessageContaining(Integer.toString(taken.getLocalPort())).hasMessageContaining("pid " + pid);
    }
  }

  @Test
  void anUnknownKindIsAnsweredWithTheKinds() {
    assertThatThrownBy(() -> PortKind.named("namenode.htpp")).isInstanceOf(ClusterException.class)
        .hasMessageContaining("namenode.htpp")
        .satisfies(e -> assertThat(((ClusterException) e).remedy()).contains("namenode.http"));
  }
}

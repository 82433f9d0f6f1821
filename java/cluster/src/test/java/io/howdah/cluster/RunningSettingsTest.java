package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Paths;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RunningSettingsTest {
  private final Properties record = new Properties();
  private final Map<PortKind, Integer> asked = new EnumMap<>(PortKind.class);
  private Set<DaemonId> running;

  @BeforeEach
  void run() {
    ClusterSpec spec = new ClusterSpec().mode("hhh-m").site("dfs.blocksize", "1m");
    Ports ports = new Ports(Collections.emptyMap());
    ports.assign(spec.daemons(), Collections.emptyMap());
    spec.save(record);
    ports.asMap().forEach((name, port) -> record.setProperty("port." + name, port.toString()));
    running = new LinkedHashSet<>(spec.daemons());
  }

  private ClusterSpec recorded() {
    return ClusterSpec.load(record);
  }

  private void check(ClusterSpec spec) {
    Ports ports = new Ports(ClusterDir.ports(record));
    ports.assign(spec.daemons(), asked);
    RunningSettings.check(record, spec, ports, running);
  }

  private AbstractThrowableAssert<?, ?> refused(ClusterSpec spec) {
    return assertThatThrownBy(() -> check(spec)).isInstanceOf(ClusterException.class)
        .hasMessageContaining("the cluster is running")
        .hasFieldOrPropertyWithValue("remedy", "stop it first (howdah cluster stop), or leave that out");
  }

  @Test
  void theSameSettingsAndMoreDaemonsAreTaken() {
    assertThatCode(() -> check(recorded())).doesNotThrowAnyException();
    assertThatCode(() -> check(recorded().mode("In-Memory").ram(Paths.get("/dev/shm")).site("dfs.blocksize", "1m")))
        .doesNotThrowAnyException();
    assertThatCode(() -> check(recorded().datanodes(5).secondary(true))).doesNotThrowAnyException();
  }

  @Test
  void otherSettingsAreNamed() {
    refused(recorded().mode("none")).hasMessageEndingWith(": --mode none (now hhh-m)");
    refused(recorded().ssd(Paths.get("/ssd"))).hasMessageEndingWith(": --ssd /ssd (now not set)");
    refused(recorded().mode("hhh-l").shared(Paths.get("/x"))).hasMessageContaining("--mode hhh-l (now hhh-m)")
        .hasMessageContaining("--shared /x (now not set)");
    refused(recorded().site("dfs.blocksize", "2m").site("a", "b"))
        .hasMessageContaining("-D dfs.blocksize 2m (now 1m)").hasMessageContaining("-D a b (now not set)");
    refused(recorded().heapMb(512)).hasMessageContaining("--heap 512 (now not set)");
    refused(recorded().yarn(false)).hasMessageContaining("--yarn false (now true)");
    asked.put(PortKind.NAMENODE_HTTP, 12345);
    refused(recorded()).hasMessageContaining("--port namenode.http 12345 (now ");
  }

  @Test
  void aStoppedClusterTakesAnySettings() {
    running.clear();
    assertThatCode(() -> check(recorded().mode("hhh").heapMb(512))).doesNotThrowAnyException();
  }
}

package io.howdah.upgrade;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineOption;
import java.io.IOException;
import org.junit.jupiter.api.Test;

/** A component and its engine. */
class UpgradeTest {
  private static Upgrade of(Component component, Role role, String... settings) throws IOException {
    return Upgrade.of(component, new Given(settings), role);
  }

  @Test
  void componentsShareAnEngineUnlessTheyAskForAnotherNetwork() throws Exception {
    try (Upgrade rpc = of(Component.RPC, Role.COMMAND);
        Upgrade hdfs = of(Component.HDFS, Role.COMMAND, "dfs.rdma.enabled=required");
        Upgrade larger = of(Component.RPC, Role.COMMAND, "hadoop.rdma.memory.limit=96m");
        Upgrade other = of(Component.RPC, Role.COMMAND, "hadoop.rdma.transport=self")) {
      assertThat(rpc.isUsable() && hdfs.isUsable()).isTrue();
      assertThat(rpc.engine()).isSameAs(hdfs.engine());
      assertThat(rpc.engine().option(EngineOption.MEMORY_LIMIT)).isEqualTo("64m");
      assertThat(larger.isUsable() && other.isUsable()).isTrue();
      assertThat(rpc.engine().option(EngineOption.MEMORY_LIMIT)).isEqualTo("96m");
      assertThat(rpc.engine().option(EngineOption.TRANSPORT)).isEqualTo("auto");
      assertThat(other.engine().option(EngineOption.TRANSPORT)).isEqualTo("self");
    }
  }

  @Test
  void authenticationSwitchesRemoteAccessOff() throws Exception {
    for (String secure : new String[] {"hadoop.security.authentication=kerberos", "dfs.block.access.token.enable=true",
        "spark.authenticate=true"}) {
      try (Upgrade upgrade = of(Component.HDFS, Role.DAEMON, secure)) {
        assertThat(upgrade.isUsable()).isTrue();
        assertThat(upgrade.engine().option(EngineOption.VERBS_REMOTE_ACCESS)).as(secure).isEqualTo("false");
      }
    }
  }

  @Test
  void theLastUseEndsTheEngine() throws Exception {
    Upgrade one = of(Component.RPC, Role.TASK);
    Upgrade two = of(Component.HDFS, Role.TASK);
    assertThat(one.isUsable() && two.isUsable()).isTrue();
    Engine engine = one.engine();
    one.close();
    one.close();
    assertThat(engine.isOpen()).isTrue();
    two.close();
    assertThat(engine.isOpen()).isFalse();
    assertThat(two.isUsable()).isTrue();
    two.close();
  }

  @Test
  void commandsAndTasksTakeLittleMemory() throws Exception {
    for (Role role : Role.values()) {
      try (Upgrade upgrade = of(Component.RPC, role)) {
        assertThat(upgrade.isUsable()).isTrue();
        assertThat(upgrade.engine().option(EngineOption.MEMORY_LIMIT)).isEqualTo(role == Role.DAEMON ? "1g" : "64m");
      }
      try (Upgrade set = of(Component.RPC, role, "hadoop.rdma.memory.limit=32m")) {
        assertThat(set.isUsable()).isTrue();
        assertThat(set.engine().option(EngineOption.MEMORY_LIMIT)).isEqualTo("32m");
      }
    }
  }

  @Test
  void sparkHasTheEnginesOptionsUnderItsOwnPrefix() throws Exception {
    try (Upgrade spark = of(Component.SPARK, Role.TASK, "hadoop.rdma.chunk.size=64k",
        "spark.shuffle.rdma.chunk.size=128k")) {
      assertThat(spark.isUsable()).isTrue();
      assertThat(spark.engine().option(EngineOption.CHUNK_SIZE)).isEqualTo("128k");
    }
  }

  @Test
  void anEngineThatCantBeMadeMeansSockets() throws Exception {
    String profile = "hadoop.rdma.tuning.profile=/no/such.profile";
    try (Upgrade upgrade = of(Component.RPC, Role.DAEMON, profile)) {
      assertThat(upgrade.isUsable()).isFalse();
      assertThat(upgrade.isUsable()).isFalse();
      assertThat(Traffic.states().get("rpc")).startsWith("auto: sockets, since ").contains("/no/such.profile");
      assertThat(Traffic.reasons().keySet()).anyMatch(key -> key.contains("/no/such.profile"));
    }
    try (Upgrade required = of(Component.RPC, Role.DAEMON, profile, "hadoop.rdma.enabled=required")) {
      assertThatThrownBy(required::isUsable).isInstanceOf(IOException.class)
          .hasMessageContaining("hadoop.rdma.enabled=required (from test-site.xml)")
          .hasMessageContaining("/no/such.profile");
    }
  }

  @Test
  void aBadValueIsRefusedInEveryMode() throws Exception {
    try (Upgrade upgrade = of(Component.RPC, Role.DAEMON, "hadoop.rdma.chunk.size=huge")) {
      assertThatThrownBy(upgrade::isUsable).isInstanceOf(BadOptionException.class)
          .hasMessageContaining("chunk.size").hasMessageContaining("huge").hasMessageContaining("test-site.xml");
    }
    assertThatThrownBy(() -> of(Component.RPC, Role.DAEMON, "hadoop.rdma.rpc.fallback.remember=never"))
        .isInstanceOf(BadOptionException.class).hasMessageContaining("remember=never");
  }

  @Test
  void unknownNamesStopNothing() throws Exception {
    try (Upgrade upgrade = of(Component.RPC, Role.DAEMON, "hadoop.rdma.speed=high", "dfs.rdma.hhh.mode=Default",
        "dfs.datanode.rdma.port=9999")) {
      upgrade.checkNames();
      assertThat(upgrade.isUsable()).isTrue();
    }
  }

  @Test
  void theEndOfTheHeapIsNotOurs() {
    assertThat(Failures.isOfProcess(new OutOfMemoryError("Java heap space"))).isTrue();
    assertThat(Failures.isOfProcess(new OutOfMemoryError("GC overhead limit exceeded"))).isTrue();
    assertThat(Failures.isOfProcess(new OutOfMemoryError())).isTrue();
    assertThat(Failures.isOfProcess(new StackOverflowError())).isTrue();
    assertThat(Failures.isOfProcess(new OutOfMemoryError("Direct buffer memory"))).isFalse();
    assertThat(Failures.isOfProcess(new OutOfMemoryError("unable to create new native thread"))).isFalse();
    assertThat(Failures.isOfProcess(new UnsatisfiedLinkError("x"))).isFalse();
    assertThat(Failures.isOfProcess(new NoClassDefFoundError("x"))).isFalse();
    assertThat(Failures.isOfProcess(new InternalError("x"))).isFalse();
  }
}

package io.howdah.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.junit.jupiter.api.Test;

/** Names, defaults, and what is refused. */
class TierSettingsTest {
  private static Configuration conf(String... settings) {
    Configuration conf = new Configuration(false);
    for (String setting : settings) {
      conf.set(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
    }
    return conf;
  }

  @Test
  void oneNameOfTwoIsEnough() throws Exception {
    assertThat(StorageMode.isSet(conf())).isFalse();
    assertThat(StorageMode.isSet(conf("dfs.rdma.hhh.mode= "))).isFalse();
    for (String name : new String[] {"Default", "hhh", "default", "HHH"}) {
      TierSettings read = TierSettings.of(conf("dfs.rdma.hhh.mode=" + name));
      assertThat(read.mode()).isEqualTo(StorageMode.HHH);
      assertThat(read.policy()).isEqualTo(TierSettings.Policy.AUTO);
      assertThat(read.memoryShare()).isEqualTo(0.7);
      assertThat(read.memoryLow()).isEqualTo(0.6);
      assertThat(read.memoryReplicas(3)).isEqualTo(1);
      assertThat(read.weight(StorageType.SSD)).isEqualTo(1);
    }
  }

  @Test
  void oneReplicaIsNeverInRamAlone() throws Exception {
    TierSettings read = TierSettings.of(conf("dfs.rdma.hhh.mode=hhh", "dfs.rdma.memory.replicas=2"));
    assertThat(read.memoryReplicas(1)).isZero();
    assertThat(read.memoryReplicas(2)).isEqualTo(1);
    assertThat(read.memoryReplicas(3)).isEqualTo(2);
    assertThat(read.memoryReplicas(10)).isEqualTo(2);
  }

  @Test
  void replicasInRamAreBelowTheReplicationExceptTheDefaultOfOne() throws Exception {
    assertThat(TierSettings.of(conf("dfs.rdma.hhh.mode=hhh", "dfs.replication=1", "dfs.rdma.memory.replicas=1"))
        .memoryReplicas(1)).isZero();
    for (int replication = 1; replication <= 3; replication++) {
      String tooMany = "dfs.rdma.memory.replicas=" + Math.max(2, replication);
      String conf = "dfs.replication=" + replication;
      assertThatThrownBy(() -> TierSettings.of(conf("dfs.rdma.hhh.mode=hhh", conf, tooMany)))
          .hasMessage(tooMany + " is not below " + conf + ": at least one replica has to be on SSD or disk");
      TierSettings.of(conf("dfs.rdma.hhh.mode=hhh-m", conf, tooMany));
    }
  }

  @Test
  void allReplicasAreInRamInTheModeThatIsNamedForIt() throws Exception {
    for (String name : new String[] {"In-Memory", "hhh-m"}) {
      TierSettings read = TierSettings.of(conf("dfs.rdma.hhh.mode=" + name, "dfs.rdma.memory.replicas=7"));
      assertThat(read.mode()).isEqualTo(StorageMode.HHH_M);
      assertThat(read.memoryReplicas(1)).isEqualTo(1);
      assertThat(read.memoryReplicas(3)).isEqualTo(3);
    }
  }

  @Test
  void modesThatAreNotThereAreRefusedByName() {
    for (String name : new String[] {"Lustre-BB", "hhh-l-bb", "fast"}) {
      assertThatThrownBy(() -> TierSettings.of(conf("dfs.rdma.hhh.mode=" + name))).as(name)
          .hasMessageStartingWith("dfs.rdma.hhh.mode=" + name + ": ")
          .hasMessageEndingWith("set Default, In-Memory or Lustre, or remove the property");
    }
  }

  @Test
  void badValuesAreRefusedWithNameAndValue() {
    for (String bad : new String[] {"dfs.rdma.memory.percentage=70", "dfs.rdma.memory.percentage=0",
        "dfs.rdma.memory.percentage=-0.5", "dfs.rdma.memory.percentage=NaN", "dfs.rdma.memory.percentage=1e-1",
        "dfs.rdma.memory.low.percentage=1.1", "dfs.rdma.memory.low.percentage=0.9", "dfs.rdma.memory.replicas=3",
        "dfs.rdma.memory.replicas=0", "dfs.rdma.placement.policy=best", "dfs.rdma.placement.weights=1,2",
        "dfs.rdma.placement.weights=1,0,1", "dfs.rdma.placement.weights=a,b,c", "dfs.rdma.use.halflife=0",
        "dfs.rdma.memory.hsync=persist", "dfs.rdma.memory.hsync=yes"}) {
      assertThatThrownBy(() -> TierSettings.of(conf("dfs.rdma.hhh.mode=hhh", bad))).as(bad).hasMessageStartingWith(bad);
    }
  }
}

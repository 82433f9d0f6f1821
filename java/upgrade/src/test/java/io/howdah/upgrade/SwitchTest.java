package io.howdah.upgrade;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the switches say together. */
class SwitchTest {
  private static Switch of(Component component, String settings) throws Exception {
    return Switch.of(component, settings == null ? new Given() : new Given(settings.split(" ")));
  }

  @ParameterizedTest
  @CsvSource(nullValues = "-", value = {
      "RPC, -, AUTO",
      "RPC, hadoop.rdma.enabled=required, REQUIRED",
      "RPC, hadoop.rdma.enabled=false, FALSE",
      "RPC, hadoop.rdma.enabled=false hadoop.rdma.rpc.enabled=true, TRUE",
      "HDFS, hadoop.rdma.enabled=false hadoop.rdma.rpc.enabled=true, FALSE",
      "HDFS, dfs.rdma.enabled=false, FALSE",
      "SHUFFLE, mapred.rdma.enabled=required, REQUIRED",
      "SPARK, spark.shuffle.rdma.enabled=true, TRUE",
      "SPARK, spark.ib.enabled=true hadoop.rdma.enabled=false, TRUE",
      "SPARK, spark.ib.enabled=false hadoop.rdma.enabled=true, FALSE",
      "RPC, spark.ib.enabled=false, AUTO",
      "RPC, hadoop.ib.enabled=true, TRUE",
      "RPC, hadoop.ib.enabled=false hadoop.roce.enabled=false, FALSE",
      "RPC, hadoop.ib.enabled=false hadoop.roce.enabled=false hadoop.rdma.enabled=auto, AUTO",
      "RPC, hadoop.rdma.rpc.required=true, REQUIRED",
      "RPC, hadoop.rdma.rpc.required=true hadoop.rdma.enabled=false, FALSE",
      "RPC, hadoop.rdma.transport=shm, REQUIRED",
      "RPC, hadoop.rdma.transport=auto, AUTO",
      "RPC, hadoop.rdma.transport=tcp hadoop.rdma.enabled=required, FALSE",
      "SPARK, hadoop.rdma.transport=tcp spark.shuffle.rdma.transport=verbs, REQUIRED",
      "RPC, hadoop.rdma.transport=shm HOWDAH_TRANSPORT=auto, AUTO",
      "RPC, HOWDAH_ENABLED=false hadoop.rdma.rpc.enabled=required, FALSE",
      "RPC, HOWDAH_ENABLED=false HOWDAH_RPC_ENABLED=true, TRUE",
      "HDFS, HOWDAH_ENABLED=false HOWDAH_RPC_ENABLED=true, FALSE",
  })
  void modes(Component component, String settings, Mode mode) throws Exception {
    assertThat(of(component, settings).mode).isEqualTo(mode);
  }

  @ParameterizedTest
  @CsvSource(nullValues = "-", value = {
      "-, -",
      "hadoop.ib.enabled=true, infiniband",
      "hadoop.ib.enabled=true hadoop.roce.enabled=false, infiniband",
      "hadoop.ib.enabled=false hadoop.roce.enabled=true, ethernet",
      "hadoop.roce.enabled=true, ethernet",
      "hadoop.roce.enabled=false, infiniband",
      "hadoop.ib.enabled=true hadoop.roce.enabled=true, any",
      "hadoop.ib.enabled=false, -",
  })
  void linkLayers(String settings, String layer) throws Exception {
    assertThat(of(Component.RPC, settings).linkLayer).isEqualTo(layer);
    assertThat(of(Component.SPARK, settings == null ? null : settings.replace("hadoop.", "spark.")).linkLayer)
        .isEqualTo(layer);
  }

  @Test
  void whatDecidedIsNamed() throws Exception {
    assertThat(of(Component.RPC, null).origin).isEqualTo("the default of hadoop.rdma.enabled");
    assertThat(of(Component.RPC, "hadoop.rdma.enabled=required").origin)
        .isEqualTo("hadoop.rdma.enabled=required (from test-site.xml)");
    assertThat(of(Component.RPC, "HOWDAH_ENABLED=true").origin).isEqualTo("HOWDAH_ENABLED=true in the environment");
    assertThat(of(Component.RPC, "hadoop.rdma.transport=shm").origin)
        .isEqualTo("hadoop.rdma.transport=shm (from test-site.xml)");
  }

  @Test
  void badValuesAreRefused() {
    for (String bad : new String[] {"hadoop.rdma.enabled=yes", "hadoop.rdma.rpc.enabled=1", "hadoop.ib.enabled=maybe",
        "hadoop.rdma.rpc.required=on", "HOWDAH_ENABLED=of"}) {
      assertThatThrownBy(() -> of(Component.RPC, bad)).isInstanceOf(BadOptionException.class)
          .hasMessageContaining(bad);
    }
  }
}

package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.junit.jupiter.api.Test;
import scala.Option;

class RdmaBlockConfTest {
  private static NettyBlockTransferService create(String... options) {
    SparkConf conf = TestService.conf(options);
    return RdmaBlockTransferService.create(conf, new SecurityManager(conf, Option.empty()), TestService.HOST,
        TestService.HOST, 0, 1);
  }

  private static boolean isOurs(String... options) {
    NettyBlockTransferService service = create(options);
    if (service instanceof RdmaBlockTransferService) {
      service.close();
      return true;
    }
    return false;
  }

  @Test
  void itIsStockSparkUnlessAskedFor() {
    assertThat(isOurs()).isFalse();
    assertThat(isOurs("spark.shuffle.rdma.enabled=false", "spark.ib.enabled=true")).isFalse();
    assertThat(isOurs("spark.ib.enabled=false", "spark.roce.enabled=false")).isFalse();
    assertThat(isOurs("spark.shuffle.rdma.enabled=true", "spark.shuffle.rdma.transport=tcp")).isFalse();
    assertThat(isOurs("spark.shuffle.rdma.enabled=true")).isTrue();
    assertThat(isOurs("spark.ib.enabled=true")).isTrue();
    assertThat(isOurs("spark.roce.enabled=true")).isTrue();
  }

  @Test
  void optionsOfTheEngineAndOfHibdKeepTheirMeaning() {
    SparkConf conf = TestService.conf("spark.shuffle.rdma.enabled=true", "spark.shuffle.rdma.chunk.size=262144",
        "spark.shuffle.rdma.memory.slab.size=8m", "spark.hadoop.hadoop.rdma.memory.limit=256m");
    try (RdmaBlockTransferServiceCloser service = new RdmaBlockTransferServiceCloser(conf)) {
      assertThat(service.option("hadoop.rdma.chunk.size")).isEqualTo("256k");
      assertThat(service.option("hadoop.rdma.memory.slab.size")).isEqualTo("8m");
      assertThat(service.option("hadoop.rdma.memory.limit")).isEqualTo("256m");
    }
  }

  @Test
  void whereSparkAuthenticatesNoPeerGetsAtMemory() {
    SparkConf conf = TestService.conf("spark.shuffle.rdma.enabled=true", "spark.authenticate=true",
        "spark.authenticate.secret=hidden");
    try (RdmaBlockTransferServiceCloser service = new RdmaBlockTransferServiceCloser(conf)) {
      assertThat(service.option("hadoop.rdma.verbs.remote.access")).isEqualTo("false");
      assertThat(service.option("hadoop.rdma.udapl.remote.access")).isEqualTo("false");
    }
  }

  @Test
  void badValuesAndUnknownNamesAreRefused() {
    assertThatThrownBy(() -> create("spark.shuffle.rdma.enabled=perhaps"))
        .hasMessage("spark.shuffle.rdma.enabled=perhaps (in Spark's configuration): true or false is needed");
    assertThatThrownBy(() -> create("spark.ib.enabled=true", "spark.shuffle.rdma.batch.size=1"))
        .hasMessageContaining("spark.shuffle.rdma.batch.size=1").hasMessageContaining("from 65536");
    assertThatThrownBy(() -> create("spark.ib.enabled=true", "spark.shuffle.rdma.server.queue=many"))
        .hasMessageContaining("spark.shuffle.rdma.server.queue=many");
    assertThatThrownBy(() -> create("spark.ib.enabled=true", "spark.shuffle.rdma.chnk.size=1m"))
        .hasMessageContaining("no option spark.shuffle.rdma.chnk.size");
    assertThatThrownBy(() -> create("spark.ib.enabled=true", "spark.shuffle.rdma.chunk.size=1"))
        .hasMessageContaining("spark.shuffle.rdma.chunk.size").hasMessageContaining("4k");
    assertThatThrownBy(() -> create("spark.ib.enabled=true", "spark.shuffle.rdma.transport=warp"))
        .hasMessageContaining("warp");
    assertThatThrownBy(() -> create("spark.ib.enabled=true", "spark.shuffle.rdma.required=true",
        "spark.shuffle.io.mode=EPOLL")).hasMessageContaining("spark.shuffle.io.mode");
    assertThat(isOurs("spark.ib.enabled=true", "spark.shuffle.io.mode=EPOLL")).isFalse();
  }

  @Test
  void whatNobodyAskedForIsNotLookedAt() {
    assertThat(isOurs("spark.shuffle.rdma.batch.size=1")).isFalse();
    assertThat(isOurs("spark.shuffle.rdma.enabled=true", "spark.shuffle.rdma.batch.size=64k ")).isTrue();
  }

  @Test
  void whatCannotUseTheEngineCountsAsOneFallback() {
    NettyBlockTransferService service = create("spark.ib.enabled=true", "spark.shuffle.io.mode=EPOLL");
    assertThat(service).isInstanceOfSatisfying(CountedBlockTransferService.class,
        counted -> assertThat(counted.metrics().fallbacks.getCount()).isEqualTo(1));
    assertThat(create()).isNotInstanceOf(CountedBlockTransferService.class);
  }

  @Test
  void onYarnTheContainersGrowByTheLimit() {
    SparkConf conf = TestService.conf("spark.master=yarn", "spark.executor.id=driver", "spark.executor.memory=8g");
    ContainerMemory.account(conf, 256 << 20);
    assertThat(conf.get(ContainerMemory.OVERHEAD)).isEqualTo("1075");
    conf = TestService.conf("spark.master=yarn", "spark.executor.id=driver", ContainerMemory.OVERHEAD + "=500");
    ContainerMemory.account(conf, 256 << 20);
    assertThat(conf.get(ContainerMemory.OVERHEAD)).isEqualTo("756");
    SparkConf standalone = TestService.conf("spark.master=spark://host:1", "spark.executor.id=driver");
    ContainerMemory.account(standalone, 256 << 20);
    assertThat(standalone.contains(ContainerMemory.OVERHEAD)).isFalse();
  }

  /** Made by the factory, to be closed. */
  private static final class RdmaBlockTransferServiceCloser implements AutoCloseable {
    private final RdmaBlockTransferService service;

    RdmaBlockTransferServiceCloser(SparkConf conf) {
      service = (RdmaBlockTransferService) RdmaBlockTransferService.create(conf,
          new SecurityManager(conf, Option.empty()), TestService.HOST, TestService.HOST, 0, 1);
    }

    String option(String key) {
      return service.engine().options().get(key);
    }

    @Override
    public void close() {
      service.close();
    }
  }
}

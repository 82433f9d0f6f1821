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
  void itIsOnUnlessSwitchedOff() {
    assertThat(isOurs()).isTrue();
    assertThat(isOurs("spark.shuffle.rdma.enabled=false", "spark.ib.enabled=true")).isFalse();
    assertThat(isOurs("spark.ib.enabled=false", "spark.roce.enabled=false")).isFalse();
    assertThat(isOurs("spark.shuffle.rdma.enabled=true", "spark.shuffle.rdma.transport=tcp")).isFalse();
    assertThat(isOurs("spark.shuffle.rdma.enabled=true")).isTrue();
    assertThat(isOurs("spark.ib.enabled=true")).isTrue();
    assertThat(isOurs("spark.master=local[2]")).isFalse();
  }

  @Test
  void hadoopsSwitchCountsWhereSparksOwnIsNotSet() {
    for (String prefix : new String[] {"", "spark.hadoop."}) {
      assertThat(isOurs(prefix + "hadoop.rdma.enabled=false")).isFalse();
      assertThat(isOurs(prefix + "hadoop.ib.enabled=false", prefix + "hadoop.roce.enabled=false")).isFalse();
      assertThat(isOurs(prefix + "hadoop.rdma.enabled=false", "spark.ib.enabled=true")).isTrue();
      assertThat(isOurs(prefix + "hadoop.rdma.enabled=false", "spark.shuffle.rdma.enabled=auto")).isTrue();
      assertThat(isOurs(prefix + "hadoop.rdma.enabled=true", "spark.shuffle.rdma.enabled=false")).isFalse();
    }
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
    SparkConf conf = TestService.conf("spark.authenticate=true", "spark.authenticate.secret=hidden");
    try (RdmaBlockTransferServiceCloser service = new RdmaBlockTransferServiceCloser(conf)) {
      assertThat(service.option("hadoop.rdma.verbs.remote.access")).isEqualTo("false");
      assertThat(service.option("hadoop.rdma.udapl.remote.access")).isEqualTo("false");
    }
  }

  @Test
  void badValuesAreRefused() {
    assertThatThrownBy(() -> create("spark.shuffle.rdma.enabled=perhaps")).isInstanceOf(IllegalArgumentException.class)
        .hasMessage("spark.shuffle.rdma.enabled=perhaps (from Spark's configuration): auto, true, required or false is "
            + "needed");
    assertThatThrownBy(() -> create("spark.shuffle.rdma.batch.size=1"))
        .hasMessageContaining("spark.shuffle.rdma.batch.size=1").hasMessageContaining("from 65536");
    assertThatThrownBy(() -> create("spark.shuffle.rdma.server.queue=many"))
        .hasMessageContaining("spark.shuffle.rdma.server.queue=many");
    assertThatThrownBy(() -> create("spark.shuffle.rdma.chunk.size=1"))
        .hasMessageContaining("spark.shuffle.rdma.chunk.size").hasMessageContaining("4k");
    assertThatThrownBy(() -> create("spark.shuffle.rdma.transport=warp")).hasMessageContaining("warp");
    assertThatThrownBy(() -> create("spark.shuffle.rdma.required=true", "spark.shuffle.io.mode=EPOLL"))
        .isInstanceOf(IllegalStateException.class).hasMessageContaining("spark.shuffle.io.mode");
    assertThat(isOurs("spark.shuffle.io.mode=EPOLL")).isFalse();
  }

  @Test
  void whatNobodyKnowsStopsNothing() {
    assertThat(isOurs("spark.shuffle.rdma.chnk.size=1m", "spark.shuffle.rdma.recvQueueDepth=4096")).isTrue();
    assertThat(isOurs("spark.shuffle.rdma.enabled=false", "spark.shuffle.rdma.batch.size=1")).isFalse();
    assertThat(isOurs("spark.shuffle.rdma.batch.size=64k ")).isTrue();
  }

  @Test
  void whatCannotUseTheEngineCountsAsOneFallback() {
    NettyBlockTransferService service = create("spark.shuffle.io.mode=EPOLL");
    assertThat(service).isInstanceOfSatisfying(CountedBlockTransferService.class,
        counted -> assertThat(counted.metrics().fallbacks.getCount()).isEqualTo(1));
    assertThat(create("spark.shuffle.rdma.enabled=false")).isNotInstanceOf(CountedBlockTransferService.class);
  }

  @Test
  void theDefaultLimitFitsInWhatSparkAsksForBesideTheHeap() {
    for (String process : new String[] {"driver", "1"}) {
      String[] yarn = {"spark.master=yarn", "spark.executor.id=" + process};
      assertThat(limit(yarn)).isEqualTo("128m"); // a third of 384 MB
      assertThat(limit(yarn[0], yarn[1], "spark.executor.memory=64g", "spark.driver.memory=64g")).isEqualTo("2184m");
      assertThat(limit("spark.master=spark://host:1", yarn[1])).isEqualTo("384m");
    }
    String overhead = ContainerMemory.OVERHEAD + "=600";
    assertThat(limit("spark.master=yarn", "spark.executor.id=1", overhead)).isEqualTo("200m");
    assertThat(limit("spark.master=yarn", "spark.executor.id=1", ContainerMemory.LIMIT + "=1g")).isEqualTo("1g");
    // The container of a driver in YARN's cluster mode is there already.
    String[] cluster = {"spark.master=yarn", "spark.executor.id=driver", "spark.submit.deployMode=cluster",
        ContainerMemory.LIMIT + "=1g"};
    assertThat(limit(cluster)).isEqualTo("128m");
  }

  private static String limit(String... options) {
    try (RdmaBlockTransferServiceCloser service = new RdmaBlockTransferServiceCloser(TestService.conf(options))) {
      return service.option("hadoop.rdma.memory.limit");
    }
  }

  @Test
  void onYarnTheContainersGrowForALimitThatIsSet() {
    SparkConf conf = TestService.conf("spark.master=yarn", "spark.executor.id=driver", "spark.executor.memory=8g");
    ContainerMemory.account(conf, null);
    assertThat(conf.contains(ContainerMemory.OVERHEAD)).isFalse();
    ContainerMemory.account(conf, "256m"); // less than a third of the 819 MB that Spark asks for
    assertThat(conf.contains(ContainerMemory.OVERHEAD)).isFalse();
    ContainerMemory.account(conf, "1g");
    assertThat(conf.get(ContainerMemory.OVERHEAD)).isEqualTo(String.valueOf(819 + 1024 - 273));
    conf = TestService.conf("spark.master=yarn", "spark.executor.id=driver", ContainerMemory.OVERHEAD + "=600");
    ContainerMemory.account(conf, "256m");
    assertThat(conf.get(ContainerMemory.OVERHEAD)).isEqualTo("656");
    SparkConf standalone = TestService.conf("spark.master=spark://host:1", "spark.executor.id=driver");
    ContainerMemory.account(standalone, "1g");
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

package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.network.netty.NettyBlockTransferService;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import scala.Option;

@Timeout(120)
class RdmaSecurityTest {
  private static final String REQUIRED = RdmaBlockConf.REQUIRED + "=true";
  private static final String ON = "spark.authenticate=true";
  private static final String ONCE = "spark.shuffle.io.maxRetries=0";

  private static Fetched fetch(String[] clients, String[] servers) throws Exception {
    try (TestService client = TestService.rdma(clients); TestService server = TestService.rdma(servers)) {
      server.blocks.put("rdd_1_1", new TestService.Counted(new byte[] {1, 2, 3}));
      Fetched fetched = Fetched.of(client, server, "rdd_1_1");
      if (fetched.failures.isEmpty()) {
        assertThat(fetched.read("rdd_1_1")).containsExactly(1, 2, 3);
        assertThat(client.rdma.metrics().blocks.getCount()).isEqualTo(1);
      } else {
        assertThat(server.asked).hasValue(0);
      }
      fetched.release();
      return fetched;
    }
  }

  @Test
  void theSameSecretIsAccepted() throws Exception {
    String[] both = {REQUIRED, ON, "spark.authenticate.secret=sesame"};
    assertThat(fetch(both, both).failures).isEmpty();
  }

  @Test
  void anotherSecretIsRefused() throws Exception {
    Fetched fetched = fetch(new String[] {REQUIRED, ON, ONCE, "spark.authenticate.secret=barley"},
        new String[] {REQUIRED, ON, "spark.authenticate.secret=sesame"});
    assertThat(fetched.failures.get("rdd_1_1")).hasMessageContaining("authentication failed");
  }

  @Test
  void oneSideAloneIsRefused() throws Exception {
    String[] with = {REQUIRED, ON, ONCE, "spark.authenticate.secret=sesame"};
    String[] without = {REQUIRED, ONCE};
    assertThat(fetch(with, without).failures.get("rdd_1_1")).hasMessageContaining("spark.authenticate is false here");
    assertThat(fetch(without, with).failures.get("rdd_1_1")).hasMessageContaining("spark.authenticate is true here");
  }

  private static NettyBlockTransferService create(String... options) {
    SparkConf conf = TestService.conf(options);
    return RdmaBlockTransferService.create(conf, new SecurityManager(conf, Option.empty()), TestService.HOST,
        TestService.HOST, 0, 1);
  }

  @Test
  void encryptionIsLeftToNettyOrRefused() {
    String[] encrypted = {RdmaBlockConf.ENABLED + "=true", ON, "spark.authenticate.secret=sesame",
        "spark.authenticate.enableSaslEncryption=true"};
    assertThat(create(encrypted)).isNotInstanceOf(RdmaBlockTransferService.class);
    String[] required = java.util.Arrays.copyOf(encrypted, encrypted.length + 1);
    required[encrypted.length] = REQUIRED;
    assertThatThrownBy(() -> create(required)).isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("enableSaslEncryption").hasMessageContaining(RdmaBlockConf.REQUIRED);
  }
}

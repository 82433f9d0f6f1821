package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.engine.Counter;
import io.howdah.engine.Engine;
import io.howdah.engine.EngineOption;
import io.howdah.upgrade.Role;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.network.TransportContext;
import org.apache.spark.network.netty.SparkTransportConf;
import org.apache.spark.network.sasl.SaslServerBootstrap;
import org.apache.spark.network.sasl.ShuffleSecretManager;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.server.TransportServerBootstrap;
import org.apache.spark.network.shuffle.ExternalShuffleBlockHandler;
import org.apache.spark.network.shuffle.ExternalShuffleClient;
import org.apache.spark.network.shuffle.protocol.ExecutorShuffleInfo;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.network.yarn.RunningYarnShuffleService;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;

@Timeout(180)
class ShuffleServiceTest {
  private static final String REQUIRED = RdmaBlockConf.REQUIRED + "=true";
  private static final String ONCE = "spark.shuffle.io.maxRetries=0";
  private static final String SORT = "org.apache.spark.shuffle.sort.SortShuffleManager";
  private static final int[] SIZES = {0, 1, 100, 65_536, 1 << 20, (1 << 20) + 1, 0, (8 << 20) + 12_345, 7};

  @TempDir
  Path folder;

  private final long leaks = Engine.leaks();
  private TestService client;
  private ExternalShuffleClient asks;
  private EngineShuffleService engine;
  private TransportServer server;
  private ExternalShuffleBlockHandler handler;

  @AfterEach
  void close() {
    if (asks != null) {
      asks.close();
    }
    if (client != null) {
      client.close();
    }
    if (server != null) {
      server.close();
    }
    if (engine != null) {
      engine.close();
    }
    assertThat(Engine.leaks()).isEqualTo(leaks);
  }

  // Both sides.

  /** The service as a standalone worker has it. */
  private void serve(boolean overEngine, ShuffleSecretManager secrets) throws Exception {
    TransportConf transport = SparkTransportConf.fromSparkConf(TestService.conf(), "shuffle", 0);
    handler = new ExternalShuffleBlockHandler(transport, null);
    Map<String, String> options = new HashMap<>();
    options.put(RdmaBlockConf.ENABLED, String.valueOf(overEngine));
    RdmaBlockConf conf = new RdmaBlockConf(
        new SparkSettings(options, () -> new Configuration(false), Collections.emptyMap()), Role.DAEMON);
    engine = EngineShuffleService.start(conf, transport, handler, secrets);
    assertThat(engine != null).isEqualTo(overEngine);
    List<TransportServerBootstrap> own = secrets == null ? Collections.emptyList()
        : Collections.singletonList(new SaslServerBootstrap(transport, secrets));
    server = new TransportContext(transport, handler, true).createServer(0, overEngine ? engine.before(own) : own);
  }

  private void ask(String... options) throws Exception {
    client = TestService.rdma(options);
    asks = RdmaShuffleClient.create(SparkTransportConf.fromSparkConf(TestService.conf(options), "shuffle", 1),
        security(options), client.service);
    asks.init(TestService.conf(options).get("spark.app.id"));
  }

  private static SecurityManager security(String... options) {
    return new SecurityManager(TestService.conf(options), Option.empty());
  }

  private static byte[] bytes(String executor, int block) {
    byte[] bytes = new byte[SIZES[block]];
    new Random(31 * executor.hashCode() + block).nextBytes(bytes);
    return bytes;
  }

  private static String name(int block) {
    return "shuffle_1_2_" + block;
  }

  private static String[] names() {
    String[] names = new String[SIZES.length];
    for (int i = 0; i < names.length; i++) {
      names[i] = name(i);
    }
    return names;
  }

  /** Writes the output of map task 2 of shuffle 1 as an executor does, and tells the service. */
  private void register(String executor) throws Exception {
    asks.registerWithShuffleServer(TestService.HOST, server.getPort(), executor, write(executor));
  }

  private ExecutorShuffleInfo write(String executor) throws IOException {
    Path files = Files.createDirectories(folder.resolve(executor + "/00"));
    try (DataOutputStream index = new DataOutputStream(Files.newOutputStream(files.resolve("shuffle_1_2_0.index")));
        DataOutputStream data = new DataOutputStream(Files.newOutputStream(files.resolve("shuffle_1_2_0.data")))) {
      long at = 0;
      index.writeLong(at);
      for (int i = 0; i < SIZES.length; i++) {
        data.write(bytes(executor, i));
        at += SIZES[i];
        index.writeLong(at);
      }
    }
    return new ExecutorShuffleInfo(new String[] {files.getParent().toString()}, 1, SORT);
  }

  private void fetchAll(ExternalShuffleClient from, int port, String executor) throws Exception {
    Fetched fetched = Fetched.of(from, port, executor, names());
    for (int i = 0; i < SIZES.length; i++) {
      assertThat(fetched.read(name(i))).isEqualTo(bytes(executor, i));
    }
    fetched.release();
  }

  private static void awaitZero(Engine engine) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
    while (engine.counters().get(Counter.MEMORY_USED) > 0 && System.nanoTime() < end) {
      Thread.sleep(5);
    }
    assertThat(engine.counters().get(Counter.MEMORY_USED)).isZero();
  }

  private void assertNothingIsHeld() throws Exception {
    awaitZero(client.engine);
    awaitZero(engine.engine());
    assertThat(client.rdma.metrics().held.getCount()).isZero();
  }

  // What is served.

  @Test
  void filesOfEachExecutorComeOverTheEngine() throws Exception {
    serve(true, null);
    ask(REQUIRED);
    register("1");
    register("2");
    fetchAll(asks, server.getPort(), "1");
    fetchAll(asks, server.getPort(), "2");
    assertThat(client.rdma.metrics().blocks.getCount()).isEqualTo(2 * SIZES.length);
    assertThat(client.rdma.metrics().nettyBlocks.getCount()).isZero();
    assertThat(client.rdma.metrics().sessions.getCount()).isEqualTo(1);
    assertThat(engine.metrics().servedBlocks.getCount()).isEqualTo(2 * SIZES.length);
    assertThat(engine.metrics().nettyConnections.getCount()).isEqualTo(2); // those that registered
    assertNothingIsHeld();
  }

  @Test
  void stockClientsAreServedAsEver() throws Exception {
    serve(true, null);
    SparkConf conf = TestService.conf();
    asks = new ExternalShuffleClient(SparkTransportConf.fromSparkConf(conf, "shuffle", 1), security(), false, false);
    asks.init(TestService.APP);
    register("1");
    fetchAll(asks, server.getPort(), "1");
    assertThat(engine.metrics().servedBlocks.getCount()).isZero();
    assertThat(engine.metrics().greetings.getCount()).isZero();
  }

  @Test
  void aStockServiceIsAskedOverNettyAndCounted() throws Exception {
    serve(false, null);
    ask();
    register("1");
    fetchAll(asks, server.getPort(), "1");
    assertThat(client.rdma.metrics().nettyBlocks.getCount()).isEqualTo(SIZES.length);
    assertThat(client.rdma.metrics().blocks.getCount()).isZero();
    assertThat(client.rdma.metrics().fallbacks.getCount()).isEqualTo(1);
  }

  @Test
  void requiredMeansNoNetty() throws Exception {
    serve(false, null);
    ask(REQUIRED, ONCE);
    register("1");
    Fetched fetched = Fetched.of(asks, server.getPort(), "1", name(1));
    assertThat(fetched.failures.get(name(1))).hasMessageContaining("has to go over the engine");
    assertThat(client.rdma.metrics().nettyBlocks.getCount()).isZero();
  }

  @Test
  void whatIsNotThereFailsAlone() throws Exception {
    serve(true, null);
    ask(REQUIRED, ONCE);
    register("1");
    String[] hostile = {"shuffle_1_2_99", "shuffle_1_2_-1", "shuffle_1_-2_0", "shuffle_9_2_0", "shuffle_1_2",
        "rdd_1_2", "shuffle_../../1_2_0", "nonsense"};
    String[] names = Arrays.copyOf(hostile, hostile.length + 1);
    names[hostile.length] = name(2);
    Fetched fetched = Fetched.of(asks, server.getPort(), "1", names);
    assertThat(fetched.failures).containsOnlyKeys(hostile);
    assertThat(fetched.blocks).containsOnlyKeys(name(2));
    fetched.release();
    assertThat(Fetched.of(asks, server.getPort(), "3", name(2)).failures.get(name(2)))
        .hasMessageContaining("not registered");
    fetchAll(asks, server.getPort(), "1");
    assertNothingIsHeld();
  }

  @Test
  void whatTheApplicationIsOverForIsGone() throws Exception {
    serve(true, null);
    ask(REQUIRED, ONCE);
    register("1");
    fetchAll(asks, server.getPort(), "1");
    handler.applicationRemoved(TestService.APP, false);
    assertThat(Fetched.of(asks, server.getPort(), "1", name(2)).failures.get(name(2)))
        .hasMessageContaining("not registered");
  }

  @Test
  void aSessionIsOfOneApplication() throws Exception {
    serve(true, null);
    ask(REQUIRED, ONCE);
    register("1");
    close(client, asks);
    ask(REQUIRED, ONCE, "spark.app.id=another");
    assertThat(Fetched.of(asks, server.getPort(), "1", name(2)).failures.get(name(2)))
        .hasMessageContaining("not registered").hasMessageContaining("another");
  }

  private static void close(TestService service, ExternalShuffleClient client) {
    client.close();
    service.close();
  }

  @Test
  void executorsAndServicesAreNotMistakenForEachOther() throws Exception {
    serve(true, null);
    ask(REQUIRED, ONCE);
    register("1");
    Fetched own = new Fetched(1);
    client.service.fetchBlocks(TestService.HOST, server.getPort(), "1", new String[] {name(2)}, own);
    assertThat(own.await().failures.get(name(2))).hasMessageContaining("this is a shuffle service");
    try (TestService executor = TestService.rdma(REQUIRED)) {
      Fetched of = Fetched.of(asks, executor.port(), "1", name(2));
      assertThat(of.failures.get(name(2))).hasMessageContaining("this is no shuffle service");
      assertThat(executor.asked).hasValue(0);
    }
  }

  // Secrets.

  @Test
  void eachApplicationProvesWhoItIs() throws Exception {
    ShuffleSecretManager secrets = new ShuffleSecretManager();
    secrets.registerApp(TestService.APP, "sesame");
    serve(true, secrets);
    String[] right = {REQUIRED, ONCE, "spark.authenticate=true", "spark.authenticate.secret=sesame"};
    ask(right);
    register("1");
    fetchAll(asks, server.getPort(), "1");
    close(client, asks);
    for (String change : new String[] {"spark.authenticate.secret=barley", "spark.app.id=another",
        "spark.authenticate=false"}) {
      String[] wrong = Arrays.copyOf(right, right.length + 1);
      wrong[right.length] = change;
      ask(wrong);
      assertThat(Fetched.of(asks, server.getPort(), "1", name(2)).failures.get(name(2)))
          .describedAs(change).hasMessageMatching(".*(authentication failed|spark.authenticate is true here).*");
      close(client, asks);
    }
  }

  // In a NodeManager.

  private Configuration nodeManager(String... options) {
    Configuration conf = new Configuration(false);
    conf.set("yarn.nodemanager.local-dirs", folder.toString());
    conf.set("spark.shuffle.service.port", "0");
    for (String option : options) {
      String[] parts = option.split("=", 2);
      conf.set(parts[0], parts[1]);
    }
    return conf;
  }

  @Test
  void theServiceOfNodeManagersDoesTheSame() throws Exception {
    ask(REQUIRED);
    try (RunningYarnShuffleService service = new RunningYarnShuffleService(nodeManager(
        EngineOption.TRANSPORT.key() + "=auto"))) {
      asks.registerWithShuffleServer(TestService.HOST, service.port(), "1", write("1"));
      fetchAll(asks, service.port(), "1");
      assertThat(client.rdma.metrics().blocks.getCount()).isEqualTo(SIZES.length);
      assertThat(client.rdma.metrics().nettyBlocks.getCount()).isZero();
    }
  }

  @Test
  void inNodeManagersItIsTheStockServiceIfSwitchedOff() throws Exception {
    ask();
    try (RunningYarnShuffleService service = new RunningYarnShuffleService(nodeManager("hadoop.rdma.enabled=false"))) {
      asks.registerWithShuffleServer(TestService.HOST, service.port(), "1", write("1"));
      fetchAll(asks, service.port(), "1");
      assertThat(client.rdma.metrics().nettyBlocks.getCount()).isEqualTo(SIZES.length);
      assertThat(client.rdma.metrics().fallbacks.getCount()).isEqualTo(1);
    }
  }

  @Test
  void aServiceThatIsToUseTheEngineAndCannotDoesNotStart() {
    assertThatThrownBy(() -> new RunningYarnShuffleService(nodeManager(RdmaBlockConf.ENABLED + "=true", REQUIRED,
        "spark.shuffle.io.mode=EPOLL"))).hasMessageContaining("has to go over the engine")
        .hasMessageContaining("spark.shuffle.io.mode");
    assertThatThrownBy(() -> new RunningYarnShuffleService(nodeManager(RdmaBlockConf.ENABLED + "=true",
        "spark.shuffle.rdma.batch.size=1"))).hasMessageContaining("spark.shuffle.rdma.batch.size=1 (from ");
  }
}

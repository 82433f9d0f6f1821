package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.upgrade.Component;
import io.howdah.upgrade.PeerCache;
import io.howdah.upgrade.Role;
import io.howdah.upgrade.Settings;
import io.howdah.upgrade.Traffic;
import io.howdah.upgrade.Upgrade;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import javax.crypto.SecretKey;
import org.apache.hadoop.io.nativeio.NativeIO;
import org.apache.hadoop.io.nativeio.NativeIO.POSIX.CacheManipulator;
import org.apache.hadoop.io.nativeio.NativeIOException;
import org.apache.hadoop.mapred.RdmaShuffleHandler;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a reducer gets over the engine is byte for byte what stock's connection gets over HTTP. */
class RdmaShuffleConnectionTest {
  private static final int WINDOW = 64 << 10;

  @TempDir
  Path local;

  private ShuffleNode node;
  private Upgrade upgrade;

  @BeforeEach
  void start() throws IOException {
    PeerCache.ofThisProcess().clear();
    upgrade = upgrade("hadoop.rdma.enabled=auto");
    node = new ShuffleNode(new RdmaShuffleHandler(), local);
  }

  @AfterEach
  void stop() {
    node.close();
    upgrade.close();
  }

  private static Upgrade upgrade(String... settings) throws IOException {
    Map<String, String> values = new HashMap<>();
    for (String setting : settings) {
      values.put(setting.split("=")[0], setting.split("=")[1]);
    }
    return Upgrade.of(Component.SHUFFLE, Settings.of(values, "test"), Role.TASK);
  }

  private HttpURLConnection prepare(HttpURLConnection connection, SecretKey secret) throws IOException {
    connection.addRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, hash(connection.getURL(), secret));
    connection.addRequestProperty(ShuffleHeader.HTTP_HEADER_NAME, ShuffleHeader.DEFAULT_HTTP_HEADER_NAME);
    connection.addRequestProperty(ShuffleHeader.HTTP_HEADER_VERSION, ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION);
    connection.setReadTimeout(20_000);
    connection.setConnectTimeout(20_000);
    return connection;
  }

  private static String hash(URL url, SecretKey secret) throws IOException {
    return SecureShuffleUtils.hashFromString(SecureShuffleUtils.buildMsgFrom(url), secret);
  }

  private RdmaShuffleConnection ours(URL url) throws IOException {
    RdmaShuffleConnection connection = new RdmaShuffleConnection(url, upgrade, WINDOW, 3, null);
    prepare(connection, node.secret());
    return connection;
  }

  private byte[] stock(URL url) throws IOException {
    return readAll(prepare((HttpURLConnection) url.openConnection(), node.secret()));
  }

  private static byte[] readAll(HttpURLConnection connection) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try (InputStream in = connection.getInputStream()) {
      byte[] bytes = new byte[50_001];
      for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
        all.write(bytes, 0, n);
      }
    }
    return all.toByteArray();
  }

  private void awaitNoSessions() throws InterruptedException {
    Wait.until("the end of sessions", () -> sessions() == 0);
  }

  private int sessions() {
    return ((RdmaShuffleHandler) node.handler).sessionCount();
  }

  @Test
  void partsOfAllSizesAreThoseThatStockGets() throws Exception {
    node.write(0, 10, 6, 0);
    node.write(1, 300_000, WINDOW, 5 * WINDOW + 1);
    node.write(2, 2_500_000, 1, 200_000);
    node.write(3, 0, 0, 3);
    for (int reduce = 0; reduce < ShuffleNode.REDUCERS; reduce++) {
      URL url = node.url(reduce, ShuffleNode.map(0), ShuffleNode.map(1), ShuffleNode.map(2), ShuffleNode.map(3));
      RdmaShuffleConnection connection = ours(url);
      byte[] bytes = readAll(connection);
      assertThat(connection.transport()).isNotEqualTo("tcp");
      assertThat(connection.bytes()).isEqualTo(bytes.length);
      assertThat(bytes).isEqualTo(stock(url));
    }
    awaitNoSessions();
  }

  /** Adds what the system is told to read soon, as "map from-to" in its file; it is told so all the same. */
  private static CacheManipulator recorder(Collection<String> ranges) {
    return new CacheManipulator() {
      @Override
      public void posixFadviseIfPossible(String name, FileDescriptor file, long from, long length, int advice)
          throws NativeIOException {
        super.posixFadviseIfPossible(name, file, from, length, advice);
        if (advice == NativeIO.POSIX.POSIX_FADV_WILLNEED) {
          ranges.add(name.replaceAll(".*_m_0*([0-9]+)_0/file.out", "$1") + " " + from + "-" + (from + length));
        }
      }
    };
  }

  @Test
  @Tag("libhadoop")
  void mapOutputIsReadAheadOfTheReducerAndNotIfSwitchedOff() throws Exception {
    Collection<String> ranges = new ConcurrentLinkedQueue<>();
    CacheManipulator before = NativeIO.POSIX.getCacheManipulator();
    NativeIO.POSIX.setCacheManipulator(recorder(ranges));
    try {
      node.write(0, 5, 16 * WINDOW, 0);
      node.write(1, 7, 16 * WINDOW, 0);
      try (InputStream in = ours(node.url(1, ShuffleNode.map(0), ShuffleNode.map(1))).getInputStream()) {
        new DataInputStream(in).readFully(new byte[1000]); // the header, and of the first map's part
        String next = "1 7-" + (7 + 4 * WINDOW);
        Wait.until("the next map's, before it was asked for", () -> ranges.contains(next));
        Wait.until("this map's, behind what was asked for",
            () -> ranges.stream().anyMatch(range -> range.startsWith("0 ")));
      }
      awaitNoSessions();
      node.close();
      node = new ShuffleNode(new RdmaShuffleHandler(), node, 0, ShuffleHandler.SHUFFLE_READAHEAD_BYTES + "=0");
      ranges.clear();
      assertThat(readAll(ours(node.url(1, ShuffleNode.map(0), ShuffleNode.map(1)))).length).isGreaterThan(32 * WINDOW);
      assertThat(ranges).isEmpty();
    } finally {
      NativeIO.POSIX.setCacheManipulator(before);
    }
  }

  private static long count(String what) {
    return Traffic.counts().getOrDefault(what, 0L);
  }

  @Test
  void theServerCountsWhatItServesByTransport() throws Exception {
    node.write(0, 10, 5 * WINDOW + 300_000, 0);
    Map<String, Long> before = Traffic.counts();
    long fallbacks = Traffic.reasons().values().stream().mapToLong(Long::longValue).sum();
    RdmaShuffleConnection small = ours(node.url(0, ShuffleNode.map(0)));
    readAll(small);
    readAll(ours(node.url(1, ShuffleNode.map(0))));
    stock(node.url(1, ShuffleNode.map(0)));
    stock(node.url(2, ShuffleNode.map(0)));
    awaitNoSessions();
    long large = 5 * WINDOW + 300_000;
    String engine = "shuffle.server." + small.transport();
    awaitCount(engine + ".connections", before, 2);
    awaitCount(engine + ".calls", before, 2);
    awaitCount(engine + ".bytes", before, 10 + large);
    awaitCount("shuffle.server.tcp.connections", before, 2);
    awaitCount("shuffle.server.tcp.calls", before, 2);
    awaitCount("shuffle.server.tcp.bytes", before, large);
    assertThat(Traffic.reasons().values().stream().mapToLong(Long::longValue).sum() - fallbacks).isEqualTo(2);
  }

  /** The server counts what it has sent already. */
  private static void awaitCount(String what, Map<String, Long> before, long expected) throws InterruptedException {
    long from = before.getOrDefault(what, 0L);
    Wait.until(what, () -> count(what) - from >= expected);
    assertThat(count(what) - from).as(what).isEqualTo(expected);
  }

  @Test
  void theAnswerIsProvedAsStocksIs() throws Exception {
    node.write(0, 10, 10, 10);
    RdmaShuffleConnection connection = ours(node.url(0, ShuffleNode.map(0)));
    connection.connect();
    assertThat(connection.getResponseCode()).isEqualTo(200);
    assertThat(connection.getHeaderField(ShuffleHeader.HTTP_HEADER_NAME)).isEqualTo("mapreduce");
    assertThat(connection.getHeaderField(ShuffleHeader.HTTP_HEADER_VERSION)).isEqualTo("1.0.0");
    SecureShuffleUtils.verifyReply(connection.getHeaderField(SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH),
        hash(connection.getURL(), node.secret()), node.secret());
    connection.release();
    awaitNoSessions();
  }

  @Test
  void anotherJobsSecretIsRefusedAsInStock() throws Exception {
    node.write(0, 10, 10, 10);
    URL url = node.url(0, ShuffleNode.map(0));
    SecretKey wrong = JobTokenSecretManager.createSecretKey("wrong".getBytes());
    HttpURLConnection connection = prepare(new RdmaShuffleConnection(url, upgrade, WINDOW, 3, null), wrong);
    assertThat(connection.getResponseCode()).isEqualTo(401);
    assertThatThrownBy(connection::getInputStream).isInstanceOf(IOException.class);
    assertThat(prepare((HttpURLConnection) url.openConnection(), wrong).getResponseCode()).isEqualTo(401);
    awaitNoSessions();
  }

  @Test
  void anOutputThatIsGoneIsAnError() throws Exception {
    node.write(0, 10, 10, 10);
    URL url = node.url(0, ShuffleNode.map(0), ShuffleNode.map(7));
    assertThat(ours(url).getResponseCode()).isEqualTo(500);
    awaitNoSessions();
  }

  @Test
  void aNameThatIsNoAttemptLeadsNowhere() throws Exception {
    assertThat(ours(node.url(0, "../../../etc")).getResponseCode()).isEqualTo(400);
    assertThat(ours(node.url(-1, ShuffleNode.map(0))).getResponseCode()).isGreaterThanOrEqualTo(400);
    awaitNoSessions();
  }

  @Test
  void anOutputThatVanishesWhileItIsReadIsAnError() throws Exception {
    node.write(0, 10, 10, 10);
    Path output = node.write(1, 10 << 20, 10, 10);
    RdmaShuffleConnection connection = ours(node.url(0, ShuffleNode.map(0), ShuffleNode.map(1)));
    connection.connect();
    Files.delete(output);
    assertThatThrownBy(() -> readAll(connection)).isInstanceOf(IOException.class);
    awaitNoSessions();
  }

  @Test
  void aReducerThatLeavesInTheMiddleLeavesNothingBehind() throws Exception {
    node.write(0, 10 << 20, 10, 10);
    for (int i = 0; i < 20; i++) {
      InputStream in = ours(node.url(0, ShuffleNode.map(0))).getInputStream();
      assertThat(in.read(new byte[200_000])).isPositive();
      in.close();
    }
    awaitNoSessions();
  }

  @Test
  void disconnectingEndsAReadThatWaits() throws Exception {
    node.write(0, 100, 10, 10);
    RdmaShuffleConnection connection = ours(node.url(0, ShuffleNode.map(0)));
    connection.connect();
    connection.disconnect();
    node.write(1, 10 << 20, 10, 10);
    RdmaShuffleConnection large = ours(node.url(0, ShuffleNode.map(1)));
    InputStream in = large.getInputStream();
    large.disconnect();
    assertThatThrownBy(() -> {
      byte[] bytes = new byte[1 << 20];
      while (in.read(bytes) >= 0) {
        assertThat(bytes).isNotNull();
      }
    }).isInstanceOf(IOException.class);
    in.close();
    connection.release();
    awaitNoSessions();
  }

  @Test
  void aStockNodeManagerIsAskedOverHttpAndRemembered() throws Exception {
    node.close();
    node = new ShuffleNode(new ShuffleHandler(), local);
    node.write(0, 100_000, 10, 10);
    URL url = node.url(0, ShuffleNode.map(0));
    for (int i = 0; i < 2; i++) {
      RdmaShuffleConnection connection = ours(url);
      assertThat(readAll(connection)).isEqualTo(stock(url));
      assertThat(connection.transport()).isEqualTo("tcp");
    }
  }

  @Test
  void aStockNodeManagerIsAnErrorIfTheEngineIsRequired() throws Exception {
    node.close();
    node = new ShuffleNode(new ShuffleHandler(), local);
    node.write(0, 100_000, 10, 10);
    upgrade.close();
    upgrade = upgrade("mapred.rdma.enabled=required");
    assertThatThrownBy(() -> ours(node.url(0, ShuffleNode.map(0))).connect()).isInstanceOf(IOException.class)
        .hasMessageContaining("has to go over the engine");
  }

  @Test
  void aNodeManagerThatIsSwitchedOffServesOverHttp() throws Exception {
    node.close();
    node = new ShuffleNode(new RdmaShuffleHandler(), local, "hadoop.rdma.enabled=false");
    node.write(0, 100_000, 10, 10);
    URL url = node.url(0, ShuffleNode.map(0));
    RdmaShuffleConnection connection = ours(url);
    assertThat(readAll(connection)).isEqualTo(stock(url));
    assertThat(connection.transport()).isEqualTo("tcp");
  }
}

package org.apache.hadoop.mapreduce.task.reduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.howdah.upgrade.Component;
import io.howdah.upgrade.PeerCache;
import io.howdah.upgrade.Role;
import io.howdah.upgrade.Settings;
import io.howdah.upgrade.Upgrade;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.RdmaShuffleHandler;
import org.apache.hadoop.mapred.ShuffleWire.Location;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a reducer reads from maps' files by itself is byte for byte what stock's connection gets. */
class SharedPartsTest {
  private static final int WINDOW = 64 << 10;
  private static final int PACKET = 16 << 10;
  private static final int LARGE = 300_000;
  private static final JobID JOB = JobID.forName("job_1000_0001");
  private static final String USER = System.getProperty("user.name");

  @TempDir
  Path local;

  private ShuffleNode node;
  private Upgrade upgrade;

  @BeforeEach
  void start() throws IOException {
    PeerCache.ofThisProcess().clear();
    upgrade = Upgrade.of(Component.SHUFFLE, Settings.of(Collections.singletonMap("hadoop.rdma.enabled", "true"),
        "test"), Role.TASK);
    node = new ShuffleNode(new RdmaShuffleHandler(), local);
  }

  @AfterEach
  void stop() {
    node.close();
    upgrade.close();
  }

  private static SharedReads reads(int percentage) {
    return new SharedReads(JOB, USER, PACKET, percentage, false);
  }

  private RdmaShuffleConnection connection(URL url, SharedReads reads) throws IOException {
    RdmaShuffleConnection connection = new RdmaShuffleConnection(url, upgrade, WINDOW, 3, reads);
    prepare(connection);
    return connection;
  }

  private HttpURLConnection prepare(HttpURLConnection connection) throws IOException {
    connection.addRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, SecureShuffleUtils.hashFromString(
        SecureShuffleUtils.buildMsgFrom(connection.getURL()), node.secret()));
    connection.addRequestProperty(ShuffleHeader.HTTP_HEADER_NAME, ShuffleHeader.DEFAULT_HTTP_HEADER_NAME);
    connection.addRequestProperty(ShuffleHeader.HTTP_HEADER_VERSION, ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION);
    connection.setReadTimeout(120_000);
    connection.setConnectTimeout(120_000);
    return connection;
  }

  private byte[] stock(URL url) throws IOException {
    return readAll(prepare((HttpURLConnection) url.openConnection()).getInputStream());
  }

  private static byte[] readAll(InputStream from) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try (InputStream in = from) {
      byte[] bytes = new byte[50_001];
      for (int n = in.read(bytes); n >= 0; n = in.read(bytes)) {
        all.write(bytes, 0, n);
      }
    }
    return all.toByteArray();
  }

  private URL url(int reduce, int... maps) throws IOException {
    String[] names = new String[maps.length];
    for (int i = 0; i < maps.length; i++) {
      names[i] = ShuffleNode.map(maps[i]);
    }
    return node.url(reduce, names);
  }

  private static SharedReads asConfigured(String... settings) throws IOException {
    Map<String, String> values = new HashMap<>();
    for (String setting : settings) {
      values.put("mapred.rdma.shuffle.lustre" + setting.split("=")[0], setting.split("=")[1]);
    }
    Upgrade configured = Upgrade.of(Component.SHUFFLE, Settings.of(values, "test"), Role.TASK);
    return SharedReads.of(configured, TaskAttemptID.forName("attempt_1000_0001_r_000000_0"), USER);
  }

  @Test
  void reducersReadWhereTheOptionsSaySo() throws IOException {
    assertThat(asConfigured()).isNull();
    assertThat(asConfigured("=1")).isNull();
    assertThat(asConfigured("=2").packetBytes()).isEqualTo(512 << 10);
    assertThat(asConfigured("=2", ".packet.size=1m").packetBytes()).isEqualTo(1 << 20);
    assertThat(asConfigured("=2", ".read.percentage=0")).isNull();
    for (String bad : new String[] {"=3", ".read.percentage=101", ".packet.size=1", ".adaptive=maybe"}) {
      assertThatThrownBy(() -> asConfigured(bad)).isInstanceOf(IOException.class);
    }
  }

  @Test
  void allPartsAreReadFromTheirFiles() throws IOException {
    node.write(0, 10, 6, 0);
    node.write(1, LARGE, PACKET, 5 * PACKET + 1);
    node.write(2, 2_500_000, 1, 200_000);
    node.write(3, 0, 0, 3);
    int[] sizes = {10 + LARGE + 2_500_000, 6 + PACKET + 1, 5 * PACKET + 1 + 200_000 + 3};
    SharedReads reads = reads(100);
    for (int reduce = 0; reduce < ShuffleNode.REDUCERS; reduce++) {
      URL url = url(reduce, 0, 1, 2, 3);
      RdmaShuffleConnection connection = connection(url, reads);
      byte[] bytes = readAll(connection.getInputStream());
      assertThat(bytes).isEqualTo(stock(url));
      assertThat(connection.sharedBytes()).isEqualTo(sizes[reduce]);
      assertThat(connection.bytes()).as("headers").isEqualTo(bytes.length - sizes[reduce]).isLessThan(400);
    }
  }

  @Test
  void aFixedShareIsReadAndTheRestFetched() throws IOException {
    for (int map = 0; map < 8; map++) {
      node.write(map, LARGE, 0, 0);
    }
    URL url = url(0, 0, 1, 2, 3, 4, 5, 6, 7);
    for (int share : new int[] {25, 50}) {
      RdmaShuffleConnection connection = connection(url, reads(share));
      assertThat(readAll(connection.getInputStream())).isEqualTo(stock(url));
      assertThat(connection.sharedBytes()).isEqualTo(8L * LARGE * share / 100);
      assertThat(connection.transport()).isNotEqualTo("tcp");
    }
  }

  @Test
  void anAnswerToAReducerThatDoesNotAskIsAsBefore() throws IOException {
    node.write(0, LARGE, 0, 0);
    RdmaShuffleConnection connection = connection(url(0, 0), null);
    assertThat(readAll(connection.getInputStream())).isEqualTo(stock(url(0, 0)));
    assertThat(connection.sharedBytes()).isZero();
  }

  @Test
  void whatThisNodeCanNotReadIsFetched() throws IOException {
    node.write(0, LARGE, 0, 0);
    node.write(1, LARGE, 0, 0);
    SharedReads ofAnotherUser = new SharedReads(JOB, "somebody-else", PACKET, 100, false);
    RdmaShuffleConnection connection = connection(url(0, 0, 1), ofAnotherUser);
    assertThat(readAll(connection.getInputStream())).isEqualTo(stock(url(0, 0, 1)));
    assertThat(connection.sharedBytes()).isZero();
    assertThat(connection.transport()).isNotEqualTo("tcp");
  }

  @Test
  void readsThatBecomeSlowerEndAndTheRestIsFetched() throws IOException {
    node.write(0, LARGE, 0, 0);
    SharedReads reads = new SharedReads(JOB, USER, PACKET, 100, true);
    for (int interval = 1; interval <= ReadPace.RISES + 1; interval++) {
      assertThat(reads.areWanted()).isTrue();
      for (int i = 0; i < ReadPace.READS; i++) {
        reads.succeeded(PACKET, interval * 1_000_000L);
      }
    }
    assertThat(reads.areWanted()).isFalse();
    RdmaShuffleConnection connection = connection(url(0, 0), reads);
    assertThat(readAll(connection.getInputStream())).isEqualTo(stock(url(0, 0)));
    assertThat(connection.sharedBytes()).isZero();
  }

  @Test
  void aFixedShareStaysHoweverSlowReadsAre() {
    SharedReads reads = new SharedReads(JOB, USER, PACKET, 99, true);
    for (int i = 0; i < 1000; i++) {
      reads.succeeded(PACKET, (i + 1) * 1_000_000L);
    }
    assertThat(reads.areWanted()).isTrue();
  }

  @Test
  void anOutputThatVanishesIsAnErrorAndIsAskedForOverTheEngineNext() throws IOException {
    Path output = node.write(0, 1, LARGE, 0);
    SharedReads reads = reads(100);
    readAll(connection(url(0, 0), reads).getInputStream());
    RdmaShuffleConnection vanishing = connection(url(1, 0), reads);
    vanishing.connect();
    Files.delete(output);
    assertThatThrownBy(() -> readAll(vanishing.getInputStream())).isInstanceOf(IOException.class);
    vanishing.release();
    node.write(0, 1, LARGE, 0);
    RdmaShuffleConnection again = connection(url(1, 0), reads);
    assertThat(readAll(again.getInputStream())).isEqualTo(stock(url(1, 0)));
    assertThat(again.sharedBytes()).isZero();
    Files.delete(output);
    RdmaShuffleConnection gone = connection(url(1, 0), reads(100));
    assertThat(gone.getResponseCode()).isEqualTo(500);
    gone.release();
  }

  @Test
  void aTruncatedOutputIsAnError() throws IOException {
    Path output = node.write(0, LARGE, 0, 0);
    RdmaShuffleConnection connection = connection(url(0, 0), reads(100));
    InputStream in = connection.getInputStream();
    assertThat(in.read(new byte[100])).as("a header").isPositive();
    assertThat(in.read(new byte[100])).isEqualTo(100);
    try (FileChannel file = FileChannel.open(output, StandardOpenOption.WRITE)) {
      file.truncate(LARGE / 2);
    }
    assertThatThrownBy(() -> readAll(in)).isInstanceOf(IOException.class);
    connection.release();
    RdmaShuffleConnection next = connection(url(0, 0), reads(100));
    assertThat(next.getResponseCode()).isEqualTo(500);
    next.release();
  }

  @Test
  void anotherFileUnderThatNameIsNotRead() throws IOException {
    Path output = node.write(0, LARGE, 0, 0);
    String map = ShuffleNode.map(0);
    Location right = location(local.toString(), output);
    SharedReads reads = reads(100);
    reads.open(map, right).close();
    Location longer = new Location(right.root, 0, right.size + 1, right.modified);
    Location later = new Location(right.root, 0, right.size, right.modified + 1000);
    for (Location other : new Location[] {longer, later}) {
      assertThatThrownBy(() -> reads.open(map, other)).hasMessageContaining("is not the file");
    }
    Files.move(output, local.resolve("elsewhere"));
    Files.createSymbolicLink(output, local.resolve("elsewhere"));
    assertThatThrownBy(() -> reads.open(map, right)).hasMessageContaining("is not the file");
  }

  @Test
  void onlyOutputsOfTheReducersJobAreRead() throws IOException {
    Path output = node.write(0, LARGE, 0, 0);
    SharedReads reads = reads(100);
    Location right = location(local.toString(), output);
    for (String map : new String[] {"attempt_1000_0002_m_000000_0", "../../../etc", "", "a/b"}) {
      assertThatThrownBy(() -> reads.open(map, right)).as(map).isInstanceOf(IOException.class);
    }
    for (String root : new String[] {"", ".", "relative", local + "/", local + "/x/..", "//" + local, "/\0"}) {
      assertThatThrownBy(() -> reads.open(ShuffleNode.map(0), location(root, output))).as(root)
          .isInstanceOf(IOException.class);
    }
  }

  /** Files that vanish, shrink or are replaced at random points: what is read is right, or is an error. */
  @Test
  void whateverHappensToFilesBytesAreRightOrTheFetchFails() throws IOException {
    int failed = 0;
    for (int seed = 0; seed < 60; seed++) {
      Random random = new Random(seed);
      int first = 3 * seed; // the server remembers where parts of an output are
      for (int map = first; map < first + 3; map++) {
        node.write(map, 1 + random.nextInt(3 * PACKET), random.nextInt(100), 0);
      }
      URL url = url(0, first, first + 1, first + 2);
      byte[] expected = stock(url);
      RdmaShuffleConnection connection = connection(url, reads(100));
      connection.connect();
      ByteArrayOutputStream got = new ByteArrayOutputStream();
      try (InputStream in = connection.getInputStream()) {
        byte[] bytes = new byte[1 + random.nextInt(2 * PACKET)];
        for (int reads = random.nextInt(8); reads > 0; reads--) {
          got.write(bytes, 0, Math.max(0, in.read(bytes)));
        }
        hurt(first + random.nextInt(3), random);
        got.write(readAll(in));
        assertThat(got.toByteArray()).as("seed %d", seed).isEqualTo(expected);
      } catch (IOException e) {
        failed++;
        assertThat(got.toByteArray()).as("seed %d", seed).isEqualTo(Arrays.copyOf(expected, got.size()));
      }
      connection.release();
    }
    assertThat(failed).isBetween(5, 59);
  }

  private void hurt(int map, Random random) throws IOException {
    Path folder = local.resolve("usercache/" + USER + "/appcache/application_1000_0001/output/"
        + ShuffleNode.map(map));
    Path output = folder.resolve("file.out");
    int size = (int) Files.size(output);
    switch (random.nextInt(3)) {
      case 0:
        Files.delete(output);
        break;
      case 1:
        try (FileChannel file = FileChannel.open(output, StandardOpenOption.WRITE)) {
          file.truncate(random.nextInt(size));
        }
        break;
      default:
        byte[] other = new byte[size];
        random.nextBytes(other);
        Path replacement = Files.write(folder.resolve("other"), other);
        Files.setLastModifiedTime(replacement, FileTime.fromMillis(1_000_000L));
        Files.move(replacement, output, StandardCopyOption.REPLACE_EXISTING);
        break;
    }
  }

  private static Location location(String root, Path output) throws IOException {
    return new Location(root, 0, Files.size(output), Files.getLastModifiedTime(output).toMillis());
  }

  @Test
  void disconnectingEndsReads() throws IOException {
    node.write(0, 10 << 20, 0, 0);
    RdmaShuffleConnection connection = connection(url(0, 0), reads(100));
    InputStream in = connection.getInputStream();
    assertThat(in.read(new byte[100])).isPositive();
    connection.disconnect();
    assertThatThrownBy(() -> readAll(in)).isInstanceOf(IOException.class);
    connection.release();
  }
}

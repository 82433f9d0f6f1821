package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TrafficTest {
  private static final String RPC = "{'name': 'Hadoop:service=NameNode,name=RpcActivityForPort8020', "
      + "'RpcProcessingTimeNumOps': 100, 'ReceivedBytes': 3000, 'SentBytes': 1000}";
  private static final String ADMIN = "{'name': 'Hadoop:service=NameNode,name=RpcActivityForPort8030', "
      + "'RpcProcessingTimeNumOps': 10, 'ReceivedBytes': 100, 'SentBytes': 100}";

  @TempDir
  private Path folder;
  private final Traffic traffic = new Traffic();

  private static DaemonCounts daemon(String... beans) {
    JsonArray all = new JsonParser().parse("[" + String.join(",", beans).replace('\'', '"') + "]").getAsJsonArray();
    return new DaemonCounts("namenode", all);
  }

  private static String upgrade(String counts, String reasons, String state) {
    return "{'name': 'io.howdah:type=Upgrade', 'Counts': [" + counts + "], 'Reasons': [" + reasons
        + "], 'States': [{'key': 'rpc', 'value': '" + state + "'}, {'key': 'hdfs', 'value': '" + state
        + "'}, {'key': 'shuffle', 'value': '" + state + "'}]}";
  }

  private static String entry(String key, long value) {
    return "{'key': '" + key + "', 'value': " + value + "}";
  }

  @Test
  void whatTheEngineDidNotCarryWentOverSockets() {
    traffic.add(daemon(RPC, ADMIN, "{'name': 'Hadoop:service=NameNode,name=HowdahRpc', 'ServerSockets': 4}",
        upgrade(entry("rpc.server.shm.calls", 70) + "," + entry("rpc.server.shm.bytes", 2048) + ","
            + entry("rpc.server.shm.connections", 3) + "," + entry("rpc.client.shm.calls", 9), "", "auto: libhowdah")));
    assertThat(traffic.toString()).isEqualTo("TRAFFIC  OVER     CALLS  BYTES   CONNECTIONS\n"
        + "RPC      shm      70     2.0 KB  3\nRPC      sockets  40     2.1 KB  4\n");
    assertThat(traffic.idle()).isEmpty();
  }

  @Test
  void hostsMayCountSocketsThemselves() {
    traffic.add(daemon(RPC, upgrade(entry("rpc.server.tcp.calls", 5) + "," + entry("rpc.server.verbs.calls", 6), "",
        "true: libhowdah")));
    assertThat(traffic.calls(TrafficKind.RPC, "sockets")).isEqualTo(5);
    assertThat(traffic.calls(TrafficKind.RPC, "verbs")).isEqualTo(6);
  }

  @Test
  void aDaemonWithoutOursServesOverSockets() {
    traffic.add(daemon("{'name': 'Hadoop:service=DataNode,name=DataNodeActivity-h-1', 'WriteBlockOpNumOps': 7, "
        + "'BytesWritten': 70, 'ReadBlockOpNumOps': 8, 'BytesRead': 80}"));
    assertThat(traffic.calls(TrafficKind.HDFS_WRITES, "sockets")).isEqualTo(7);
    assertThat(traffic.calls(TrafficKind.HDFS_READS, "sockets")).isEqualTo(8);
    assertThat(traffic.idle()).isEmpty();
  }

  @Test
  void anEngineThatCarriesNothingIsNamed() {
    traffic.add(daemon(RPC, upgrade("", "", "auto: libhowdah 0.1.0")));
    assertThat(traffic.idle()).containsExactly("the engine was there and carried nothing of: RPC");
  }

  @Test
  void theShuffleIsCountedByNodeManagersWhateverTheTransport() {
    traffic.expect(TrafficKind.SHUFFLE);
    assertThat(traffic.idle()).isEmpty();
    traffic.add(daemon(upgrade("", "", "auto: libhowdah")));
    assertThat(traffic.idle()).containsExactly("the engine was there and carried nothing of: MapReduce shuffle");
    traffic.add(daemon(upgrade(entry("shuffle.server.tcp.calls", 2) + "," + entry("shuffle.read.shm.calls", 2), "",
        "auto: libhowdah")));
    assertThat(traffic.calls(TrafficKind.SHUFFLE, "sockets")).isEqualTo(2);
    assertThat(traffic.idle()).hasSize(1);
    traffic.add(daemon(upgrade(entry("shuffle.server.shm.calls", 3), "", "auto: libhowdah")));
    assertThat(traffic.calls(TrafficKind.SHUFFLE, "shm")).isEqualTo(3);
    assertThat(traffic.idle()).isEmpty();
  }

  @Test
  void anEngineThatIsOffOrUnusableIsNotExpectedToCarryAnything() {
    traffic.add(daemon(RPC, upgrade("", "", "false: hadoop.rdma.enabled=false")));
    traffic.add(daemon(RPC, upgrade("", entry("rpc: no libhowdah", 3), "auto: sockets, since no libhowdah")));
    traffic.add(daemon(RPC, upgrade("", entry("rpc: no libhowdah", 2), "auto: sockets, since no libhowdah")));
    assertThat(traffic.idle()).isEmpty();
    assertThat(traffic.toString()).contains("sockets 5 times: rpc: no libhowdah");
  }

  @Test
  void sparksProcessesSayAtTheirEndWhatTheyFetched() throws IOException {
    Path log = Files.createDirectories(folder.resolve("application_1/container_1")).resolve("stderr");
    Files.write(log, ("INFO spark: Block transfer fetched 5 blocks of 500 bytes over the engine (2 requests, 0 "
        + "failures) and 1 of 10 bytes over Netty; uploaded 0 and 0; served 4 of 400 bytes (1 requests, 0 refused, "
        + "0 waits for memory); 2 sessions, 0 fallbacks, over shm\n").getBytes(StandardCharsets.UTF_8));
    SparkLogs.addContainers(folder, traffic);
    assertThat(traffic.calls(TrafficKind.SPARK, "shm")).isEqualTo(5);
    assertThat(traffic.calls(TrafficKind.SPARK, "sockets")).isEqualTo(1);
    assertThat(traffic.idle()).isEmpty();
    Files.write(log, ("WARN spark: Block transfer uses Netty: no libhowdah\nBlock transfer fetched 0 blocks of 0 bytes "
        + "over the engine (0 requests, 0 failures) and 9 of 90 bytes over Netty; 0 sessions, 1 fallbacks\n")
        .getBytes(StandardCharsets.UTF_8));
    Traffic without = new Traffic();
    SparkLogs.add(log, without);
    assertThat(without.idle()).isEmpty();
    assertThat(without.toString()).contains("sockets 1 times: spark: no libhowdah");
  }

  @Test
  void asJson() {
    traffic.add(TrafficKind.SHUFFLE, "verbs", 1, 2, 3);
    traffic.reason(TrafficKind.SHUFFLE, "why", 4);
    JsonObject json = traffic.json();
    assertThat(json.getAsJsonArray("rows").get(0).toString()).isEqualTo(
        "{\"traffic\":\"MapReduce shuffle\",\"transport\":\"verbs\",\"calls\":1,\"bytes\":2,\"connections\":3}");
    assertThat(json.getAsJsonObject("fallbacks").get("shuffle: why").getAsLong()).isEqualTo(4);
  }
}

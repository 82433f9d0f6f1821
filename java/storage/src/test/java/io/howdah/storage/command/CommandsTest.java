package io.howdah.storage.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.ConnectException;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.junit.jupiter.api.Test;

/** What howdah blocks and howdah storage print, and with which words they fail. */
class CommandsTest {
  private interface Run {
    void run() throws IOException;
  }

  private static String printed(Run run) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    PrintStream before = System.out;
    System.setOut(new PrintStream(out, true, "UTF-8"));
    try {
      run.run();
    } finally {
      System.setOut(before);
    }
    return out.toString("UTF-8");
  }

  @Test
  void aNameNodeThatDoesNotRunIsNamedInASentence() throws IOException {
    int port;
    try (ServerSocket free = new ServerSocket(0)) {
      port = free.getLocalPort();
    }
    assertThatThrownBy(() -> Hdfs.of(new Path("hdfs://localhost:" + port + "/")).getFileStatus(new Path("/file")))
        .satisfies(e -> assertThat(Words.reason((Exception) e)).isEqualTo("the NameNode localhost:" + port
            + " does not answer (Connection refused): is it running?"));
  }

  @Test
  void reasonsAreOneLineAndSaidOnce() {
    assertThat(Words.reason(new ConnectException("Connection refused (Connection refused)")))
        .isEqualTo("Connection refused");
    assertThat(Words.reason(new IOException("one\ntwo"))).isEqualTo("one");
    assertThat(Words.reason(new IOException())).isEqualTo("java.io.IOException");
    assertThat(Words.reason(new UnknownHostException("nobody"))).isEqualTo("there is no host nobody");
    assertThat(Words.reason(new IllegalArgumentException(new UnknownHostException("nobody"))))
        .isEqualTo("there is no host nobody");
    assertThat(Words.reason(new IOException("Failed on local exception; For more details see:  http://wiki.x/y")))
        .isEqualTo("Failed on local exception");
    assertThat(Words.reason(new IOException("No Route to Host from  a/1.2.3.4 to b:8020 failed on socket timeout "
        + "exception: java.net.NoRouteToHostException: No route to host; For more details see:  http://wiki.x/y")))
        .isEqualTo("the NameNode b:8020 does not answer (No route to host): is it running?");
  }

  @Test
  void oneIsNoPlural() {
    assertThat(Words.count(0, "block")).isEqualTo("0 blocks");
    assertThat(Words.count(1, "block")).isEqualTo("1 block");
    assertThat(Words.count(2, "block")).isEqualTo("2 blocks");
  }

  private static JsonObject block(List<String> lines) {
    JsonObject replica = new JsonObject();
    replica.addProperty("datanode", "there:2");
    BlocksCommand.describe(replica, lines, Collections.singletonMap("uuid", "here:1"));
    JsonObject block = new JsonParser().parse("{block: blk_7, replicas: []}").getAsJsonObject();
    block.getAsJsonArray("replicas").add(replica);
    return block;
  }

  @Test
  void aKeeperSaysWhoseCopyItServes() throws IOException {
    String line = "BP-1\tFINALIZED\tARCHIVE\t-";
    JsonObject known = block(Arrays.asList(line, "serves\tuuid"));
    assertThat(printed(() -> BlocksCommand.print(known))).contains("  there:2  ARCHIVE, serves the copy of here:1");
    assertThat(known.toString()).contains("\"servesCopyOf\":\"here:1\"");
    JsonObject gone = block(Arrays.asList(line, "serves\tanother"));
    assertThat(printed(() -> BlocksCommand.print(gone))).contains("ARCHIVE, serves the copy of another");
    JsonObject own = block(Collections.singletonList(line));
    assertThat(printed(() -> BlocksCommand.print(own))).doesNotContain("serves");
  }

  @Test
  void whatADataNodeServesIsSaidOfBlocksAndDataNodes() throws IOException {
    JsonObject node = new JsonParser().parse("{datanode: 'here:1', tiers: {}, mode: 'HHH-L', ramFilled: 0, "
        + "ramCapacity: 0, ramLowMark: 0, copiesInRam: 1, copiesInRamBytes: 0, readsFromRam: 0, reads: 1, moves: 1, "
        + "movedBytes: 0, movesInFlight: 0, failures: 1, shared: 1, sharedBytes: 0, sharedOnly: 0, unshared: 0, "
        + "unsharedBytes: 0, kept: 3, keptOwners: 2, sharedPathSilence: 0}").getAsJsonObject();
    String text = printed(() -> StorageCommand.print(node));
    assertThat(text).contains("serves 3 blocks of 2 other DataNodes;").contains("shared    1 block (")
        .contains("1 copy (").contains("of 1 read").contains("1 replica (").contains("1 failure\n");
  }

  @Test
  void noBlocksAreAnEmptyListInJson() throws IOException {
    assertThat(printed(() -> Unpersisted.print(new DatanodeInfo[0], true))).isEqualTo("[]\n");
    assertThat(printed(() -> Unpersisted.print(new DatanodeInfo[0], false))).isEmpty();
  }

  @Test
  void aSharedPathIsOfItsModeOnly() throws IOException {
    Configuration conf = new Configuration(false);
    assertThatThrownBy(() -> SharedImport.settings(conf)).hasMessageStartingWith("the cluster is not in the storage "
        + "mode HHH-L (dfs.rdma.hhh.mode is not set)");
    conf.set("dfs.rdma.hhh.mode", "Default");
    assertThatThrownBy(() -> SharedImport.settings(conf)).hasMessageStartingWith("the cluster is not in the storage "
        + "mode HHH-L (dfs.rdma.hhh.mode=Default)");
    conf.set("dfs.rdma.hhh.mode", "Lustre");
    assertThatThrownBy(() -> SharedImport.settings(conf)).hasMessageStartingWith("dfs.rdma.lustre.path is not set");
    conf.set("dfs.rdma.hhh.mode", "");
    conf.set("dfs.rdma.lustre.path", "/lustre");
    assertThat(SharedImport.settings(conf).path()).hasToString("/lustre"); // what was left when the mode was
  }
}

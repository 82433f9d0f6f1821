package org.apache.hadoop.hdfs.net;

import static org.apache.hadoop.hdfs.net.RdmaTestCluster.bytes;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.forced;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.off;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.read;
import static org.apache.hadoop.hdfs.net.RdmaTestCluster.write;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DFSTestUtil;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.test.GenericTestUtils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Blocks that are written to all replicas at once. */
@Timeout(900)
class RdmaParallelTest {
  private static final int MB = 1 << 20;

  private final long before = RdmaMetrics.get().clientParallelBlocks().value();

  private static Configuration parallel(Configuration conf) {
    conf.setBoolean("dfs.replication.parallel.enabled", true);
    return conf;
  }

  private long blocks() {
    return RdmaMetrics.get().clientParallelBlocks().value() - before;
  }

  /** Looks into the DataNodes' folders. */
  private static void assertEveryReplicaHolds(RdmaTestCluster hdfs, Path path, byte[] expected, int replicas)
      throws Exception {
    try (FileSystem fs = hdfs.client(off())) {
      DFSTestUtil.waitReplication(fs, path, (short) replicas);
      ExtendedBlock block = DFSTestUtil.getFirstBlock(fs, path);
      int found = 0;
      for (int i = 0; i < 4; i++) { // those that were stopped too: what they have is not finalized
        java.io.File file = hdfs.cluster.getBlockFile(i, block);
        if (file != null && file.exists()) {
          assertThat(Files.readAllBytes(file.toPath())).isEqualTo(expected);
          found++;
        }
      }
      assertThat(found).isEqualTo(replicas);
    }
  }

  @Test
  void everyReplicaHasTheBytes() throws Exception {
    Configuration encrypted = forced();
    encrypted.setBoolean("dfs.encrypt.data.transfer", true);
    encrypted.setBoolean("dfs.block.access.token.enable", true);
    for (Configuration conf : Arrays.asList(forced(), off(), encrypted)) {
      try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, parallel(conf)); FileSystem fs = hdfs.client(conf)) {
        long start = blocks();
        for (int size : new int[] {1, 512, 65_537, MB}) {
          Path path = write(fs, size, 3);
          assertThat(read(fs, path, size)).isEqualTo(bytes(size));
          if (conf != encrypted) { // who looks into the folders has no key
            assertEveryReplicaHolds(hdfs, path, bytes(size), 3);
          }
        }
        Path large = write(fs, 3 * MB + 77, 2);
        assertThat(read(fs, large, 3 * MB + 77)).isEqualTo(bytes(3 * MB + 77));
        assertThat(blocks() - start).isEqualTo(8);
        write(fs, MB, 1); // has no other node
        assertThat(blocks() - start).isEqualTo(8);
        assertThat(hdfs.fallbacks()).isZero();
      }
    }
  }

  @Test
  void whatIsFlushedAndAppendedIsOnEveryReplica() throws Exception {
    byte[] expected = bytes(MB / 2);
    Configuration conf = parallel(forced());
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, conf); FileSystem fs = hdfs.client(conf)) {
      Path path = new Path("/growing");
      fs.create(path).close();
      int at = 0;
      for (int n : new int[] {1, 100, 70_000, 511, expected.length}) {
        try (FSDataOutputStream out = fs.append(path)) {
          int end = Math.min(expected.length, at + n);
          out.write(expected, at, end - at);
          at = end;
          out.hsync();
          assertThat(read(fs, path, at)).isEqualTo(Arrays.copyOf(expected, at));
        }
        // A NameNode that has not heard of all replicas yet has the next append copy one to a node that has it.
        DFSTestUtil.waitReplication(fs, path, (short) 3);
      }
      assertEveryReplicaHolds(hdfs, path, expected, 3);
      assertThat(blocks()).isEqualTo(5);
    }
  }

  @Test
  void aWriteSurvivesAnyOfItsReplicas() throws Exception {
    byte[] expected = bytes(MB);
    Configuration conf = parallel(forced());
    conf.setInt("dfs.client.socket-timeout", 20_000);
    for (int victim = 0; victim < 3; victim++) {
      try (RdmaTestCluster hdfs = RdmaTestCluster.of(4, conf); FileSystem fs = hdfs.client(conf)) {
        Path path = new Path("/survivor");
        try (FSDataOutputStream out = fs.create(path, true, 4096, (short) 3, 2 * MB)) {
          out.write(expected, 0, MB / 2);
          out.hflush();
          String[] pipeline = fs.getFileBlockLocations(path, 0, 1)[0].getNames();
          assertThat(hdfs.cluster.stopDataNode(pipeline[victim])).isNotNull();
          out.write(expected, MB / 2, MB / 2);
        }
        assertThat(read(fs, path, MB)).isEqualTo(expected);
        assertEveryReplicaHolds(hdfs, path, expected, 3);
      }
    }
  }

  @Test
  void aNodeThatIsNotThereIsReplaced() throws Exception {
    Configuration conf = parallel(forced());
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(4, conf); FileSystem fs = hdfs.client(conf)) {
      List<DataNodeProperties> stopped = new ArrayList<>();
      stopped.add(hdfs.cluster.stopDataNode(0)); // the NameNode does not know yet
      for (int i = 0; i < 4; i++) {
        Path path = write(fs, MB, 3);
        assertThat(read(fs, path, MB)).isEqualTo(bytes(MB));
        assertEveryReplicaHolds(hdfs, path, bytes(MB), 3);
      }
      assertThat(stopped).doesNotContainNull();
    }
  }

  @Test
  void aNodeThatRestartsIsWaitedFor() throws Exception {
    byte[] expected = bytes(MB);
    Configuration conf = parallel(forced());
    try (RdmaTestCluster hdfs = RdmaTestCluster.of(3, conf); FileSystem fs = hdfs.client(conf)) {
      Path path = new Path("/restarted");
      try (FSDataOutputStream out = fs.create(path, true, 4096, (short) 3, 2 * MB)) {
        out.write(expected, 0, MB / 2);
        out.hflush();
        DataNode node = hdfs.cluster.getDataNodes().get(1);
        node.shutdownDatanode(true); // says so to its writers
        // Two who shut a DataNode down at a time trip over each other, and it looks down before the first is done.
        GenericTestUtils.waitForThreadTermination("Async datanode shutdown thread", 50, 60_000);
        assertThat(hdfs.cluster.restartDataNode(1, true)).isTrue();
        out.write(expected, MB / 2, MB / 2);
        out.hflush();
        assertThat(fs.getFileBlockLocations(path, 0, 1)[0].getNames()).hasSize(3);
      }
      assertThat(read(fs, path, MB)).isEqualTo(expected);
      assertEveryReplicaHolds(hdfs, path, expected, 3);
    }
  }
}

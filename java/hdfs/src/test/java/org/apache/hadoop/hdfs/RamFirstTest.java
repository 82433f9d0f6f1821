package org.apache.hadoop.hdfs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.protocol.DatanodeID;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.hdfs.protocol.ExtendedBlock;
import org.apache.hadoop.hdfs.protocol.LocatedBlock;
import org.apache.hadoop.hdfs.server.protocol.DatanodeStorage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Which replica a reader asks for. */
@Timeout(300)
class RamFirstTest {
  private static final String MODE = "dfs.rdma.hhh.mode";

  private static DatanodeInfo node(String address, int transfers) {
    DatanodeInfo node =
        new DatanodeInfo(new DatanodeID(address, address, "uuid-" + address, 50010, 50075, 50475, 50020));
    node.setXceiverCount(transfers);
    return node;
  }

  private static LocatedBlock block(DatanodeInfo[] nodes, StorageType... types) {
    String[] ids = new String[nodes.length];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = DatanodeStorage.generateUuid();
    }
    return new LocatedBlock(new ExtendedBlock("pool", 1), nodes, ids, types);
  }

  /** Address and type of what a client's stream chooses among the locations of a block. */
  private static String chosen(String mode, LocatedBlock block) throws IOException {
    Configuration conf = new HdfsConfiguration();
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
    try {
      Configuration clients = new Configuration(cluster.getConfiguration(0));
      if (mode != null) {
        clients.set(MODE, mode);
      }
      DFSTestUtil.createFile(cluster.getFileSystem(), new Path("/file"), 1, (short) 1, 0);
      try (DFSClient client = new DFSClient(cluster.getURI(), clients); DFSInputStream in = client.open("/file")) {
        DFSInputStream.DNAddrPair pair = in.getBestNodeDNAddrPair(block, Collections.<DatanodeInfo>emptyList());
        return pair.info.getIpAddr() + " " + pair.storageType;
      }
    } finally {
      cluster.shutdown();
    }
  }

  private static LocatedBlock diskDiskRam(int transfers) {
    return block(new DatanodeInfo[] {node("10.9.9.1", 3), node("10.9.9.2", 4), node("10.9.9.3", transfers)},
        StorageType.DISK, StorageType.SSD, StorageType.RAM_DISK);
  }

  @Test
  void aReaderAsksForTheReplicaInRamFirst() throws IOException {
    LocatedBlock block = diskDiskRam(5);
    assertThat(chosen("hhh", block)).isEqualTo("10.9.9.3 RAM_DISK");
    assertThat(block.getLocations()).extracting(DatanodeID::getIpAddr)
        .containsExactly("10.9.9.3", "10.9.9.1", "10.9.9.2");
    assertThat(block.getStorageTypes()).containsExactly(StorageType.RAM_DISK, StorageType.DISK, StorageType.SSD);
  }

  @Test
  void withoutAModeTheOrderIsTheNameNodes() throws IOException {
    assertThat(chosen(null, diskDiskRam(5))).isEqualTo("10.9.9.1 DISK");
  }

  @Test
  void aReplicaOnTheReadersNodeStaysFirst() throws IOException {
    LocatedBlock block = block(new DatanodeInfo[] {node("127.0.0.1", 3), node("10.9.9.3", 3)}, StorageType.DISK,
        StorageType.RAM_DISK);
    assertThat(chosen("hhh", block)).isEqualTo("127.0.0.1 DISK");
  }

  @Test
  void aNodeThatServesFarMoreThanTheOthersKeepsItsPlace() throws IOException {
    assertThat(chosen("hhh", diskDiskRam(14))).isEqualTo("10.9.9.3 RAM_DISK");
    assertThat(chosen("hhh", diskDiskRam(15))).isEqualTo("10.9.9.1 DISK");
  }

  @Test
  void aNodeThatLeavesTheClusterKeepsItsPlace() throws IOException {
    LocatedBlock block = diskDiskRam(3);
    block.getLocations()[2].startDecommission();
    assertThat(chosen("hhh", block)).isEqualTo("10.9.9.1 DISK");
  }
}

package org.apache.hadoop.hdfs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.StorageType;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.datanode.StorageLocation;
import org.junit.jupiter.api.Test;

class StorageTagsTest {
  @Test
  void aDataNodeTakesTheTagsOfHiBD() throws Exception {
    Configuration conf = new Configuration();
    conf.set("dfs.datanode.data.dir", "[RAM_DISK]/a,[SSD_DISK]/b,[ssd_disk]file:///c,[DISK]/[SSD_DISK],[SSD]/e,/f");
    List<StorageLocation> folders = DataNode.getStorageLocations(conf);
    assertThat(folders.stream().map(StorageLocation::getStorageType).collect(Collectors.toList())).containsExactly(
        StorageType.RAM_DISK, StorageType.SSD, StorageType.SSD, StorageType.DISK, StorageType.SSD, StorageType.DISK);
    assertThat(folders.get(3).getFile().getPath()).isEqualTo("/[SSD_DISK]");
  }

  @Test
  void aTagThatIsMistypedIsRefusedWithTheRemedy() {
    Configuration conf = new Configuration();
    conf.set("dfs.datanode.data.dir", "[DISK]/a,[RAM]/dev/shm/b");
    assertThatThrownBy(() -> DataNode.getStorageLocations(conf)).isInstanceOf(IllegalArgumentException.class)
        .hasMessage("dfs.datanode.data.dir has [RAM]/dev/shm/b, and there is no type of storage RAM: tag the folder "
            + "[RAM_DISK], [SSD], [DISK] or [ARCHIVE]");
  }
}

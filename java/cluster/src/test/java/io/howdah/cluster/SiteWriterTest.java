package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SiteWriterTest {
  @TempDir
  private Path folder;
  private Tree tree;
  private ClusterDir dir;

  @BeforeEach
  void makeTree() throws IOException {
    tree = new Tree(folder.resolve("tree"));
    dir = new ClusterDir(folder.resolve("a cluster"));
    write(folder.resolve("tree/etc/hadoop/core-site.xml"),
        "<configuration><property><name>hadoop.http.staticuser.user</name><value>nobody</value></property>"
        + "<property><name>fs.defaultFS</name><value>file:///</value></property></configuration>");
    write(folder.resolve("tree/etc/spark/spark-defaults.conf"), "# shipped\nspark.acls.enable false\n");
  }

  private static void write(Path file, String text) throws IOException {
    Files.createDirectories(file.getParent());
    Files.write(file, text.getBytes(StandardCharsets.UTF_8));
  }

  private Map<String, String> written(ClusterSpec spec, String file) throws IOException {
    Ports ports = new Ports(Collections.emptyMap());
    ports.assign(spec.daemons(), Collections.emptyMap());
    SiteDefaults defaults = new SiteDefaults(spec, ports, new StorageFolders(spec, "id"), tree.home(),
        folder.resolve("alias"));
    new SiteWriter(tree, spec, defaults).write(dir.conf());
    return SiteFile.read(dir.conf().resolve(file)).properties();
  }

  @Test
  void laterLayersWin() throws IOException {
    write(folder.resolve("mine/hdfs-site.xml"), "<configuration>"
        + "<property><name>dfs.replication</name><value>2</value></property>"
        + "<property><name>dfs.blocksize</name><value>1m</value></property></configuration>");
    ClusterSpec spec = new ClusterSpec().conf(folder.resolve("mine")).site("dfs.blocksize", "2m");
    assertThat(written(spec, "hdfs-site.xml"))
        .containsEntry("dfs.replication", "2").containsEntry("dfs.blocksize", "2m");
    Map<String, String> core = written(spec, "core-site.xml");
    assertThat(core).containsEntry("hadoop.http.staticuser.user", "nobody");
    assertThat(core.get("fs.defaultFS")).startsWith("hdfs://localhost:");
  }

  @Test
  void aDaemonsOwnFolderSaysWhatOnlyItNeeds() throws IOException {
    Map<String, String> clients = written(new ClusterSpec(), "hdfs-site.xml");
    assertThat(clients).doesNotContainKey("dfs.datanode.data.dir");
    Map<String, String> second = SiteFile.read(dir.conf().resolve("datanode-2/hdfs-site.xml")).properties();
    assertThat(second.get("dfs.datanode.data.dir")).startsWith("file:///").endsWith("/alias/data/datanode-2");
  }

  @Test
  void propertiesGoToTheFileOfTheirFamily() {
    assertThat(SiteFiles.fileOf("dfs.rdma.hhh.mode")).isEqualTo("hdfs-site.xml");
    assertThat(SiteFiles.fileOf("yarn.app.mapreduce.am.resource.mb")).isEqualTo("mapred-site.xml");
    assertThat(SiteFiles.fileOf("yarn.scheduler.minimum-allocation-mb")).isEqualTo("yarn-site.xml");
    assertThat(SiteFiles.fileOf("yarn.scheduler.capacity.root.queues")).isEqualTo("capacity-scheduler.xml");
    assertThat(SiteFiles.fileOf("hadoop.ib.enabled")).isEqualTo("core-site.xml");
  }

  @Test
  void sparkPropertiesGoToSpark() throws IOException {
    written(new ClusterSpec().site("spark.executor.memory", "1g"), "core-site.xml");
    assertThat(Files.readAllLines(dir.conf().resolve("spark-defaults.conf")))
        .contains("spark.acls.enable false", "spark.executor.memory 1g", "spark.master yarn");
  }

  @Test
  void aStockClusterHasThePlainTemplateOverTheUsersFiles() throws IOException {
    write(folder.resolve("tree/share/conf-templates/plain/core-site.xml"),
        "<configuration><property><name>x.on</name><value>false</value></property></configuration>");
    write(folder.resolve("mine/core-site.xml"),
        "<configuration><property><name>x.on</name><value>true</value></property></configuration>");
    ClusterSpec spec = new ClusterSpec().conf(folder.resolve("mine")).stock(true);
    assertThat(written(spec, "core-site.xml")).containsEntry("x.on", "false");
    assertThat(written(spec.stock(false), "core-site.xml")).containsEntry("x.on", "true");
  }

  @Test
  void aFolderWithoutSiteFilesIsRefused() throws IOException {
    Files.createDirectories(folder.resolve("empty"));
    assertThatThrownBy(() -> written(new ClusterSpec().conf(folder.resolve("empty")), "core-site.xml"))
        .isInstanceOf(ClusterException.class).hasMessageContaining("core-site.xml");
  }
}

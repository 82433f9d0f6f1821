package io.howdah.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LauncherTest {
  @TempDir
  private Path folder;

  /** A tree whose hdfs command says how it was called and then sleeps. */
  private Tree tree() throws IOException {
    Path hdfs = folder.resolve("a tree/bin/hdfs");
    Files.createDirectories(hdfs.getParent());
    Files.write(hdfs, ("#!/bin/bash\necho \"$1|$HADOOP_CONF_DIR|$HADOOP_NAMENODE_OPTS\"\nexec sleep 60\n")
        .getBytes(StandardCharsets.UTF_8));
    Files.setPosixFilePermissions(hdfs, PosixFilePermissions.fromString("rwxr-xr-x"));
    return new Tree(folder.resolve("a tree"));
  }

  @Test
  void aDaemonIsKnownByTheRecordThatItWrote() throws Exception {
    ClusterDir dir = new ClusterDir(folder.resolve("a cluster"));
    dir.create();
    DaemonId id = DaemonId.of(DaemonKind.NAMENODE);
    PidRecord record = new Launcher(tree(), dir, new ClusterSpec(), "id1").launch(id);
    try {
      assertThat(record.isAlive()).isTrue();
      while (Leftovers.of("id1").isEmpty() || !Files.exists(dir.log(id)) || Files.size(dir.log(id)) == 0) {
        Thread.sleep(10);
      }
      assertThat(Leftovers.of("id1")).extracting(PidRecord::pid).containsExactly(record.pid());
      assertThat(new String(Files.readAllBytes(dir.log(id)), StandardCharsets.UTF_8))
          .startsWith("namenode|" + dir.conf(id) + "|-Xmx512m");
    } finally {
      Stopper stopper = new Stopper(dir, new Progress(System.out));
      assertThat(stopper.stop(new ClusterSpec().daemons(), "id1", true)).isEqualTo(1);
    }
    assertThat(record.isAlive()).isFalse();
    assertThat(dir.pid(id)).doesNotExist();
  }

  @Test
  void anotherInstallationsVariablesAreDropped() {
    Map<String, String> env = new HashMap<>();
    env.put("HADOOP_HOME", "/elsewhere");
    env.put("SPARK_CONF_DIR", "/elsewhere");
    env.put("HADOOP_DATANODE_OPTS", "-Dmine");
    env.put("HOWDAH_CHUNK_SIZE", "1m");
    Launcher.cleanEnvironment(env);
    assertThat(env).containsOnlyKeys("HADOOP_DATANODE_OPTS", "HOWDAH_CHUNK_SIZE");
  }
}

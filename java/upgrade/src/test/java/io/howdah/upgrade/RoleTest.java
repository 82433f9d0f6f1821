package io.howdah.upgrade;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a process finds out what it is. */
class RoleTest {
  private static final Map<String, String> NOTHING = Collections.emptyMap();

  @ParameterizedTest
  @CsvSource({
      "org.apache.hadoop.hdfs.server.namenode.NameNode -format, DAEMON",
      "org.apache.hadoop.hdfs.server.datanode.DataNode, DAEMON",
      "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager, DAEMON",
      "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer, DAEMON",
      "io.howdah.mapreduce.JobHistoryServer, DAEMON",
      "org.apache.spark.deploy.worker.Worker --port 1, DAEMON",
      "org.apache.spark.deploy.history.HistoryServer, DAEMON",
      "org.apache.spark.deploy.SparkSubmit --class NameNode, COMMAND",
      "org.apache.hadoop.fs.FsShell -ls /, COMMAND",
      "com.example.NameNode, COMMAND",
      "org.apache.hadoop.mapred.YarnChild 127.0.0.1, TASK",
      "org.apache.spark.executor.CoarseGrainedExecutorBackend --driver-url x, TASK",
      "'', COMMAND",
  })
  void byMainClass(String command, Role role) {
    assertThat(Role.of(null, command, NOTHING)).isEqualTo(role);
  }

  @Test
  void thePropertyDecides() {
    assertThat(Role.of("daemon", "org.apache.hadoop.fs.FsShell", NOTHING)).isEqualTo(Role.DAEMON);
    assertThat(Role.of("command", "org.apache.hadoop.hdfs.server.namenode.NameNode", NOTHING)).isEqualTo(Role.COMMAND);
  }

  @Test
  void containersOfYarnAreTasks() {
    assertThat(Role.of(null, "any.Thing", Collections.singletonMap("CONTAINER_ID", "container_1")))
        .isEqualTo(Role.TASK);
  }
}

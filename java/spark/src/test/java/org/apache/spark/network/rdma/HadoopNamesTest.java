package org.apache.spark.network.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.deploy.SparkSubmitArguments;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.collection.JavaConverters;
import scala.collection.immutable.Map$;

/** What spark-submit makes of properties that do not begin with "spark.". */
class HadoopNamesTest {
  @TempDir
  Path folder;

  private Map<String, String> submit(String... arguments) throws Exception {
    Path defaults = folder.resolve("spark-defaults.conf");
    Files.write(defaults, Arrays.asList("hadoop.ib.enabled false", "hadoop.roce.enabled false",
        "hadoop.rdma.enabled auto", "spark.hadoop.hadoop.rdma.chunk.size 64k", "hadoop.rdma.chunk.size 1m",
        "dfs.replication 7"));
    String[] all = Arrays.copyOf(arguments, arguments.length + 5);
    System.arraycopy(new String[] {"--properties-file", defaults.toString(), "--class", "A", "a.jar"}, 0, all,
        arguments.length, 5);
    SparkSubmitArguments parsed = new SparkSubmitArguments(
        JavaConverters.asScalaBufferConverter(Arrays.asList(all)).asScala(),
        Map$.MODULE$.<String, String>empty());
    return JavaConverters.mapAsJavaMapConverter(parsed.sparkProperties()).asJava();
  }

  @Test
  void thoseOfTheEngineAreKeptAndOthersDroppedAsEver() throws Exception {
    Map<String, String> options = submit("--conf", "hadoop.rdma.enabled=required");
    assertThat(options).containsEntry("spark.hadoop.hadoop.ib.enabled", "false")
        .containsEntry("spark.hadoop.hadoop.roce.enabled", "false")
        .containsEntry("spark.hadoop.hadoop.rdma.enabled", "required")
        .containsEntry("spark.hadoop.hadoop.rdma.chunk.size", "64k");
    assertThat(options.keySet()).allMatch(key -> key.startsWith("spark.")).noneMatch(key -> key.contains("dfs"));
  }
}

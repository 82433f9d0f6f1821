package io.howdah.bench.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.entry;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import io.howdah.bench.rpc.BenchException;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SparkReportTest {
  private static final String SUM = "2026-11-21 17:00:00,123 INFO spark: Block transfer fetched 20 blocks of 2097152 "
      + "bytes over the engine (3 requests, 0 failures) and 1 of 1048576 bytes over Netty; uploaded 0 and 0";

  @TempDir
  Path folder;

  private static String task(int wait, int gc, int remote) {
    return "{\"Event\":\"SparkListenerTaskEnd\",\"Task Metrics\":{\"JVM GC Time\":" + gc
        + ",\"Shuffle Read Metrics\":{\"Fetch Wait Time\":" + wait + ",\"Remote Bytes Read\":" + remote
        + ",\"Remote Blocks Fetched\":2}}}";
  }

  @Test
  void tasksAndExecutorsAreAddedUp() throws IOException {
    Path log = folder.resolve("events");
    Files.write(log, Arrays.asList("{\"Event\":\"SparkListenerJobStart\"}", task(1500, 200, 1 << 20),
        task(500, 100, 2 << 20), "{\"Event\":\"SparkListenerTaskEnd\",\"Task Metrics\":null}"));
    SparkSample sample = new SparkSample("ours", 1, "GroupBy", 2);
    sample.tasks(log);
    assertThat(sample.sum(SUM)).isTrue();
    assertThat(sample.sum(SUM)).isTrue();
    assertThat(sample.sum("something else")).isFalse();
    assertThat(SparkSample.sums(Arrays.asList(SUM, "", SUM))).isEqualTo(2);
    assertThat(sample.values).contains(entry("wait", 2.0), entry("remoteMb", 3.0), entry("remoteBlocks", 4.0),
        entry("engineMb", 4.0), entry("engineBlocks", 40.0), entry("nettyBlocks", 2.0), entry("nettyMb", 2.0));
    assertThat(sample.value("gc")).isBetween(0.299, 0.301);
  }

  private List<SparkSide> sides() throws IOException {
    Path command = Files.createDirectories(folder.resolve("bin")).resolve("spark-class");
    Files.write(command, new byte[0]);
    assertThat(command.toFile().setExecutable(true)).isTrue();
    return Arrays.asList(new SparkSide("ours", folder.toFile(), Collections.emptyList(), true, true),
        new SparkSide("netty", folder.toFile(), Collections.emptyList(), false, false));
  }

  @Test
  void sidesAreComparedByTheirMedians() throws IOException {
    SparkPlan plan = new SparkPlan();
    plan.jobs = Collections.singletonList("GroupBy");
    plan.executors = Collections.singletonList(2);
    plan.rounds = 3;
    List<SparkSample> samples = new ArrayList<>();
    for (int round = 1; round <= 3; round++) {
      for (SparkSide side : sides()) {
        SparkSample sample = new SparkSample(side.name, round, "GroupBy", 2);
        sample.values.put("seconds", (side.counted ? 1.0 : 2.0) * round);
        if (side.counted) {
          sample.sum(SUM);
        }
        samples.add(sample);
      }
    }
    SparkReport report = new SparkReport(plan, sides(), new LinkedHashMap<>(plan.conditions()), samples);
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    report.print(new PrintStream(text, true));
    assertThat(text.toString()).contains("1.00-3.00").contains("ours: -50.0 % time")
        .containsPattern("netty .* -\\s+-\n");
    JsonObject json = new Gson().fromJson(report.json(), JsonObject.class);
    assertThat(json.getAsJsonArray("samples")).hasSize(6);
    assertThat(json.getAsJsonObject("conditions").get("rounds").getAsInt()).isEqualTo(3);
  }

  @Test
  void aTreeWithoutSparkIsRefused() {
    File nothing = folder.resolve("nothing").toFile();
    assertThatThrownBy(() -> new SparkSide("reference", nothing, Collections.emptyList(), false, false))
        .isInstanceOf(BenchException.class).hasMessageContaining("nothing is not a tree with Spark");
  }
}

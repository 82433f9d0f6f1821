package io.howdah.bench.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
  @TempDir
  Path folder;

  private static SparkSample sample(String... lines) {
    SparkSample sample = new SparkSample("ours", 1, "GroupBy", 2);
    sample.read(Arrays.asList(lines));
    return sample;
  }

  private static SparkSample found(String result) {
    return sample("value seconds 1", "result " + result);
  }

  @Test
  void workersAreBoundInTurnAndFewerThanBindingsAreNot() {
    SparkPlan plan = new SparkPlan();
    assertThat(plan.bindingOf(1, 1)).isEmpty();
    plan.bindings = Arrays.asList("taskset -c 0", "numactl  --membind=1");
    assertThat(plan.bindingOf(1, 3)).containsExactly("taskset", "-c", "0");
    assertThat(plan.bindingOf(2, 3)).containsExactly("numactl", "--membind=1");
    assertThat(plan.bindingOf(3, 3)).containsExactly("taskset", "-c", "0");
    assertThat(plan.bindingOf(1, 1)).isEmpty();
  }

  @Test
  void whatAnApplicationWritesIsRead() {
    SparkSample sample = sample("value seconds 1.5", "value wait 0.25", "result pairs=3 sum=ff");
    assertThat(sample.value("seconds")).isEqualTo(1.5);
    assertThat(sample.value("wait")).isEqualTo(0.25);
    assertThat(sample.result).isEqualTo("pairs=3 sum=ff");
    assertThat(sample("value seconds 1", "result n=3 cost~1.00000000", "result n=3 cost~1.00000001").result)
        .isEqualTo("n=3 cost~1.00000000");
    assertThatThrownBy(() -> sample("value seconds 1", "result n=3 cost~1.000", "result n=3 cost~1.001"))
        .isInstanceOf(BenchException.class).hasMessageContaining("cost~1.001");
    assertThatThrownBy(() -> sample("result pairs=3")).isInstanceOf(BenchException.class)
        .hasMessageContaining("how long it took");
    assertThatThrownBy(() -> sample("value seconds 1")).hasMessageContaining("what it found");
    assertThatThrownBy(() -> sample("anything else")).hasMessageContaining("anything else");
  }

  @Test
  void resultsAgreeButForTheLastDigitsOfSums() {
    assertThat(found("n=3 cost~1.00000000").agreesWith(found("n=3 cost~1.00000001"))).isTrue();
    assertThat(found("n=3 cost~1.000").agreesWith(found("n=3 cost~1.001"))).isFalse();
    assertThat(found("n=3").agreesWith(found("n=4"))).isFalse();
    assertThat(found("n=3").agreesWith(found("n=3 more=1"))).isFalse();
    assertThat(found("cost~1.0").agreesWith(found("mean~1.0"))).isFalse();
  }

  @Test
  void aForcedTransportIsTheOnlyOne() {
    String[] rest = {"value seconds 1", "result n=1"};
    assertThat(sample("value remoteBlocks 4", "value engineBlocks 4", rest[0], rest[1]).cameOverEngine()).isTrue();
    assertThat(sample("value remoteBlocks 4", rest[0], rest[1]).cameOverEngine()).isFalse();
    assertThat(sample("value engineBlocks 4", "value nettyBlocks 1", rest[0], rest[1]).cameOverEngine()).isFalse();
    assertThat(sample("value engineBlocks 4", "value fallbacks 1", rest[0], rest[1]).cameOverEngine()).isFalse();
  }

  @Test
  void jobsHaveGroups() {
    assertThat(SparkJobs.named(Arrays.asList("shuffles"))).containsExactly("GroupBy", "SortBy", "TeraSort");
    assertThat(SparkJobs.named(Arrays.asList("all"))).hasSize(17);
    assertThat(SparkJobs.named(Arrays.asList("SVM", "workloads"))).hasSize(14).startsWith("SVM");
    assertThatThrownBy(() -> SparkJobs.named(Arrays.asList("Nothing"))).hasMessageContaining("no job Nothing");
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
          sample.values.put("engineMb", 4.0);
          sample.values.put("nettyMb", 0.0);
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
    assertThat(json.getAsJsonObject("conditions").get("applications").getAsInt()).isEqualTo(1);
    assertThat(json.getAsJsonObject("conditions").get("warm_up").getAsInt()).isEqualTo(1);
  }

  @Test
  void aTreeWithoutSparkIsRefused() {
    File nothing = folder.resolve("nothing").toFile();
    assertThatThrownBy(() -> new SparkSide("reference", nothing, Collections.emptyList(), false, false))
        .isInstanceOf(BenchException.class).hasMessageContaining("nothing is not a tree with Spark");
  }
}

package io.howdah.bench.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import io.howdah.bench.rpc.Sample.Case;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import org.junit.jupiter.api.Test;

class RpcReportTest {
  private final RpcPlan plan = new RpcPlan();
  private RpcRounds run;

  private RpcReport report() {
    plan.rounds = 3;
    plan.sizes = Arrays.asList(1, 1 << 20);
    plan.handlers = Arrays.asList(8, 16);
    plan.clients = Arrays.asList(1, 64);
    plan.loadSizes = Collections.singletonList(512);
    run = new RpcRounds(plan, Collections.emptyList(), System.err);
    for (Case what : RpcRounds.cases(plan)) {
      for (int round = 1; round <= plan.rounds; round++) {
        add("ours", what, round, 10 * round);
        add("reference", what, round, 40 * round);
      }
    }
    RpcReport report = new RpcReport(plan, RpcBench.Transport.SHM, new LinkedHashMap<>());
    report.take(run);
    return report;
  }

  private void add(String side, Case what, int round, double value) {
    Sample sample = new Sample(side, round, what);
    for (String name : new String[] {"mean", "p99", "rate", "count"}) {
      sample.values.put(name, value);
    }
    sample.used("Client", stats(0), stats(1000000), 10);
    run.samples().add(sample);
  }

  private static JsonObject stats(long value) {
    JsonObject stats = new JsonObject();
    stats.addProperty("cpu", value);
    stats.addProperty("allocated", value);
    return stats;
  }

  @Test
  void aRunThatGoesOnHasTheRoundsThatAreComplete() {
    report();
    run.samples().removeIf(sample -> sample.round == 3);
    RpcReport report = new RpcReport(plan, RpcBench.Transport.SHM, new LinkedHashMap<>());
    report.take(run);
    assertThat(report.conditions()).containsEntry("rounds", 2);
    assertThat(report.rounds("ours", RpcRounds.cases(plan).get(0), "mean")).containsExactly(10, 20);
  }

  @Test
  void medianAndSpreadAreOfTheRounds() {
    RpcReport report = report();
    Case first = RpcRounds.cases(plan).get(0);
    assertThat(report.median("ours", first, "mean")).isEqualTo(20);
    assertThat(report.rounds("reference", first, "mean")).containsExactly(40, 80, 120);
    assertThat(report.median("ours", first, "cpuClient")).isEqualTo(100);
    assertThat(report.median("ours", first, "heapClient")).isEqualTo(100000);
  }

  @Test
  void theTableComparesBothSides() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    report().print(new PrintStream(bytes, true, "UTF-8"));
    String text = bytes.toString("UTF-8");
    assertThat(text).contains("ours is better by 4.00 (mean) 4.00 (p99)").contains("-50/+50")
        .contains("ours is better by 0.25 (rate)");
  }

  @Test
  void theRatioIsOfRoundsThatBelongTogether() {
    RpcReport report = report();
    Case what = new Case("latency", plan.type, 99, 1, 8);
    add("ours", what, 1, 10);
    add("ours", what, 2, 100);
    add("ours", what, 3, 20);
    add("reference", what, 1, 30);
    add("reference", what, 2, 300);
    add("reference", what, 3, 90);
    assertThat(report.ratio(what, "mean")).isEqualTo(3);
  }

  @Test
  void handlersBesidesTheFirstAreMeasuredWithTheMostClients() {
    report();
    assertThat(RpcRounds.cases(plan)).extracting(Case::toString).contains(
        "throughput protobuf 512 B, clients 64, handlers 16").doesNotContain(
        "throughput protobuf 512 B, clients 1, handlers 16");
  }

  @Test
  void aForcedTransportThatCarriedNothingIsAFailure() {
    RpcReport report = report();
    assertThatThrownBy(() -> report.checkOverEngine("ours")).isInstanceOf(BenchException.class)
        .hasMessageContaining("did not go over the engine");
    run.samples().forEach(sample -> sample.values.put("engine", 2.0 * sample.bytes + 100));
    report.checkOverEngine("ours");
  }

  @Test
  void jsonAndPageHoldEverything() {
    RpcReport report = report();
    assertThat(report.json()).contains("\"calls_a_round\"").contains("\"1048576 B\": 1024").contains("\"round\": 3")
        .contains("\"measured_again\": 0");
    assertThat(new RpcPage(report).html()).contains("<svg").contains("Mean round trip of 1 B by round")
        .doesNotContain("http");
  }

  @Test
  void largePayloadsAreCalledLessOften() {
    assertThat(plan.iterations(1)).isEqualTo(20000);
    assertThat(plan.iterations(1 << 20)).isEqualTo(1024);
    plan.iterations = 10;
    assertThat(plan.iterations(32 << 20)).isEqualTo(10);
  }
}

package io.howdah.examples.spark.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.graphx.Edge;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The workloads, tiny, on Spark inside this process; what can be found out in another way is. */
class WorkloadsTest {
  private static final WorkloadSize SIZE = new WorkloadSize(3, 100, 64, 4, 0.002, 3);
  private static JavaSparkContext spark;

  @BeforeAll
  static void startSpark() {
    spark = new JavaSparkContext(new SparkConf().setMaster("local[2]").setAppName("test"));
  }

  @AfterAll
  static void stopSpark() {
    spark.stop();
  }

  private static Map<String, String> run(String name) throws Exception {
    return words(Workloads.named(name).prepare(spark, SIZE).call().toString());
  }

  private static Map<String, String> words(String outcome) {
    Map<String, String> words = new TreeMap<>();
    for (String word : outcome.split(" ")) {
      words.put(word.split("[=~]")[0], word.split("[=~]")[1]);
    }
    return words;
  }

  @ParameterizedTest
  @ValueSource(strings = {"GroupBy", "SortBy", "TeraSort", "WordCount", "Grep", "Sort", "NaiveBayes", "KMeans",
      "GaussianMixture", "SparseNaiveBayes", "SVM", "LogisticRegression", "PageRank", "ConnectedComponents",
      "Triangles", "SqlAggregation", "SqlJoin"})
  void theSameJobFindsTheSameAndSaysWhatItTook(String name) throws Exception {
    assertThat(Workloads.names()).contains(name);
    WorkloadDriver driver = new WorkloadDriver(spark, SIZE);
    Map<String, String> first = run(name);
    String[] lines = driver.run(name).toString().split("\n");
    Map<String, Double> values = new TreeMap<>();
    for (String line : lines) {
      if (line.startsWith("value ")) {
        values.put(line.split(" ")[1], Double.valueOf(line.split(" ")[2]));
      }
    }
    assertThat(values).containsKeys("seconds", "begin", "wait", "gc", "cpu", "heapMb", "moversHeapMb",
        "rssMb", "remoteMb");
    assertThat(values.get("heapMb")).isPositive();
    assertThat(values.get("tasks")).isPositive();
    assertThat(values.get("failedTasks")).isZero();
    assertThat(spark.getPersistentRDDs()).isEmpty();
    Map<String, String> again = words(lines[lines.length - 1].replaceFirst("result ", ""));
    assertThat(again.keySet()).isEqualTo(first.keySet());
    first.forEach((word, value) -> {
      if (value.matches("-?[0-9.]+e[-+][0-9]+")) {
        assertThat(Double.parseDouble(again.get(word)))
            .isCloseTo(Double.parseDouble(value), withinPercentage(1e-6));
      } else {
        assertThat(again.get(word)).isEqualTo(value);
      }
    });
  }

  @Test
  void pairsAreAllGroupedAndAllSorted() throws Exception {
    assertThat(run("GroupBy")).containsEntry("pairs", "300");
    assertThat(run("SortBy")).containsEntry("count", "300").containsEntry("sum", run("GroupBy").get("sum"));
  }

  @Test
  void wordsAreCounted() throws Exception {
    Map<String, Integer> counts = new HashMap<>();
    long found = 0;
    for (String line : TextWorkloads.lines(spark, SIZE).collect()) {
      for (String word : line.split(" ")) {
        counts.merge(word, 1, Integer::sum);
      }
      found += line.contains("q7") ? 1 : 0;
    }
    assertThat(run("WordCount")).containsEntry("words", "" + counts.size()).containsEntry("total", "" + 8 * 3000);
    assertThat(run("Grep")).containsEntry("lines", "" + found);
    assertThat(found).isPositive();
    assertThat(run("Sort")).containsEntry("count", "3000");
  }

  private static Map<Long, Set<Long>> neighbours(int edges, int perNode) {
    Map<Long, Set<Long>> neighbours = new TreeMap<>();
    for (Edge<Integer> edge : GraphWorkloads.edges(spark, SIZE, edges, perNode).collect()) {
      neighbours.computeIfAbsent(edge.srcId(), node -> new TreeSet<>()).add(edge.dstId());
      neighbours.computeIfAbsent(edge.dstId(), node -> new TreeSet<>()).add(edge.srcId());
    }
    return neighbours;
  }

  @Test
  void trianglesAreCounted() throws Exception {
    Map<Long, Set<Long>> neighbours = neighbours(200_000, 8);
    long triangles = 0;
    for (long a : neighbours.keySet()) {
      for (long b : neighbours.get(a)) {
        for (long c : neighbours.get(b)) {
          triangles += a < b && b < c && neighbours.get(a).contains(c) ? 1 : 0;
        }
      }
    }
    assertThat(triangles).isPositive();
    assertThat(run("Triangles")).containsEntry("triangles", "" + triangles);
  }

  @Test
  void componentsAreFound() throws Exception {
    Map<Long, Set<Long>> neighbours = neighbours(500_000, 1);
    Set<Long> seen = new HashSet<>();
    int components = 0;
    for (long start : neighbours.keySet()) {
      if (seen.add(start)) {
        components++;
        List<Long> open = new ArrayList<>();
        open.add(start);
        while (!open.isEmpty()) {
          for (long next : neighbours.get(open.remove(open.size() - 1))) {
            if (seen.add(next)) {
              open.add(next);
            }
          }
        }
      }
    }
    assertThat(run("ConnectedComponents")).containsEntry("nodes", "" + neighbours.size())
        .containsEntry("components", "" + components);
    assertThat(run("PageRank").get("nodes")).matches("[1-9][0-9]*");
  }

  @Test
  void tablesAreAggregatedAndJoined() throws Exception {
    Map<Long, Row> orders = new HashMap<>();
    for (Row order : SqlWorkloads.orders(spark, SIZE).collectAsList()) {
      orders.put(order.getLong(0), order);
    }
    Set<String> goods = new HashSet<>();
    Set<String> groups = new HashSet<>();
    long worth = 0;
    for (Row item : SqlWorkloads.items(spark, SIZE).collectAsList()) {
      goods.add(item.getString(1));
      worth += item.getLong(3);
      Row order = orders.get(item.getLong(0));
      groups.add(order.getString(1) + " " + order.getInt(2));
    }
    assertThat(run("SqlAggregation")).containsEntry("groups", "" + goods.size()).containsEntry("worth", "" + worth)
        .containsEntry("rows", "3000");
    assertThat(run("SqlJoin")).containsEntry("groups", "" + groups.size()).containsEntry("worth", "" + worth)
        .containsEntry("rows", "3000");
  }

  @Test
  void whatIsWrongIsRefused() {
    assertThatThrownBy(() -> Workloads.named("Nothing")).hasMessageContaining("Nothing").hasMessageContaining("KMeans");
    assertThatThrownBy(() -> WorkloadSize.parse("1", "2")).hasMessageContaining("usage: MAPS");
    assertThatThrownBy(() -> WorkloadSize.parse("0", "1", "1", "1", "1", "1")).hasMessageContaining("not 0");
    assertThatThrownBy(() -> new Outcome().about("cost", Double.NaN)).hasMessageContaining("cost is NaN");
  }
}

package io.howdah.examples.spark.workload;

import java.util.concurrent.Callable;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.graphx.Edge;
import org.apache.spark.graphx.Graph;
import org.apache.spark.graphx.PartitionStrategy;
import org.apache.spark.graphx.lib.ConnectedComponents;
import org.apache.spark.graphx.lib.PageRank;
import org.apache.spark.graphx.lib.TriangleCount;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Jobs of GraphX over graphs in which some nodes have many edges. */
final class GraphWorkloads {
  private static final int RANK_EDGES = 600_000;
  private static final int PART_EDGES = 500_000;
  private static final int TRIANGLE_EDGES = 200_000;
  private static final int STEPS = 5;
  private static final double RESET = 0.15;
  private static final long SEED = 14;
  private static final ClassTag<Integer> NUMBER = ClassTag$.MODULE$.apply(Integer.class);

  private GraphWorkloads() {
  }

  /** The edges, before they are a graph; there may be the same twice. @param perNode edges for each node */
  static JavaRDD<Edge<Integer>> edges(JavaSparkContext spark, WorkloadSize size, int atScaleOne, int perNode) {
    long nodes = Math.max(4, size.all(atScaleOne) / perNode);
    return Generated.of(spark, size, atScaleOne, SEED, (random, number) -> {
      double far = random.nextDouble();
      long from = random.nextLong(nodes);
      long to = (long) (nodes * far * far);
      return new Edge<>(from, to == from ? (to + 1) % nodes : to, 1);
    });
  }

  private static Graph<Integer, Integer> graph(JavaSparkContext spark, WorkloadSize size, int atScaleOne, int perNode) {
    StorageLevel memory = StorageLevel.MEMORY_ONLY();
    Graph<Integer, Integer> graph = Graph.fromEdges(edges(spark, size, atScaleOne, perNode).rdd(), 1, memory, memory,
        NUMBER, NUMBER).partitionBy(PartitionStrategy.EdgePartition2D$.MODULE$, size.partitions);
    graph.cache();
    graph.vertices().count();
    graph.edges().count();
    return graph;
  }

  static Callable<Outcome> pageRank(JavaSparkContext spark, WorkloadSize size) {
    Graph<Integer, Integer> graph = graph(spark, size, RANK_EDGES, 8);
    return () -> {
      JavaRDD<Tuple2<Object, Object>> ranks =
          PageRank.run(graph, STEPS, RESET, NUMBER, NUMBER).vertices().toJavaRDD();
      return new Outcome().exact("nodes", ranks.count())
          .about("ranks", ranks.mapToDouble(rank -> (Double) rank._2).sum())
          .about("squares", ranks.mapToDouble(rank -> (Double) rank._2 * (Double) rank._2).sum());
    };
  }

  static Callable<Outcome> connectedComponents(JavaSparkContext spark, WorkloadSize size) {
    Graph<Integer, Integer> graph = graph(spark, size, PART_EDGES, 1);
    return () -> {
      JavaRDD<Tuple2<Object, Object>> parts = ConnectedComponents.run(graph, NUMBER, NUMBER).vertices().toJavaRDD();
      long[] totals = Totals.of(parts, 3, part -> new long[] {1, part._1.equals(part._2) ? 1 : 0,
          ((Long) part._1 * 31 + (Long) part._2) * 0x9e3779b97f4a7c15L});
      return new Outcome().exact("nodes", totals[0]).exact("components", totals[1])
          .exact("sum", Long.toHexString(totals[2]));
    };
  }

  static Callable<Outcome> triangles(JavaSparkContext spark, WorkloadSize size) {
    Graph<Integer, Integer> graph = graph(spark, size, TRIANGLE_EDGES, 8);
    return () -> {
      JavaRDD<Tuple2<Object, Object>> counts = TriangleCount.run(graph, NUMBER, NUMBER).vertices().toJavaRDD();
      long[] totals = Totals.of(counts, 2, count -> new long[] {(Integer) count._2,
          (Long) count._1 * (Integer) count._2});
      return new Outcome().exact("triangles", totals[0] / 3).exact("sum", Long.toHexString(totals[1]));
    };
  }
}

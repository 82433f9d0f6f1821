package io.howdah.examples.spark.workload;

import static org.apache.spark.sql.functions.avg;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.max;
import static org.apache.spark.sql.functions.sum;

import java.util.List;
import java.util.concurrent.Callable;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Jobs of Spark SQL over orders and their items. */
final class SqlWorkloads {
  static final int ITEMS = 1_500_000;
  private static final int ORDERS = 400_000;
  private static final int GOODS = 100_000;
  private static final long SEED = 15;

  private SqlWorkloads() {
  }

  private static SparkSession session(JavaSparkContext spark, WorkloadSize size) {
    SparkSession session = SparkSession.builder().config(spark.getConf()).getOrCreate();
    session.conf().set("spark.sql.shuffle.partitions", size.partitions);
    session.conf().set("spark.sql.autoBroadcastJoinThreshold", -1); // a table of another size is joined by a shuffle
    return session;
  }

  static Dataset<Row> items(JavaSparkContext spark, WorkloadSize size) {
    long orders = size.all(ORDERS);
    StructType columns = new StructType().add("order_id", DataTypes.LongType).add("goods", DataTypes.StringType)
        .add("pieces", DataTypes.LongType).add("price", DataTypes.LongType);
    return kept(session(spark, size), columns, spark, size, ITEMS, (random, number) -> RowFactory.create(
        random.nextLong(orders), "goods-" + random.nextInt(GOODS), 1L + random.nextInt(9),
        1L + random.nextInt(100_000)));
  }

  static Dataset<Row> orders(JavaSparkContext spark, WorkloadSize size) {
    StructType columns = new StructType().add("id", DataTypes.LongType).add("buyer", DataTypes.StringType)
        .add("day", DataTypes.IntegerType);
    return kept(session(spark, size), columns, spark, size, ORDERS, (random, number) -> RowFactory.create(
        number, "buyer-" + random.nextInt(5000), random.nextInt(365)));
  }

  private static Dataset<Row> kept(SparkSession session, StructType columns, JavaSparkContext spark, WorkloadSize size,
      int atScaleOne, Generated.Maker<Row> maker) {
    Dataset<Row> table = session.createDataFrame(Generated.of(spark, size, atScaleOne, SEED, maker), columns).cache();
    table.count();
    return table;
  }

  /** Sums for each of many goods. */
  static Callable<Outcome> aggregation(JavaSparkContext spark, WorkloadSize size) {
    Dataset<Row> items = items(spark, size);
    return () -> outcome(items.groupBy("goods").agg(sum("price").as("worth"), count(lit(1)).as("rows"),
        max("pieces").as("most")), "worth", "rows", "most");
  }

  /** Items with their orders, and sums for each buyer. */
  static Callable<Outcome> join(JavaSparkContext spark, WorkloadSize size) {
    Dataset<Row> items = items(spark, size);
    Dataset<Row> orders = orders(spark, size);
    return () -> outcome(items.join(orders, items.col("order_id").equalTo(orders.col("id"))).groupBy("buyer", "day")
        .agg(sum("price").as("worth"), count(lit(1)).as("rows"), max("pieces").as("most")), "worth", "rows", "most");
  }

  private static Outcome outcome(Dataset<Row> groups, String... columns) {
    List<Row> rows = groups.agg(count(lit(1)), sum(columns[0]), sum(columns[1]), sum(columns[2]), avg(columns[0]))
        .collectAsList();
    Row row = rows.get(0);
    return new Outcome().exact("groups", row.getLong(0)).exact(columns[0], row.getLong(1))
        .exact(columns[1], row.getLong(2)).exact(columns[2], row.getLong(3)).about("mean", row.getDouble(4));
  }
}

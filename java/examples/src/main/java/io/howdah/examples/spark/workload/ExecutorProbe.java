package io.howdah.examples.spark.workload;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.BlockManagerId;
import org.apache.spark.storage.StorageStatus;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/** Reads every executor, by a task that runs there and nowhere else. For one thread. */
final class ExecutorProbe {
  private static final int ATTEMPTS = 10;
  private static final ClassTag<Integer> NUMBER = ClassTag$.MODULE$.apply(Integer.class);

  private final JavaSparkContext spark;

  ExecutorProbe(JavaSparkContext spark) {
    this.spark = spark;
  }

  /** Where a task runs in each executor, by the executor's name. In local mode the driver is the one. */
  private Map<String, String> places() {
    Map<String, String> places = new TreeMap<>();
    for (StorageStatus status : spark.sc().getExecutorStorageStatus()) {
      BlockManagerId executor = status.blockManagerId();
      if (!executor.isDriver() || spark.isLocal()) {
        places.put(executor.executorId(), "executor_" + executor.host() + "_" + executor.executorId());
      }
    }
    return places;
  }

  int executors() {
    return places().size();
  }

  /** By executor. @param anew whether to collect garbage first, and forget the peak of resident memory */
  Map<String, ExecutorReadings> read(boolean anew) {
    Map<String, String> places = places();
    Map<String, ExecutorReadings> readings = new TreeMap<>();
    for (int attempt = 0; attempt < ATTEMPTS && readings.size() < places.size(); attempt++) {
      for (ExecutorReadings reading : tasks(places, readings)
          .map(number -> anew ? ExecutorReadings.anew() : ExecutorReadings.now()).collect()) {
        readings.put(reading.executor, reading);
      }
    }
    if (!readings.keySet().equals(places.keySet())) {
      throw new IllegalStateException("of the executors " + places.keySet() + " only "
          + readings.keySet() + " were read");
    }
    return readings;
  }

  private JavaRDD<Integer> tasks(Map<String, String> places, Map<String, ExecutorReadings> done) {
    List<Tuple2<Integer, Seq<String>>> tasks = new ArrayList<>();
    places.forEach((executor, place) -> {
      if (!done.containsKey(executor)) {
        tasks.add(new Tuple2<>(tasks.size(), sequence(Collections.singletonList(place))));
      }
    });
    return JavaRDD.fromRDD(spark.sc().makeRDD(sequence(tasks), NUMBER), NUMBER);
  }

  private static <T> Seq<T> sequence(List<T> list) {
    return JavaConverters.asScalaBufferConverter(list).asScala().toSeq();
  }
}

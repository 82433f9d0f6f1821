package io.howdah.bench.spark;

import io.howdah.bench.rpc.BenchException;
import java.io.File;
import java.util.List;

/** One side of a comparison: a tree, and how its blocks are transferred. Immutable. */
final class SparkSide {
  final String name;
  final File tree;
  /** Spark's configuration, name=value. */
  final List<String> settings;
  /** Whether the engine is asked for, and executors count therefore what came over it. */
  final boolean counted;
  /** Whether every block has to come over it. */
  final boolean forced;

  SparkSide(String name, File tree, List<String> settings, boolean counted, boolean forced) {
    this.name = name;
    this.tree = tree;
    this.settings = settings;
    this.counted = counted;
    this.forced = forced;
    if (!new File(tree, "bin/spark-class").canExecute()) {
      throw new BenchException(tree + " is not a tree with Spark: it has no bin/spark-class");
    }
  }

  String command(String name) {
    return new File(tree, "bin/" + name).getPath();
  }

  @Override
  public String toString() {
    return name;
  }
}

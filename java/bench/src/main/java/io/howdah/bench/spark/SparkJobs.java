package io.howdah.bench.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The names of the jobs, and of groups of them. */
final class SparkJobs {
  static final List<String> SHUFFLES = Collections.unmodifiableList(Arrays.asList("GroupBy", "SortBy", "TeraSort"));
  /** Paper 1's table I. */
  static final List<String> WORKLOADS = Collections.unmodifiableList(Arrays.asList("WordCount", "Grep", "Sort",
      "NaiveBayes", "KMeans", "GaussianMixture", "SparseNaiveBayes", "SVM", "LogisticRegression", "PageRank",
      "ConnectedComponents", "Triangles", "SqlAggregation", "SqlJoin"));

  private SparkJobs() {
  }

  /** @throws IllegalArgumentException naming what is neither a job nor a group */
  static List<String> named(List<String> names) {
    Set<String> jobs = new LinkedHashSet<>();
    for (String name : names) {
      if (name.equals("shuffles") || name.equals("all")) {
        jobs.addAll(SHUFFLES);
      }
      if (name.equals("workloads") || name.equals("all")) {
        jobs.addAll(WORKLOADS);
      }
      if (SHUFFLES.contains(name) || WORKLOADS.contains(name)) {
        jobs.add(name);
      } else if (!Arrays.asList("shuffles", "workloads", "all").contains(name)) {
        throw new IllegalArgumentException("there is no job " + name + "; there are " + SHUFFLES + " (shuffles), "
            + WORKLOADS + " (workloads) and all");
      }
    }
    return new ArrayList<>(jobs);
  }
}

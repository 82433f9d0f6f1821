package io.howdah.examples.spark.workload;

import java.util.LinkedHashMap;
import java.util.Map;

/** All workloads by name. The names are what `howdah bench spark --jobs` takes. */
final class Workloads {
  private static final Map<String, Workload> ALL = new LinkedHashMap<>();

  static {
    ALL.put("GroupBy", ShuffleWorkloads::groupBy);
    ALL.put("SortBy", ShuffleWorkloads::sortBy);
    ALL.put("TeraSort", ShuffleWorkloads::teraSort);
    ALL.put("WordCount", TextWorkloads::wordCount);
    ALL.put("Grep", TextWorkloads::grep);
    ALL.put("Sort", TextWorkloads::sort);
    ALL.put("NaiveBayes", LearningWorkloads::naiveBayes);
    ALL.put("KMeans", LearningWorkloads::kMeans);
    ALL.put("GaussianMixture", LearningWorkloads::gaussianMixture);
    ALL.put("SparseNaiveBayes", LearningWorkloads::sparseNaiveBayes);
    ALL.put("SVM", LearningWorkloads::svm);
    ALL.put("LogisticRegression", LearningWorkloads::logisticRegression);
    ALL.put("PageRank", GraphWorkloads::pageRank);
    ALL.put("ConnectedComponents", GraphWorkloads::connectedComponents);
    ALL.put("Triangles", GraphWorkloads::triangles);
    ALL.put("SqlAggregation", SqlWorkloads::aggregation);
    ALL.put("SqlJoin", SqlWorkloads::join);
  }

  private Workloads() {
  }

  static Iterable<String> names() {
    return ALL.keySet();
  }

  static Workload named(String name) {
    Workload workload = ALL.get(name);
    if (workload == null) {
      throw new IllegalArgumentException("there is no workload " + name + "; there are " + ALL.keySet());
    }
    return workload;
  }
}

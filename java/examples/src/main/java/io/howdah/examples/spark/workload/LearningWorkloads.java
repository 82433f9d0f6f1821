package io.howdah.examples.spark.workload;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.mllib.classification.LogisticRegressionModel;
import org.apache.spark.mllib.classification.LogisticRegressionWithLBFGS;
import org.apache.spark.mllib.classification.NaiveBayes;
import org.apache.spark.mllib.classification.NaiveBayesModel;
import org.apache.spark.mllib.classification.SVMWithSGD;
import org.apache.spark.mllib.clustering.GaussianMixture;
import org.apache.spark.mllib.clustering.GaussianMixtureModel;
import org.apache.spark.mllib.clustering.KMeans;
import org.apache.spark.mllib.clustering.KMeansModel;
import org.apache.spark.mllib.linalg.Vector;
import org.apache.spark.mllib.linalg.Vectors;
import org.apache.spark.mllib.regression.LabeledPoint;

/** Jobs of MLlib. All make as many steps as they are told, so that both sides of a comparison do the same. */
final class LearningWorkloads {
  private static final int CLASSES = 10;
  private static final int CENTRES = 10;
  private static final int STEPS = 10;
  private static final long SEED = 13;

  private LearningWorkloads() {
  }

  private static double sumOf(double... values) {
    return Arrays.stream(values).map(Math::abs).sum();
  }

  private static double sumOf(Vector vector) {
    return sumOf(vector.toArray());
  }

  /** Documents of counted words, dense: a class prefers some words. */
  static Callable<Outcome> naiveBayes(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<LabeledPoint> points = Generated.cached(spark, size, 200_000, SEED, (random, number) -> {
      int label = random.nextInt(CLASSES);
      double[] counts = new double[100];
      for (int i = 0; i < 60; i++) {
        counts[(label * 7 + random.nextInt(50)) % counts.length]++;
      }
      return new LabeledPoint(label, Vectors.dense(counts));
    });
    return () -> bayes(NaiveBayes.train(points.rdd(), 1.0));
  }

  /** The same with many words, few of which are in a document. */
  static Callable<Outcome> sparseNaiveBayes(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<LabeledPoint> points = Generated.cached(spark, size, 200_000, SEED + 1, (random, number) -> {
      int label = random.nextInt(CLASSES);
      return new LabeledPoint(label, sparse(random, label));
    });
    return () -> bayes(NaiveBayes.train(points.rdd(), 1.0));
  }

  private static Vector sparse(SplittableRandom random, int label) {
    int[] words = random.ints(40, 0, 20_000).map(word -> word / CLASSES * CLASSES + label).sorted().distinct()
        .toArray();
    double[] counts = new double[words.length];
    Arrays.fill(counts, 1 + label % 3);
    return Vectors.sparse(20_000, words, counts);
  }

  private static Outcome bayes(NaiveBayesModel model) {
    return new Outcome().exact("classes", model.labels().length).about("pi", sumOf(model.pi()))
        .about("theta", Arrays.stream(model.theta()).mapToDouble(LearningWorkloads::sumOf).sum());
  }

  private static JavaRDD<Vector> clusters(JavaSparkContext spark, WorkloadSize size, int atScaleOne, int dimensions) {
    return Generated.cached(spark, size, atScaleOne, SEED + 2, (random, number) -> {
      double[] point = new double[dimensions];
      int centre = random.nextInt(CENTRES);
      for (int i = 0; i < dimensions; i++) {
        point[i] = centre * 3 % (i + 2) * 10 + random.nextDouble() + random.nextDouble();
      }
      return Vectors.dense(point);
    });
  }

  static Callable<Outcome> kMeans(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<Vector> points = clusters(spark, size, 500_000, 20);
    List<Vector> first = points.take(CENTRES);
    return () -> {
      KMeansModel model = new KMeans().setK(first.size()).setMaxIterations(STEPS).setEpsilon(0)
          .setInitialModel(new KMeansModel(first.toArray(new Vector[0]))).run(points.rdd());
      return new Outcome().exact("centres", model.clusterCenters().length)
          .about("cost", model.computeCost(points.rdd()));
    };
  }

  static Callable<Outcome> gaussianMixture(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<Vector> points = clusters(spark, size, 200_000, 6);
    return () -> {
      GaussianMixtureModel model = new GaussianMixture().setK(3).setMaxIterations(STEPS).setConvergenceTol(0)
          .setSeed(SEED).run(points.rdd());
      return new Outcome().exact("parts", model.weights().length)
          .about("means", Arrays.stream(model.gaussians()).mapToDouble(part -> sumOf(part.mu())).sum());
    };
  }

  /** Points on both sides of a plane, some of which are labelled wrong. */
  private static JavaRDD<LabeledPoint> labelled(JavaSparkContext spark, WorkloadSize size) {
    return Generated.cached(spark, size, 400_000, SEED + 3, (random, number) -> {
      double[] point = new double[40];
      double side = 0;
      for (int i = 0; i < point.length; i++) {
        point[i] = random.nextDouble() * 2 - 1;
        side += point[i] * (i % 5 - 2);
      }
      return new LabeledPoint(side > 0 ^ random.nextInt(20) == 0 ? 1 : 0, Vectors.dense(point));
    });
  }

  static Callable<Outcome> svm(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<LabeledPoint> points = labelled(spark, size);
    return () -> new Outcome().about("weights", sumOf(SVMWithSGD.train(points.rdd(), STEPS * 2).weights()));
  }

  static Callable<Outcome> logisticRegression(JavaSparkContext spark, WorkloadSize size) {
    JavaRDD<LabeledPoint> points = labelled(spark, size);
    return () -> {
      LogisticRegressionWithLBFGS job = new LogisticRegressionWithLBFGS();
      job.optimizer().setNumIterations(STEPS);
      LogisticRegressionModel model = job.run(points.rdd());
      return new Outcome().about("weights", sumOf(model.weights()));
    };
  }
}

package io.howdah.conformance;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Hadoop's or Spark's tests: what is on their class path, and what their JVM is told. */
enum Suite {
  HADOOP("hadoop", Places.HADOOP) {
    @Override
    List<String> options(ClassList.Entry entry, Path work) {
      return hadoopOptions(work);
    }

    @Override
    void environment(Map<String, String> environment, Path tree, Path work, String classPath) {
      forgetHadoop(environment);
    }
  },

  /** Hadoop's again, told by a site file that every RPC has to go over the engine. The harness looks whether it did. */
  RPC_FORCED("rpc-forced", Places.HADOOP) {
    @Override
    List<String> options(ClassList.Entry entry, Path work) {
      List<String> options = hadoopOptions(work);
      demandEngine(options, "conformance.rpc", entry);
      return options;
    }

    @Override
    void environment(Map<String, String> environment, Path tree, Path work, String classPath) {
      forgetHadoop(environment);
    }
  },

  /** Hadoop's once more, with block data forced over the engine. */
  HDFS_FORCED("hdfs-forced", Places.HADOOP) {
    @Override
    List<String> options(ClassList.Entry entry, Path work) {
      List<String> options = hadoopOptions(work);
      demandEngine(options, "conformance.hdfs", entry);
      return options;
    }

    @Override
    void environment(Map<String, String> environment, Path tree, Path work, String classPath) {
      forgetHadoop(environment);
    }
  },

  /** Hadoop's once more, with MapReduce's shuffle forced over the engine. */
  SHUFFLE_FORCED("shuffle-forced", Places.HADOOP) {
    @Override
    List<String> options(ClassList.Entry entry, Path work) {
      List<String> options = hadoopOptions(work);
      demandEngine(options, "conformance.shuffle", entry);
      return options;
    }

    @Override
    void environment(Map<String, String> environment, Path tree, Path work, String classPath) {
      forgetHadoop(environment);
    }
  },

  SPARK("spark", "jars", "share/howdah", "share/howdah/lib") {
    @Override
    List<String> options(ClassList.Entry entry, Path work) {
      List<String> options = new ArrayList<>();
      options.add("-Xss4m");
      options.add("-Dspark.testing=1");
      options.add("-Dspark.test.home=" + work.resolve("home"));
      options.add("-Dspark.ui.enabled=false");
      options.add("-Dspark.ui.showConsoleProgress=false");
      options.add("-Dspark.master.rest.enabled=false");
      options.add("-Dspark.port.maxRetries=100");
      options.add("-Dspark.memory.debugFill=true");
      options.add("-Dspark.unsafe.exceptionOnMemoryLeak=true");
      return options;
    }

    @Override
    void environment(Map<String, String> environment, Path tree, Path work, String classPath) throws IOException {
      environment.keySet().removeIf(name -> name.matches("(HADOOP|YARN|SPARK|PYSPARK)_.*"));
      // Workers write into Spark's home, so the tests get one of their own that points at the tree.
      Path home = Files.createDirectories(work.resolve("home"));
      try (DirectoryStream<Path> entries = Files.newDirectoryStream(tree)) {
        for (Path entry : entries) {
          if (!entry.getFileName().toString().matches("work|logs|conf")) {
            Files.createSymbolicLink(home.resolve(entry.getFileName()), entry);
          }
        }
      }
      environment.put("SPARK_HOME", home.toString());
      environment.put("SPARK_TESTING", "1");
      environment.put("SPARK_DIST_CLASSPATH", classPath);
      environment.put("SPARK_SCALA_VERSION", System.getProperty("conformance.scala.binary.version", "2.11"));
      environment.put("SPARK_LOCAL_IP", "127.0.0.1");
    }
  };

  /** Where a tree has its jars; apart, because an enum's constants are made first. */
  private static final class Places {
    static final String[] HADOOP = {"share/hadoop/common", "share/hadoop/common/lib", "share/hadoop/hdfs",
        "share/hadoop/yarn", "share/hadoop/mapreduce", "share/hadoop/tools", "share/howdah", "share/howdah/lib"};
  }

  final String label;
  private final String[] folders;

  Suite(String label, String... folders) {
    this.label = label;
    this.folders = folders;
  }

  abstract List<String> options(ClassList.Entry entry, Path work);

  abstract void environment(Map<String, String> environment, Path tree, Path work, String classPath) throws IOException;

  private static List<String> hadoopOptions(Path work) {
    List<String> options = new ArrayList<>();
    options.add("-Dtest.build.dir=" + work.resolve("test"));
    options.add("-Dtest.build.data=" + work.resolve("test/data"));
    options.add("-Dhadoop.log.dir=" + work.resolve("log"));
    options.add("-Dtest.cache.data=" + work.resolve("test/cache"));
    return options;
  }

  /** What the harness is to look for when the class has run. */
  private static void demandEngine(List<String> options, String name, ClassList.Entry entry) {
    options.add("-D" + name + "=" + (entry.offline ? "none" : "engine"));
    options.add("-D" + name + ".sockets.least=" + entry.socketsLeast);
    options.add("-D" + name + ".sockets.most=" + entry.socketsMost);
  }

  private static void forgetHadoop(Map<String, String> environment) {
    environment.keySet().removeIf(name -> name.matches("(HADOOP|YARN|HDFS|MAPRED)_.*"));
  }

  /** The suite whose classes and jars this one runs with another configuration; itself if it is none of that kind. */
  Suite base() {
    return this == SPARK ? SPARK : HADOOP;
  }

  /**
   * Our resources, then the test classes, then every jar of the tree, then what only the tests need (JUnit, a Kerberos
   * server): the last must not hide a jar of the tree.
   */
  List<Path> classPath(Path sources, Path build, Path tree, Path testClasses) throws IOException {
    List<Path> path = new ArrayList<>();
    path.add(sources.resolve(label).resolve("resources"));
    String kind = base().label;
    if (this != base()) {
      path.add(sources.resolve(kind).resolve("resources"));
    }
    path.add(build.resolve("target/runner/classes"));
    if (base() == HADOOP) {
      path.add(testClasses);
      path.add(build.resolve("webapps"));
    } else {
      path.add(build.resolve("spark-resources"));
    }
    List<Path> published = jars(build.resolve(kind));
    published.removeIf(jar -> !jar.getFileName().toString().endsWith("-tests.jar"));
    path.addAll(published);
    int before = path.size();
    for (String folder : folders) {
      path.addAll(jars(tree.resolve(folder)));
    }
    if (path.size() == before) {
      throw new UsageException("no jars for the suite " + label + " in " + tree + ": is this a built tree? (make dist)");
    }
    List<Path> support = jars(build.resolve(kind));
    support.removeIf(jar -> jar.getFileName().toString().matches(".*-(tests|test-sources)\\.jar"));
    path.addAll(support);
    return path;
  }

  private static List<Path> jars(Path folder) throws IOException {
    List<Path> jars = new ArrayList<>();
    if (Files.isDirectory(folder)) {
      try (DirectoryStream<Path> found = Files.newDirectoryStream(folder, "*.jar")) {
        found.forEach(jars::add);
      }
    }
    Collections.sort(jars);
    return jars;
  }
}

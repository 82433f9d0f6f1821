package io.howdah.cluster;

import java.net.URISyntaxException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The distribution tree that daemons and jobs run from: where its commands and jars are. Immutable. */
public final class Tree {
  private static final List<String> COMMANDS = Collections.unmodifiableList(
      Arrays.asList("bin/hadoop", "bin/hdfs", "bin/yarn", "bin/mapred", "bin/spark-submit"));
  private static final List<String> JAR_FOLDERS = Collections.unmodifiableList(Arrays.asList(
      "share/hadoop/common", "share/hadoop/common/lib", "share/hadoop/hdfs", "share/hadoop/yarn",
      "share/hadoop/mapreduce"));

  private final Path home;

  Tree(Path home) {
    this.home = home.toAbsolutePath().normalize();
  }

  /**
   * The tree that this command belongs to: what bin/howdah says (-Dhowdah.home), else the tree of this class's jar.
   *
   * @throws ClusterException if there is none or it is incomplete
   */
  public static Tree find() {
    Tree tree = located();
    tree.check();
    return tree;
  }

  /** Likewise, but of the tree only this class's jar is needed. */
  static Tree located() {
    String named = System.getProperty("howdah.home");
    Path own = ownJar();
    if (named != null) {
      return new Tree(Paths.get(named));
    }
    if (own != null && own.endsWith(Paths.get("share/howdah").resolve(own.getFileName()))) {
      return new Tree(own.getParent().getParent().getParent());
    }
    throw new ClusterException("the distribution tree was not found", "run the tree's own bin/howdah");
  }

  private static Path ownJar() {
    try {
      return Paths.get(Tree.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException | IllegalArgumentException e) {
      return null;
    }
  }

  private void check() {
    for (String command : COMMANDS) {
      if (!Files.isExecutable(home.resolve(command))) {
        throw incomplete(command);
      }
    }
    for (String folder : JAR_FOLDERS) {
      if (!Files.isDirectory(home.resolve(folder))) {
        throw incomplete(folder);
      }
    }
    if (home.toString().matches(".*[,:\\n\"$`*?\\\\].*")) {
      throw new ClusterException("the tree's path has a character that no Java class path can hold: " + home,
          "move the tree to a folder without any of  , : \" $ ` * ? \\");
    }
  }

  private ClusterException incomplete(String what) {
    return new ClusterException("the distribution tree " + home + " is incomplete: " + what + " is missing",
        "unpack it again, or build it again: make dist");
  }

  /** The tree's top folder, absolute. */
  public Path home() {
    return home;
  }

  /** One of the tree's commands, such as "hdfs". */
  public Path command(String name) {
    return home.resolve("bin").resolve(name);
  }

  /**
   * The jar of a folder whose name matches.
   *
   * @param folder relative to the tree
   * @param glob of the file name
   * @throws ClusterException if there is not exactly one
   */
  public Path jar(String folder, String glob) {
    PathMatcher matcher = FileSystems.getDefault().getPathMatcher("glob:" + glob);
    List<Path> found;
    try (Stream<Path> files = Files.list(home.resolve(folder))) {
      found = files.filter(f -> matcher.matches(f.getFileName())).collect(Collectors.toList());
    } catch (java.io.IOException e) {
      throw incomplete(folder);
    }
    if (found.size() != 1) {
      throw found.isEmpty() ? incomplete(folder + "/" + glob)
          : new ClusterException("the tree has several of " + folder + "/" + glob + ": " + found, "keep one");
    }
    return found.get(0);
  }

  /** Class path entries of Hadoop, and of ours that it uses, in a tree at the given place, for containers. */
  static List<String> hadoopClassPath(Path home) {
    return Stream.concat(JAR_FOLDERS.stream(), Stream.of("share/howdah"))
        .map(folder -> home.resolve(folder) + "/*").collect(Collectors.toList());
  }
}

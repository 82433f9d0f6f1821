package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Writes the configuration of a cluster: one folder for clients and containers, and one for each daemon with what only
 * it needs. Later ones win: the tree's own etc/, ours, the user's site files, the template plain of --stock, -D.
 */
final class SiteWriter {
  private static final String TITLE =
      "Written by `howdah cluster start`, anew each time: change it with -D name=value or with conf.";

  private final ClusterSpec spec;
  private final SiteDefaults defaults;
  private final Path etc;
  private final SiteFiles shipped;
  private final SiteFiles users;

  SiteWriter(Tree tree, ClusterSpec spec, SiteDefaults defaults) {
    this.etc = tree.home().resolve("etc");
    this.spec = spec;
    this.defaults = defaults;
    this.shipped = SiteFiles.read(etc.resolve("hadoop"));
    this.users = spec.conf() == null ? new SiteFiles() : SiteFiles.require("--conf", spec.conf());
    if (spec.stock()) {
      users.lay(Templates.of(tree).read("plain"));
    }
    spec.site().forEach((name, value) -> {
      if (!isSpark(name)) {
        users.set(name, value);
      }
    });
  }

  private static boolean isSpark(String name) {
    return name.startsWith("spark.");
  }

  /** Writes everything below the folder; daemons' folders carry their names. */
  void write(Path folder) throws IOException {
    writeSites(folder, null);
    for (DaemonId id : spec.daemons()) {
      writeSites(folder.resolve(id.toString()), id);
    }
  }

  private void writeSites(Path folder, DaemonId id) throws IOException {
    Files.createDirectories(folder);
    if (spec.conf() != null) {
      copyOthers(folder);
    }
    for (String name : SiteFiles.NAMES) {
      new SiteFile().title(TITLE).set(shipped.file(name).properties()).set(defaults.of(name, id))
          .lay(users.file(name)).write(folder.resolve(name));
    }
    if (spec.conf() == null || !Files.exists(spec.conf().resolve("log4j.properties"))) {
      logging(folder.resolve("log4j.properties"));
    }
    spark(folder.resolve("spark-defaults.conf"));
  }

  private static void logging(Path file) throws IOException {
    text(file, Arrays.asList(
        "log4j.rootLogger=INFO,console",
        "log4j.appender.console=org.apache.log4j.ConsoleAppender",
        "log4j.appender.console.target=System.err",
        "log4j.appender.console.layout=org.apache.log4j.PatternLayout",
        "log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n",
        "log4j.logger.org.apache.hadoop.hdfs.server.namenode.FSNamesystem.audit=WARN"));
  }

  private void spark(Path file) throws IOException {
    Path shipped = etc.resolve("spark").resolve("spark-defaults.conf");
    List<String> lines = new ArrayList<>();
    if (Files.exists(shipped)) {
      lines.addAll(Files.readAllLines(shipped, StandardCharsets.UTF_8));
    }
    Map<String, String> spark = defaults.spark();
    spec.site().forEach((name, value) -> {
      if (isSpark(name)) {
        spark.put(name, value);
      }
    });
    spark.forEach((name, value) -> lines.add(name + " " + value));
    text(file, lines);
  }

  /** What else the user's folder has (topology scripts, include files, log4j.properties) comes along as it is. */
  private void copyOthers(Path to) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(spec.conf(), Files::isRegularFile)) {
      for (Path file : files) {
        if (!SiteFiles.NAMES.contains(file.getFileName().toString())) {
          Files.copy(file, to.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
        }
      }
    }
  }

  private static void text(Path file, List<String> lines) throws IOException {
    Files.write(file, lines, StandardCharsets.UTF_8);
  }
}

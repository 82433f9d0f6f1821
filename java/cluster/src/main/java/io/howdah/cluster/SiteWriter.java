package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes the configuration of a cluster: one folder for clients and containers, and one for each daemon with what only
 * it needs. Later ones win: the tree's own etc/, ours, the user's site files, -D.
 */
final class SiteWriter {
  private static final List<String> SITES = Collections.unmodifiableList(
      Arrays.asList("core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml", "capacity-scheduler.xml"));

  private final ClusterSpec spec;
  private final SiteDefaults defaults;
  private final Path etc;
  private final Map<String, Map<String, String>> users = new LinkedHashMap<>();

  SiteWriter(Tree tree, ClusterSpec spec, SiteDefaults defaults) {
    this.etc = tree.home().resolve("etc");
    this.spec = spec;
    this.defaults = defaults;
    for (String site : SITES) {
      users.put(site, new LinkedHashMap<>());
    }
    if (spec.conf() != null) {
      readUsers(spec.conf());
    }
    spec.site().forEach((name, value) -> {
      if (!isSpark(name)) {
        users.get(siteOf(name)).put(name, value);
      }
    });
  }

  /** The site file that a property belongs to, by the families of upstream's *-default.xml. */
  static String siteOf(String name) {
    if (name.startsWith("yarn.scheduler.capacity.")) {
      return "capacity-scheduler.xml";
    }
    if (name.startsWith("dfs.")) {
      return "hdfs-site.xml";
    }
    if (name.startsWith("mapreduce.") || name.startsWith("mapred.") || name.startsWith("yarn.app.mapreduce.")) {
      return "mapred-site.xml";
    }
    return name.startsWith("yarn.") ? "yarn-site.xml" : "core-site.xml";
  }

  private static boolean isSpark(String name) {
    return name.startsWith("spark.");
  }

  private void readUsers(Path folder) {
    if (!Files.isDirectory(folder)) {
      throw new ClusterException("--conf " + folder + " is not a folder", "name a folder with site files");
    }
    boolean any = false;
    for (String site : SITES) {
      Path file = folder.resolve(site);
      if (Files.exists(file)) {
        users.get(site).putAll(SiteFile.read(file));
        any = true;
      }
    }
    if (!any) {
      throw new ClusterException("--conf " + folder + " has none of " + String.join(", ", SITES),
          "name a folder with site files");
    }
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
    for (String site : SITES) {
      Path shipped = etc.resolve("hadoop").resolve(site);
      Map<String, String> properties = new LinkedHashMap<>();
      if (Files.exists(shipped)) {
        properties.putAll(SiteFile.read(shipped));
      }
      properties.putAll(defaults.of(site, id));
      properties.putAll(users.get(site));
      SiteFile.write(folder.resolve(site), properties);
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
        if (!SITES.contains(file.getFileName().toString())) {
          Files.copy(file, to.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
        }
      }
    }
  }

  private static void text(Path file, List<String> lines) throws IOException {
    Files.write(file, lines, StandardCharsets.UTF_8);
  }
}

package io.howdah.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The site files of one configuration folder. Not thread-safe. */
final class SiteFiles {
  /** Names of all files, in the order of writing. */
  static final List<String> NAMES = Collections.unmodifiableList(
      Arrays.asList("core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml", "capacity-scheduler.xml"));

  private final Map<String, SiteFile> files = new LinkedHashMap<>();

  /** Reads what a folder has of them, which may be nothing. */
  static SiteFiles read(Path folder) {
    SiteFiles read = new SiteFiles();
    for (String name : NAMES) {
      if (Files.exists(folder.resolve(name))) {
        read.files.put(name, SiteFile.read(folder.resolve(name)));
      }
    }
    return read;
  }

  /**
   * Reads a folder of the user's.
   *
   * @param what the option or argument that names the folder, for messages
   */
  static SiteFiles require(String what, Path folder) {
    if (!Files.isDirectory(folder)) {
      throw new ClusterException(what + " " + folder + " is not a folder", "name a folder with site files");
    }
    SiteFiles read = read(folder);
    if (read.files.isEmpty()) {
      throw new ClusterException(what + " " + folder + " has none of " + String.join(", ", NAMES),
          "name a folder with site files");
    }
    return read;
  }

  /** The site file that a property belongs to, by the families of upstream's *-default.xml. */
  static String fileOf(String property) {
    if (property.startsWith("yarn.scheduler.capacity.")) {
      return "capacity-scheduler.xml";
    }
    if (property.startsWith("dfs.")) {
      return "hdfs-site.xml";
    }
    if (property.startsWith("mapreduce.") || property.startsWith("mapred.")
        || property.startsWith("yarn.app.mapreduce.")) {
      return "mapred-site.xml";
    }
    return property.startsWith("yarn.") ? "yarn-site.xml" : "core-site.xml";
  }

  /** One of the files; empty until something is set in it. */
  SiteFile file(String name) {
    return files.computeIfAbsent(name, absent -> new SiteFile());
  }

  /** Those that have something in them, by name. */
  Map<String, SiteFile> present() {
    return files;
  }

  /** Sets a property in the file of its family. */
  void set(String property, String value) {
    file(fileOf(property)).set(property, value);
  }

  /** Lays another folder's files over these. */
  void lay(SiteFiles over) {
    over.files.forEach((name, site) -> file(name).lay(site));
  }

  /** Writes each file that has something in it. */
  void write(Path folder) throws IOException {
    for (Map.Entry<String, SiteFile> entry : files.entrySet()) {
      entry.getValue().write(folder.resolve(entry.getKey()));
    }
  }
}

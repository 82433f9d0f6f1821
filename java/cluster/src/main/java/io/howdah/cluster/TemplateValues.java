package io.howdah.cluster;

import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The values of howdah template write --set. */
final class TemplateValues {
  private static final String FOLDERS = "folders";
  private static final Set<String> PATHS =
      Collections.unmodifiableSet(new HashSet<>(Arrays.asList("shared", "hdfs", "yarn")));
  private static final Pattern TAGGED = Pattern.compile("\\[([^\\]]*)\\](.*)");
  private static final String RAM = "RAM_DISK";
  private static final List<String> TYPES =
      Collections.unmodifiableList(Arrays.asList(RAM, "SSD", "SSD_DISK", "DISK", "ARCHIVE"));

  private TemplateValues() {
  }

  /**
   * Checks that values are of names that templates ask for, and fit for them. A value may begin with a variable of
   * Hadoop's, about which nothing is known here.
   *
   * @throws ClusterException if one is not
   */
  static void check(Map<String, String> values, Collection<String> asked) {
    values.forEach((name, value) -> {
      if (!asked.contains(name)) {
        throw new ClusterException("no template asks for --set " + name
            + (asked.isEmpty() ? "" : "; the nearest name is " + nearest(name, asked)), "see: howdah template list");
      }
      if (value.trim().isEmpty()) {
        throw new ClusterException("--set " + name + "= is empty", "give it a value, or leave the template out");
      }
      if (PATHS.contains(name)) {
        checkPath(name, value, value);
      } else if (FOLDERS.equals(name)) {
        checkFolders(value);
      }
    });
  }

  private static void checkPath(String name, String value, String path) {
    boolean isUri = FOLDERS.equals(name) && path.startsWith("file:/");
    if (!path.startsWith("/") && !path.startsWith("${") && !isUri) {
      throw new ClusterException("--set " + name + "=" + value + ": '" + path + "' is not an absolute path",
          "write it from / on, as all nodes have it");
    }
  }

  private static void checkFolders(String value) {
    boolean isPersistent = false;
    for (String folder : value.split(",", -1)) {
      Matcher tagged = TAGGED.matcher(folder.trim());
      boolean hasTag = tagged.matches();
      String type = hasTag ? tagged.group(1).toUpperCase(Locale.ROOT) : "DISK";
      if (!TYPES.contains(type)) {
        throw new ClusterException("--set folders=" + value + ": [" + tagged.group(1) + "] is no type of storage",
            "there are: [" + String.join("], [", TYPES) + "]");
      }
      checkPath(FOLDERS, value, hasTag ? tagged.group(2) : folder.trim());
      isPersistent |= !type.equals(RAM);
    }
    if (!isPersistent) {
      throw new ClusterException("--set folders=" + value + " has folders in RAM alone, and a DataNode needs one that "
          + "is not", "add a folder on SSD or disk, such as [DISK]/disk1/hdfs");
    }
  }

  private static String nearest(String name, Collection<String> known) {
    return Collections.min(known, (a, b) -> Integer.compare(distance(name, a), distance(name, b)));
  }

  /** Letters to add, drop or change between two names. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    Arrays.setAll(row, i -> i);
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(replaced, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[b.length()];
  }
}

package io.howdah.cluster;

import java.util.Locale;

/** Amounts of bytes as people write them. */
final class Sizes {
  private Sizes() {
  }

  /**
   * Reads "100m", "1g", "512k", "2t" (powers of 1024) or plain bytes.
   *
   * @throws ClusterException naming the option if the text is something else or not positive
   */
  static long parse(String option, String text) {
    String lower = text.trim().toLowerCase(Locale.ROOT);
    if (!lower.matches("[0-9]{1,12}[kmgt]?b?")) {
      throw new ClusterException(option + " " + text + " is not a size", "write it like 512m or 1g");
    }
    String unit = lower.replaceAll("[0-9]", "").replace("b", "");
    long number = Long.parseLong(lower.replaceAll("[^0-9]", ""));
    int shift = unit.isEmpty() ? 0 : 10 * ("kmgt".indexOf(unit) + 1);
    if (number <= 0 || number > Long.MAX_VALUE >> shift) {
      throw new ClusterException(option + " " + text + " is out of range", "write it like 512m or 1g");
    }
    return number << shift;
  }

  /** "1.0 GB", "17 MB", "900 B". */
  static String format(long bytes) {
    String[] units = {"B", "KB", "MB", "GB", "TB"};
    double value = bytes;
    int unit = 0;
    while (value >= 1000 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
    return String.format(Locale.ROOT, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  }
}

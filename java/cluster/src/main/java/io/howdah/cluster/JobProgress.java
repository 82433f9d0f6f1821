package io.howdah.cluster;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds out from a job's own output how far it is. */
final class JobProgress {
  private static final Pattern MAP_REDUCE = Pattern.compile("\\bmap (\\d+)% reduce (\\d+)%");
  private static final Pattern SPARK = Pattern.compile("Finished task .* in stage (\\d+)\\.\\d+ .*\\((\\d+)/(\\d+)\\)");

  private JobProgress() {
  }

  /** "map 40 %, reduce 12 %" or "stage 2: task 3 of 8", if the line says so. */
  static Optional<String> of(String line) {
    Matcher mapReduce = MAP_REDUCE.matcher(line);
    if (mapReduce.find()) {
      return Optional.of("map " + mapReduce.group(1) + " %, reduce " + mapReduce.group(2) + " %");
    }
    Matcher spark = SPARK.matcher(line);
    if (spark.find()) {
      return Optional.of("stage " + spark.group(1) + ": task " + spark.group(2) + " of " + spark.group(3));
    }
    return Optional.empty();
  }
}

package io.howdah.bench.spark;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What one run of a job showed. Its fields are what the JSON has. Not thread-safe. */
final class SparkSample {
  private static final Pattern SUM = Pattern.compile("Block transfer fetched (\\d+) blocks of (\\d+) bytes over the "
      + "engine .* and (\\d+) of (\\d+) bytes over Netty");
  private static final double MEGABYTE = 1 << 20;

  final String side;
  final int round;
  final String job;
  final int executors;
  /** By name; {@link SparkReport} has the units. */
  final Map<String, Double> values = new TreeMap<>();

  SparkSample(String side, int round, String job, int executors) {
    this.side = side;
    this.round = round;
    this.job = job;
    this.executors = executors;
  }

  /** Adds up what the tasks in Spark's event log waited for, collected and fetched. */
  void tasks(Path eventLog) throws IOException {
    for (String name : new String[] {"wait", "gc", "remoteMb", "remoteBlocks"}) {
      values.put(name, 0.0);
    }
    try (BufferedReader lines = Files.newBufferedReader(eventLog, StandardCharsets.UTF_8)) {
      for (String line; (line = lines.readLine()) != null;) {
        JsonObject event = new Gson().fromJson(line, JsonObject.class);
        JsonElement metrics = event.get("Task Metrics");
        if (event.get("Event").getAsString().equals("SparkListenerTaskEnd") && metrics != null
            && metrics.isJsonObject()) {
          task(metrics.getAsJsonObject());
        }
      }
    }
  }

  private void task(JsonObject metrics) {
    JsonObject read = metrics.getAsJsonObject("Shuffle Read Metrics");
    values.merge("wait", read.get("Fetch Wait Time").getAsDouble() / 1e3, Double::sum);
    values.merge("remoteMb", read.get("Remote Bytes Read").getAsDouble() / MEGABYTE, Double::sum);
    values.merge("remoteBlocks", read.get("Remote Blocks Fetched").getAsDouble(), Double::sum);
    values.merge("gc", metrics.get("JVM GC Time").getAsDouble() / 1e3, Double::sum);
  }

  /** Adds what an executor logged as it ended. @return whether the line is that */
  boolean sum(String line) {
    Matcher sum = SUM.matcher(line);
    if (!sum.find()) {
      return false;
    }
    values.merge("engineBlocks", Double.valueOf(sum.group(1)), Double::sum);
    values.merge("engineMb", Double.parseDouble(sum.group(2)) / MEGABYTE, Double::sum);
    values.merge("nettyBlocks", Double.valueOf(sum.group(3)), Double::sum);
    values.merge("nettyMb", Double.parseDouble(sum.group(4)) / MEGABYTE, Double::sum);
    return true;
  }

  /** How often {@link #sum} is to find something in these lines. */
  static int sums(List<String> lines) {
    return (int) lines.stream().filter(line -> SUM.matcher(line).find()).count();
  }

  double value(String name) {
    return values.getOrDefault(name, 0.0);
  }

  @Override
  public String toString() {
    return job + " with " + executors + " executors, " + side;
  }
}

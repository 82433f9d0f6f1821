package io.howdah.bench.spark;

import io.howdah.bench.rpc.BenchException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What one run of a job showed. Its fields are what the JSON has. Not thread-safe. */
final class SparkSample {
  /** How far sums of floating point numbers may be apart that were added up in another order, of their size. */
  private static final double TOLERANCE = 1e-6;

  final String side;
  final int round;
  final String job;
  final int executors;
  /** What it found: words NAME=VALUE and NAME~NUMBER. */
  String result = "";
  /** By name; {@link SparkReport} has the units. */
  final Map<String, Double> values = new TreeMap<>();

  SparkSample(String side, int round, String job, int executors) {
    this.side = side;
    this.round = round;
    this.job = job;
    this.executors = executors;
  }

  /** Takes what the application wrote of the job: "value NAME NUMBER", then "result WORDS" of each time that it ran. */
  void read(List<String> lines) {
    for (String line : lines) {
      String[] words = line.split(" ", 3);
      if (words.length == 3 && words[0].equals("value")) {
        values.put(words[1], Double.valueOf(words[2]));
      } else if (words[0].equals("result")) {
        found(line.substring(line.indexOf(' ') + 1));
      } else {
        throw new BenchException(this + " wrote what nobody understands: " + line);
      }
    }
    if (result.isEmpty() || !values.containsKey("seconds")) {
      throw new BenchException(this + " did not say what it found and how long it took: " + lines);
    }
  }

  private void found(String words) {
    if (!result.isEmpty() && !agree(result, words)) {
      throw new BenchException(this + " found " + words + ", but " + result + " when it ran first");
    }
    result = result.isEmpty() ? words : result;
  }

  /** Whether every block that executors fetched came over the engine, and there were some if there had to be. */
  boolean cameOverEngine() {
    return value("nettyBlocks") == 0 && value("fallbacks") == 0
        && (value("remoteBlocks") == 0 || value("engineBlocks") > 0);
  }

  /** Whether both found the same, but for the last digits of sums. */
  boolean agreesWith(SparkSample other) {
    return agree(result, other.result);
  }

  private static boolean agree(String one, String another) {
    List<String> mine = Arrays.asList(one.split(" "));
    List<String> theirs = Arrays.asList(another.split(" "));
    boolean same = mine.size() == theirs.size();
    for (int i = 0; same && i < mine.size(); i++) {
      same = agreeInWord(mine.get(i), theirs.get(i));
    }
    return same;
  }

  private static boolean agreeInWord(String mine, String theirs) {
    int at = mine.indexOf('~');
    if (at < 0 || !theirs.startsWith(mine.substring(0, at + 1))) {
      return mine.equals(theirs);
    }
    double one = Double.parseDouble(mine.substring(at + 1));
    double another = Double.parseDouble(theirs.substring(at + 1));
    return Math.abs(one - another) <= TOLERANCE * Math.max(Math.abs(one), Math.abs(another));
  }

  double value(String name) {
    return values.getOrDefault(name, 0.0);
  }

  @Override
  public String toString() {
    return job + " with " + executors + (executors == 1 ? " executor, " : " executors, ") + side;
  }
}

package io.howdah.bench.rpc;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.Map;
import java.util.TreeMap;

/** What one measurement of one side in one round saw. Immutable once filled. */
final class Sample {
  final String side;
  final int round;
  /** latency, type, throughput or idle. */
  final String measure;
  final String type;
  final int bytes;
  final int clients;
  final int handlers;
  /**
   * Times in microseconds (mean, p50 ...), count, rate (calls a second), cpuClient and cpuServer (us a call),
   * heapClient and heapServer (bytes a call), engine (bytes that the engines of both processes sent and received,
   * a call), stolen (what the host of a virtual machine kept of the processors, in percent, while this and the other
   * side's were measured).
   */
  final Map<String, Double> values = new TreeMap<>();

  Sample(String side, int round, Case what) {
    this.side = side;
    this.round = round;
    this.measure = what.measure;
    this.type = what.type.name().toLowerCase(java.util.Locale.ROOT);
    this.bytes = what.bytes;
    this.clients = what.clients;
    this.handlers = what.handlers;
  }

  void times(JsonObject summary) {
    for (String name : new String[] {"count", "mean", "p50", "p90", "p99", "p99.9", "max"}) {
      if (summary.has(name)) {
        values.put(name, summary.get(name).getAsDouble());
      }
    }
  }

  /** What a process used between two snapshots, as a share of the calls. */
  void used(String role, JsonObject before, JsonObject after, double calls) {
    values.put("cpu" + role, difference("cpu", before, after) / 1e3 / calls);
    values.put("heap" + role, difference("allocated", before, after) / calls);
    values.merge("gcs", difference("gcs", before, after), Double::sum);
    double moved = difference("engine.bytes.sent", before, after) + difference("engine.bytes.received", before, after);
    values.merge("engine", moved / calls, Double::sum);
  }

  static double difference(String name, JsonObject before, JsonObject after) {
    return number(name, after) - number(name, before);
  }

  private static double number(String name, JsonObject stats) {
    JsonElement value = stats.get(name);
    return value == null ? 0 : value.getAsDouble();
  }

  /** One thing that is measured: the same on both sides and in all rounds. */
  static final class Case {
    final String measure;
    final DataType type;
    final int bytes;
    final int clients;
    final int handlers;

    Case(String measure, DataType type, int bytes, int clients, int handlers) {
      this.measure = measure;
      this.type = type;
      this.bytes = bytes;
      this.clients = clients;
      this.handlers = handlers;
    }

    @Override
    public String toString() {
      return measure + " " + type.name().toLowerCase(java.util.Locale.ROOT) + " " + bytes + " B, clients " + clients
          + ", handlers " + handlers;
    }
  }
}

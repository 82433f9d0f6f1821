package io.howdah.cluster;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.Optional;

/** What a cluster is doing right now, as a table for people and as JSON for programs. */
final class Status {
  /** Exit code when everything runs and is at work. */
  static final int RUNNING = 0;
  /** Exit code when nothing runs, as init scripts have it. */
  static final int STOPPED = 3;
  /** Exit code when something is missing. */
  static final int DEGRADED = 4;

  private final Cluster cluster;
  private final ClusterSpec spec;
  private final Ports ports;
  private final Health health;
  private final JsonArray daemons = new JsonArray();
  private int alive;
  private int ready;

  Status(Cluster cluster) {
    this.cluster = cluster;
    this.spec = cluster.spec();
    this.ports = cluster.ports();
    this.health = new Health(spec, ports);
    for (DaemonId id : spec.daemons()) {
      daemons.add(look(id));
    }
  }

  private JsonObject look(DaemonId id) {
    Optional<PidRecord> record = PidRecord.read(cluster.dir().pid(id));
    boolean runs = record.filter(PidRecord::isAlive).isPresent();
    boolean works = runs && health.isReady(id);
    alive += runs ? 1 : 0;
    ready += works ? 1 : 0;
    JsonObject entry = new JsonObject();
    entry.addProperty("daemon", id.toString());
    // A record without its process: nobody stopped it, it died.
    entry.addProperty("state", works ? "ready" : runs ? "not ready" : record.isPresent() ? "dead" : "stopped");
    entry.add("pid", runs ? new JsonPrimitive(record.get().pid()) : JsonNull.INSTANCE);
    JsonObject listeners = new JsonObject();
    for (PortKind kind : PortKind.of(id.kind())) {
      listeners.addProperty(kind.label().substring(kind.label().indexOf('.') + 1), ports.get(kind, id));
    }
    entry.add("ports", listeners);
    entry.addProperty("detail", runs && !works ? health.pending(id) : "");
    entry.addProperty("log", cluster.dir().log(id).toString());
    return entry;
  }

  int exitCode() {
    return alive == 0 ? STOPPED : ready == daemons.size() ? RUNNING : DEGRADED;
  }

  private String word() {
    return exitCode() == RUNNING ? "running" : exitCode() == STOPPED ? "stopped" : "degraded";
  }

  String json() {
    JsonObject all = new JsonObject();
    all.addProperty("dir", cluster.dir().root().toString());
    all.addProperty("state", word());
    all.addProperty("liveDataNodes", Math.max(0, alive == 0 || !spec.hasHdfs() ? 0 : health.liveDataNodes()));
    all.addProperty("runningNodeManagers", Math.max(0, alive == 0 || !spec.yarn() ? 0 : health.runningNodeManagers()));
    all.addProperty("defaultFs", spec.fileSystem(ports));
    all.add("daemons", daemons);
    return new GsonBuilder().setPrettyPrinting().serializeNulls().disableHtmlEscaping().create().toJson(all);
  }

  @Override
  public String toString() {
    Table table = new Table("DAEMON", "STATE", "PID", "PORTS", "");
    for (JsonElement element : daemons) {
      JsonObject entry = element.getAsJsonObject();
      StringBuilder listeners = new StringBuilder();
      entry.getAsJsonObject("ports").entrySet()
          .forEach(e -> listeners.append(e.getKey()).append(' ').append(e.getValue()).append("  "));
      table.row(entry.get("daemon").getAsString(), entry.get("state").getAsString(),
          entry.get("pid").isJsonNull() ? "-" : entry.get("pid").getAsString(), listeners.toString().trim(),
          entry.get("detail").getAsString());
    }
    return "cluster in " + cluster.dir().root() + ": " + word() + "\n" + table;
  }
}

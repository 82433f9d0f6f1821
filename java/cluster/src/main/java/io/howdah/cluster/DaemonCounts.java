package io.howdah.cluster;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one daemon says of its traffic in JMX: what went over the engine ({@code io.howdah:type=Upgrade}), and Hadoop's
 * own counts of all traffic. Immutable.
 */
final class DaemonCounts {
  private static final String UPGRADE = "io.howdah:type=Upgrade";
  private static final String RPC_SERVERS = "Hadoop:service=*,name=RpcActivityForPort*";
  private static final String RPC_SOCKETS = "Hadoop:service=*,name=HowdahRpc";
  private static final String DATANODE = "Hadoop:service=DataNode,name=DataNodeActivity*";
  private static final String DATANODE_SOCKETS = "Hadoop:service=DataNode,name=HowdahHdfs";

  private final String name;
  private final Map<String, Long> engine;
  private final Map<String, Long> reasons;
  private final Map<String, String> states;
  private final JsonArray beans;

  /**
   * Sorts what JMX answered.
   *
   * @param name of the daemon
   * @param beans MBeans as Hadoop's servlet shows them
   */
  DaemonCounts(String name, JsonArray beans) {
    this.name = name;
    this.beans = beans;
    this.engine = new TreeMap<>();
    this.reasons = new TreeMap<>();
    this.states = new TreeMap<>();
    for (JsonElement bean : beans) {
      if (UPGRADE.equals(text(bean, "name"))) {
        entries(bean, "Counts").forEach((key, value) -> engine.put(key, value.getAsLong()));
        entries(bean, "Reasons").forEach((key, value) -> reasons.put(key, value.getAsLong()));
        entries(bean, "States").forEach((key, value) -> states.put(key, value.getAsString()));
      }
    }
  }

  /**
   * Asks a daemon.
   *
   * @throws IOException if it does not answer
   */
  static DaemonCounts ask(String name, String host, int port) throws IOException {
    JsonArray beans = new JsonArray();
    for (String query : new String[] {UPGRADE, RPC_SERVERS, RPC_SOCKETS, DATANODE, DATANODE_SOCKETS}) {
      beans.addAll(Http.json(host, port, "/jmx?qry=" + query).getAsJsonArray("beans"));
    }
    return new DaemonCounts(name, beans);
  }

  /** A map that an MXBean shows: a list of keys and values. */
  private static Map<String, JsonElement> entries(JsonElement bean, String attribute) {
    Map<String, JsonElement> entries = new TreeMap<>();
    JsonElement list = bean.getAsJsonObject().get(attribute);
    if (list != null && list.isJsonArray()) {
      for (JsonElement element : list.getAsJsonArray()) {
        JsonObject entry = element.getAsJsonObject();
        entries.put(entry.get("key").getAsString(), entry.get("value"));
      }
    }
    return entries;
  }

  private static String text(JsonElement bean, String attribute) {
    JsonElement value = bean.getAsJsonObject().get(attribute);
    return value == null ? "" : value.getAsString();
  }

  String name() {
    return name;
  }

  /** By kind, transport and what is counted: "rpc.server.shm.calls". */
  Map<String, Long> engine() {
    return engine;
  }

  /** How often sockets were used although the engine was wanted, by component and cause: "rpc: ...". */
  Map<String, Long> reasons() {
    return reasons;
  }

  /** Each component's mode and state: "auto: ...". */
  Map<String, String> states() {
    return states;
  }

  /** The sum of an attribute over all MBeans whose name has this in it. */
  long sum(String part, String attribute) {
    long sum = 0;
    for (JsonElement bean : beans) {
      JsonElement value = bean.getAsJsonObject().get(attribute);
      if (text(bean, "name").contains(part) && value != null) {
        sum += value.getAsLong();
      }
    }
    return sum;
  }
}

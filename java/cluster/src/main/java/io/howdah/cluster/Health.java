package io.howdah.cluster;

import com.google.gson.JsonObject;
import java.io.IOException;

/** What the daemons say about themselves when asked. Every answer is fresh. */
final class Health {
  private final ClusterSpec spec;
  private final Ports ports;

  Health(ClusterSpec spec, Ports ports) {
    this.spec = spec;
    this.ports = ports;
  }

  /** DataNodes that the NameNode counts as live, or -1 if it does not answer. */
  int liveDataNodes() {
    try {
      return nameNode().get("NumLiveDataNodes").getAsInt();
    } catch (IOException | RuntimeException e) {
      return -1;
    }
  }

  /** "Operational", "safeMode", or "no answer". */
  String nameNodeState() {
    try {
      return nameNode().get("FSState").getAsString();
    } catch (IOException | RuntimeException e) {
      return "no answer";
    }
  }

  private JsonObject nameNode() throws IOException {
    return bean(ports.get(PortKind.NAMENODE_HTTP), "Hadoop:service=NameNode,name=FSNamesystemState");
  }

  private static JsonObject bean(int port, String name) throws IOException {
    return Http.json(port, "/jmx?qry=" + name).getAsJsonArray("beans").get(0).getAsJsonObject();
  }

  /** NodeManagers that the ResourceManager calls RUNNING, or -1 if it does not answer. */
  int runningNodeManagers() {
    try {
      return Http.json(ports.get(PortKind.RESOURCEMANAGER_HTTP), "/ws/v1/cluster/metrics")
          .getAsJsonObject("clusterMetrics").get("activeNodes").getAsInt();
    } catch (IOException | RuntimeException e) {
      return -1;
    }
  }

  /** Whether a daemon that runs is also at work: it answers, and whoever manages it counts on it. */
  boolean isReady(DaemonId id) {
    switch (id.kind()) {
      case NAMENODE:
        return "Operational".equals(nameNodeState()) && liveDataNodes() >= spec.datanodes();
      case DATANODE:
        return connected(id);
      case SECONDARYNAMENODE:
        return Http.answers(ports.get(PortKind.SECONDARYNAMENODE_HTTP), "/jmx?qry=java.lang:type=Runtime");
      case RESOURCEMANAGER:
        return runningNodeManagers() >= spec.nodemanagers();
      case NODEMANAGER:
        return nodeHealth(id).isEmpty();
      case HISTORYSERVER:
        return Http.answers(ports.get(PortKind.HISTORYSERVER_HTTP), "/ws/v1/history/info");
      default:
        throw new IllegalArgumentException(id.toString());
    }
  }

  private boolean connected(DaemonId id) {
    try {
      return !bean(ports.get(PortKind.DATANODE_HTTP, id), "Hadoop:service=DataNode,name=DataNodeInfo")
          .get("ClusterId").getAsString().isEmpty();
    } catch (IOException | RuntimeException e) {
      return false;
    }
  }

  /** Why a NodeManager is not to be used, in its own words; empty if it is. */
  String nodeHealth(DaemonId id) {
    try {
      JsonObject info = Http.json(ports.get(PortKind.NODEMANAGER_HTTP, id), "/ws/v1/node/info")
          .getAsJsonObject("nodeInfo");
      return info.get("nodeHealthy").getAsBoolean() ? "" : "unhealthy: " + info.get("healthReport").getAsString();
    } catch (IOException | RuntimeException e) {
      return "no answer";
    }
  }

  /** What is still missing, for messages. */
  String pending(DaemonId id) {
    switch (id.kind()) {
      case NAMENODE:
        return nameNodeState() + ", " + Math.max(0, liveDataNodes()) + " of " + spec.datanodes() + " DataNodes live";
      case RESOURCEMANAGER:
        return Math.max(0, runningNodeManagers()) + " of " + spec.nodemanagers() + " NodeManagers running";
      case NODEMANAGER:
        return nodeHealth(id);
      default:
        return "no answer";
    }
  }
}

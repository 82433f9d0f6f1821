package io.howdah.cluster;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Every port that a daemon of the cluster listens on, by the name that --port takes. */
enum PortKind {
  NAMENODE_RPC(DaemonKind.NAMENODE, "rpc"),
  NAMENODE_HTTP(DaemonKind.NAMENODE, "http"),
  SECONDARYNAMENODE_HTTP(DaemonKind.SECONDARYNAMENODE, "http"),
  DATANODE_DATA(DaemonKind.DATANODE, "data"),
  DATANODE_IPC(DaemonKind.DATANODE, "ipc"),
  DATANODE_HTTP(DaemonKind.DATANODE, "http"),
  RESOURCEMANAGER_CLIENT(DaemonKind.RESOURCEMANAGER, "client"),
  RESOURCEMANAGER_SCHEDULER(DaemonKind.RESOURCEMANAGER, "scheduler"),
  RESOURCEMANAGER_TRACKER(DaemonKind.RESOURCEMANAGER, "tracker"),
  RESOURCEMANAGER_ADMIN(DaemonKind.RESOURCEMANAGER, "admin"),
  RESOURCEMANAGER_HTTP(DaemonKind.RESOURCEMANAGER, "http"),
  NODEMANAGER_RPC(DaemonKind.NODEMANAGER, "rpc"),
  NODEMANAGER_LOCALIZER(DaemonKind.NODEMANAGER, "localizer"),
  NODEMANAGER_HTTP(DaemonKind.NODEMANAGER, "http"),
  NODEMANAGER_SHUFFLE(DaemonKind.NODEMANAGER, "shuffle"),
  HISTORYSERVER_RPC(DaemonKind.HISTORYSERVER, "rpc"),
  HISTORYSERVER_ADMIN(DaemonKind.HISTORYSERVER, "admin"),
  HISTORYSERVER_HTTP(DaemonKind.HISTORYSERVER, "http");

  private final DaemonKind daemon;
  private final String label;

  PortKind(DaemonKind daemon, String part) {
    this.daemon = daemon;
    this.label = daemon.label() + "." + part;
  }

  DaemonKind daemon() {
    return daemon;
  }

  /** "datanode.http": the name on the command line. */
  String label() {
    return label;
  }

  /** "datanode-2.http": one daemon's port of this kind, the name in records and messages. */
  String of(DaemonId id) {
    return id + label.substring(label.indexOf('.'));
  }

  static List<PortKind> of(DaemonKind daemon) {
    List<PortKind> kinds = new ArrayList<>();
    for (PortKind kind : values()) {
      if (kind.daemon == daemon) {
        kinds.add(kind);
      }
    }
    return kinds;
  }

  static PortKind named(String label) {
    for (PortKind kind : values()) {
      if (kind.label.equals(label)) {
        return kind;
      }
    }
    throw new ClusterException("no kind of port is called " + label,
        "the kinds are: " + Arrays.stream(values()).map(PortKind::label).collect(Collectors.joining(" ")));
  }
}

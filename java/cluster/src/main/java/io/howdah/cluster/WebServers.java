package io.howdah.cluster;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;

/** The web servers of a cluster's daemons: where their counters are. */
final class WebServers {
  private static final String NAMENODE_PORT = "50070";
  private static final String RESOURCEMANAGER_PORT = "8088";

  private final Map<String, String> addresses = new LinkedHashMap<>();

  private WebServers() {
  }

  /** Those of a local cluster that runs. */
  static WebServers of(Cluster cluster) {
    WebServers servers = new WebServers();
    Ports ports = cluster.ports();
    for (DaemonId id : cluster.running().keySet()) {
      PortKind.of(id.kind()).stream().filter(kind -> kind.label().endsWith(".http"))
          .forEach(kind -> servers.addresses.put(id.toString(), "localhost:" + ports.get(kind, id)));
    }
    return servers;
  }

  /** Whether a default file system is the nodes' own, which the modes without HDFS have. */
  private static boolean isShared(String fs) {
    return fs.startsWith("shared:") || fs.startsWith("file:");
  }

  /**
   * Those of the cluster that a configuration names: NameNode and ResourceManager, and the nodes that these know of.
   *
   * @throws ClusterException if it names no NameNode, or that does not answer
   */
  static WebServers of(Path conf) {
    Map<String, String> site = new LinkedHashMap<>();
    SiteFiles.read(conf).present().values().forEach(file -> site.putAll(file.properties()));
    String fs = site.getOrDefault("fs.defaultFS", site.getOrDefault("fs.default.name", ""));
    String manager = site.get("yarn.resourcemanager.hostname");
    boolean hasHdfs = fs.startsWith("hdfs://");
    if (!hasHdfs && (manager == null || !isShared(fs))) {
      throw new ClusterException("the configuration " + conf + " names no NameNode (fs.defaultFS)",
          "set HADOOP_CONF_DIR to a cluster's configuration");
    }
    WebServers servers = new WebServers();
    if (hasHdfs) {
      String host = host(fs.substring("hdfs://".length()));
      servers.addHdfs(site.getOrDefault("dfs.namenode.http-address", host + ":" + NAMENODE_PORT));
    }
    String yarn = site.getOrDefault("yarn.resourcemanager.webapp.address",
        manager == null ? null : manager + ":" + RESOURCEMANAGER_PORT);
    if (yarn != null) {
      servers.addYarn(yarn.replace("${yarn.resourcemanager.hostname}", String.valueOf(manager)));
    }
    return servers;
  }

  private void addHdfs(String namenode) {
    addresses.put("namenode", namenode);
    try {
      JsonObject info = json(namenode, "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo")
          .getAsJsonArray("beans").get(0).getAsJsonObject();
      JsonObject live = new JsonParser().parse(info.get("LiveNodes").getAsString()).getAsJsonObject();
      for (Map.Entry<String, JsonElement> node : live.entrySet()) {
        addresses.put("datanode " + node.getKey(), node.getValue().getAsJsonObject().get("infoAddr").getAsString());
      }
    } catch (IOException | RuntimeException e) {
      throw new ClusterException("the NameNode's web server " + namenode + " does not answer: " + e.getMessage(),
          "is the cluster running, with HTTP and without Kerberos on its web pages?");
    }
  }

  private void addYarn(String manager) {
    try {
      JsonObject nodes = json(manager, "/ws/v1/cluster/nodes").getAsJsonObject("nodes");
      addresses.put("resourcemanager", manager);
      for (JsonElement node : nodes.getAsJsonArray("node")) {
        String address = node.getAsJsonObject().get("nodeHTTPAddress").getAsString();
        addresses.put("nodemanager " + address, address);
      }
    } catch (IOException | RuntimeException e) {
      // HDFS may run without YARN.
      System.err.println("howdah: the ResourceManager's web server " + manager + " does not answer: " + e.getMessage());
    }
  }

  private static JsonObject json(String address, String path) throws IOException {
    return Http.json(host(address), port(address), path);
  }

  private static String host(String address) {
    return address.replaceAll("[:/].*", "");
  }

  private static int port(String address) {
    return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  /**
   * Asks each daemon. One that does not answer is named on the standard error stream and left out.
   *
   * @return how many answered
   */
  int ask(BiConsumer<String, DaemonCounts> to) {
    int answered = 0;
    for (Map.Entry<String, String> server : addresses.entrySet()) {
      try {
        to.accept(server.getKey(), DaemonCounts.ask(server.getKey(), host(server.getValue()), port(server.getValue())));
        answered++;
      } catch (IOException | RuntimeException e) {
        System.err.println("howdah: " + server.getKey() + " (" + server.getValue() + ") does not answer: "
            + e.getMessage());
      }
    }
    return answered;
  }
}

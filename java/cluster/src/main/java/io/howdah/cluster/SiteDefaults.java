package io.howdah.cluster;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What our site files say: everything on loopback, several daemons of a kind on one host, and short waits where stock
 * defaults are made for hundreds of nodes.
 */
final class SiteDefaults {
  private static final String HOST = "localhost";
  /** Of files without HDFS: a split of a job; the stripe of a shared file system, as it is advised for large files. */
  private static final String BLOCK_SIZE = Integer.toString(256 << 20);

  private final ClusterSpec spec;
  private final Ports ports;
  private final StorageFolders storage;
  private final Path plainTree;
  private final Path plainDir;

  /**
   * The defaults of one cluster.
   *
   * @param storage where DataNodes keep blocks in a storage mode
   * @param plainTree a path to the tree without white space: YARN does not quote the commands of containers
   * @param plainDir likewise a path to the cluster's folder; a DataNode takes %20 in its folder's name for a format
   */
  SiteDefaults(ClusterSpec spec, Ports ports, StorageFolders storage, Path plainTree, Path plainDir) {
    this.spec = spec;
    this.ports = ports;
    this.storage = storage;
    this.plainTree = plainTree;
    this.plainDir = plainDir;
  }

  /** One site file's properties, for a daemon or (null) for clients. */
  Map<String, String> of(String site, DaemonId id) {
    switch (site) {
      case "core-site.xml":
        return core();
      case "hdfs-site.xml":
        return hdfs(id);
      case "mapred-site.xml":
        return spec.yarn() ? mapred(id) : new LinkedHashMap<>();
      case "yarn-site.xml":
        return spec.yarn() ? yarn(id) : new LinkedHashMap<>();
      case "capacity-scheduler.xml":
        return capacityScheduler();
      default:
        throw new IllegalArgumentException(site);
    }
  }

  private Map<String, String> core() {
    Map<String, String> p = new LinkedHashMap<>();
    p.put("fs.defaultFS", spec.fileSystem(ports));
    if (!spec.hasHdfs()) {
      p.put("fs.AbstractFileSystem.shared.impl", "io.howdah.mapreduce.SharedFs");
      p.put("fs.local.block.size", BLOCK_SIZE);
    }
    p.put("hadoop.tmp.dir", plainDir.resolve("data/tmp").toString());
    return p;
  }

  private Map<String, String> hdfs(DaemonId id) {
    Map<String, String> p = new LinkedHashMap<>();
    if (!spec.hasHdfs()) {
      return p;
    }
    p.put("dfs.replication", Integer.toString(spec.replication()));
    p.put("dfs.namenode.name.dir", uri("namenode"));
    p.put("dfs.namenode.http-address", address(PortKind.NAMENODE_HTTP));
    // Nothing to wait for once every block is reported, and a dead DataNode is seen after 40 s, not ten minutes.
    p.put("dfs.namenode.safemode.extension", "0");
    p.put("dfs.namenode.heartbeat.recheck-interval", "5000");
    // With as many DataNodes as replicas there is no other to take the place of one that dies during a write.
    p.put("dfs.client.block.write.replace-datanode-on-failure.best-effort", "true");
    // Names of directory services, too: 11100215, alice@site.org, DOM\alice.
    p.put("dfs.webhdfs.user.provider.user.pattern", "^[\\p{L}\\p{N}_][\\p{L}\\p{N}._@\\\\-]*[$]?$");
    if (spec.daemons().contains(DaemonId.of(DaemonKind.SECONDARYNAMENODE))) {
      p.put("dfs.namenode.secondary.http-address", address(PortKind.SECONDARYNAMENODE_HTTP));
      p.put("dfs.namenode.checkpoint.dir", uri("secondarynamenode"));
    }
    if (spec.isTiered()) {
      p.put("dfs.rdma.hhh.mode", spec.mode());
      // All DataNodes are on one tmpfs.
      p.put("dfs.rdma.memory.capacity", Long.toString(storage.capacity()));
      if (spec.isShared()) {
        p.put("dfs.rdma.lustre.path", storage.shared().toString());
        p.put("dfs.rdma.lustre.path.local", "true");
      }
    }
    if (id != null && id.kind() == DaemonKind.DATANODE) {
      p.put("dfs.datanode.hostname", HOST);
      String disk = uri(id.toString());
      p.put("dfs.datanode.data.dir", storage.value(id, disk));
      p.put("dfs.datanode.address", address(PortKind.DATANODE_DATA, id));
      p.put("dfs.datanode.ipc.address", address(PortKind.DATANODE_IPC, id));
      p.put("dfs.datanode.http.address", address(PortKind.DATANODE_HTTP, id));
    }
    return p;
  }

  private Map<String, String> mapred(DaemonId id) {
    Map<String, String> p = new LinkedHashMap<>();
    p.put("mapreduce.framework.name", "yarn");
    p.put("mapreduce.application.classpath", String.join(",", Tree.hadoopClassPath(plainTree)));
    p.put("yarn.app.mapreduce.am.staging-dir", spec.hasHdfs() ? "/user" : staging());
    if (!spec.hasHdfs()) {
      p.put("mapred.rdma.shuffle.lustre", spec.isWithoutLocalDisks() ? "2" : "1");
    }
    p.put("yarn.app.mapreduce.am.resource.mb", "512");
    p.put("yarn.app.mapreduce.am.command-opts", "-Xmx384m");
    p.put("mapreduce.map.memory.mb", "512");
    p.put("mapreduce.map.java.opts", "-Xmx400m");
    p.put("mapreduce.reduce.memory.mb", "512");
    p.put("mapreduce.reduce.java.opts", "-Xmx400m");
    p.put("mapreduce.client.submit.file.replication", Integer.toString(spec.replication()));
    p.put("mapreduce.client.completion.pollinterval", "500");
    p.put("yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms", "250");
    if (spec.history()) {
      p.put("mapreduce.jobhistory.address", address(PortKind.HISTORYSERVER_RPC));
      p.put("mapreduce.jobhistory.admin.address", address(PortKind.HISTORYSERVER_ADMIN));
      p.put("mapreduce.jobhistory.webapp.address", address(PortKind.HISTORYSERVER_HTTP));
    }
    if (id != null && id.kind() == DaemonKind.NODEMANAGER) {
      p.put("mapreduce.shuffle.port", Integer.toString(ports.get(PortKind.NODEMANAGER_SHUFFLE, id)));
    }
    return p;
  }

  private Map<String, String> yarn(DaemonId id) {
    Map<String, String> p = new LinkedHashMap<>();
    p.put("yarn.resourcemanager.hostname", HOST);
    p.put("yarn.resourcemanager.address", address(PortKind.RESOURCEMANAGER_CLIENT));
    p.put("yarn.resourcemanager.scheduler.address", address(PortKind.RESOURCEMANAGER_SCHEDULER));
    p.put("yarn.resourcemanager.resource-tracker.address", address(PortKind.RESOURCEMANAGER_TRACKER));
    p.put("yarn.resourcemanager.admin.address", address(PortKind.RESOURCEMANAGER_ADMIN));
    p.put("yarn.resourcemanager.webapp.address", address(PortKind.RESOURCEMANAGER_HTTP));
    p.put("yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", "250");
    p.put("yarn.nm.liveness-monitor.expiry-interval-ms", "60000");
    p.put("yarn.scheduler.minimum-allocation-mb", "256");
    p.put("yarn.scheduler.maximum-allocation-mb", Integer.toString(spec.nodeMemoryMb()));
    p.put("yarn.scheduler.maximum-allocation-vcores", Integer.toString(spec.nodeVcores()));
    String conf = plainDir.resolve("conf").toString();
    p.put("yarn.application.classpath", conf + "," + String.join(",", Tree.hadoopClassPath(plainTree)));
    if (id != null && id.kind() == DaemonKind.NODEMANAGER) {
      nodeManager(p, id);
    }
    return p;
  }

  private void nodeManager(Map<String, String> p, DaemonId id) {
    p.put("yarn.nodemanager.hostname", HOST);
    p.put("yarn.nodemanager.address", address(PortKind.NODEMANAGER_RPC, id));
    p.put("yarn.nodemanager.localizer.address", address(PortKind.NODEMANAGER_LOCALIZER, id));
    p.put("yarn.nodemanager.webapp.address", address(PortKind.NODEMANAGER_HTTP, id));
    Path local = spec.isWithoutLocalDisks() ? storage.shared() : plainDir.resolve("data");
    p.put("yarn.nodemanager.local-dirs", local.resolve(id.toString()).toString());
    p.put("yarn.nodemanager.log-dirs", plainDir.resolve("logs").resolve(id + "-containers").toString());
    p.put("yarn.nodemanager.aux-services", "mapreduce_shuffle");
    p.put("yarn.nodemanager.aux-services.mapreduce_shuffle.class", "org.apache.hadoop.mapred.ShuffleHandler");
    p.put("yarn.nodemanager.resource.memory-mb", Integer.toString(spec.nodeMemoryMb()));
    p.put("yarn.nodemanager.resource.cpu-vcores", Integer.toString(spec.nodeVcores()));
    // A JVM reserves far more address space than it uses.
    p.put("yarn.nodemanager.vmem-check-enabled", "false");
    p.put("yarn.nodemanager.pmem-check-enabled", "false");
    p.put("yarn.nodemanager.env-whitelist", "JAVA_HOME,HADOOP_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,"
        + "HADOOP_YARN_HOME,HADOOP_MAPRED_HOME,HADOOP_CONF_DIR," + Launcher.CLUSTER_ID);
    // Stock 90 % would call a developer's disk with 25 GB free unhealthy.
    p.put("yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "99.0");
  }

  private static Map<String, String> capacityScheduler() {
    Map<String, String> p = new LinkedHashMap<>();
    p.put("yarn.scheduler.capacity.root.queues", "default");
    p.put("yarn.scheduler.capacity.root.default.capacity", "100");
    p.put("yarn.scheduler.capacity.maximum-am-resource-percent", "0.5");
    return p;
  }

  /** spark-defaults.conf. */
  Map<String, String> spark() {
    Map<String, String> p = new LinkedHashMap<>();
    if (spec.yarn()) {
      p.put("spark.master", "yarn");
      p.put("spark.yarn.jars", "local:" + plainTree.resolve("jars") + "/*");
      p.put("spark.yarn.am.memory", "512m");
      if (!spec.hasHdfs()) {
        p.put("spark.yarn.stagingDir", staging());
      }
      p.put("spark.yarn.submit.file.replication", Integer.toString(spec.replication()));
      for (String env : new String[] {"spark.executorEnv.", "spark.yarn.appMasterEnv."}) {
        p.put(env + "SPARK_LOCAL_IP", "127.0.0.1");
        p.put(env + "SPARK_LOCAL_HOSTNAME", HOST);
      }
    }
    return p;
  }

  private String staging() {
    return storage.shared().resolve("staging").toString();
  }

  private String uri(String name) {
    String uri = plainDir.resolve("data").resolve(name).toUri().toString();
    return uri.endsWith("/") ? uri.substring(0, uri.length() - 1) : uri;
  }

  private String address(PortKind kind) {
    return address(kind, DaemonId.of(kind.daemon()));
  }

  private String address(PortKind kind, DaemonId id) {
    return HOST + ":" + ports.get(kind, id);
  }
}

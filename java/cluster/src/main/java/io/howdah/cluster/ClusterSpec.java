package io.howdah.cluster;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/**
 * What a cluster consists of: how many daemons of which kind, their memory, and what the user adds to the site files.
 * Recorded in the cluster's folder, so that the next start builds the same. Not thread-safe.
 */
public final class ClusterSpec {
  private static final String SITE = "site.";
  private static final String SHARED_MODE = "hhh-l";
  private static final String LUSTRE_LOCAL = "lustre-local";
  private static final String LUSTRE_ONLY = "lustre-only";
  private static final List<String> MODES = Arrays.asList("hhh", "hhh-m", SHARED_MODE, LUSTRE_LOCAL, LUSTRE_ONLY);

  private int datanodes = 3;
  private int nodemanagers = 2;
  private boolean yarn = true;
  private boolean history = true;
  private boolean secondary;
  private boolean stock;
  private int heapMb;
  private int memoryMb;
  private int vcores;
  private Path conf;
  private String mode;
  private Path shared;
  private Path ram;
  private Path ssd;
  private boolean recorded;
  private final Map<String, String> site = new TreeMap<>();

  /** DataNodes, at least 1; 3 by default. */
  public ClusterSpec datanodes(int count) {
    datanodes = atLeastOne("--datanodes", count);
    return this;
  }

  /** NodeManagers, at least 1; 2 by default. */
  public ClusterSpec nodemanagers(int count) {
    nodemanagers = atLeastOne("--nodemanagers", count);
    return this;
  }

  /** Whether there is YARN at all; true by default. */
  public ClusterSpec yarn(boolean on) {
    yarn = on;
    return this;
  }

  /** Whether there is a MapReduce history server; true by default, never without YARN. */
  public ClusterSpec history(boolean on) {
    history = on;
    return this;
  }

  /** Whether there is a secondary NameNode; false by default. */
  public ClusterSpec secondary(boolean on) {
    secondary = on;
    return this;
  }

  /** Whether RDMA is off everywhere, as in the stock release; false by default. */
  public ClusterSpec stock(boolean on) {
    stock = on;
    return this;
  }

  /** Heap of every daemon in MB; by default 512 for NameNode and ResourceManager, 256 for the rest. */
  public ClusterSpec heapMb(int megabytes) {
    heapMb = inRange("--heap", megabytes, 64);
    return this;
  }

  /** Memory in MB that each NodeManager lends to containers; by default its share of half this machine's. */
  public ClusterSpec memoryMb(int megabytes) {
    memoryMb = inRange("--memory", megabytes, 512);
    return this;
  }

  /** Virtual cores that each NodeManager lends; by default as many as this machine has, at least 2. */
  public ClusterSpec vcores(int count) {
    vcores = atLeastOne("--vcores", count);
    return this;
  }

  /** A folder with site files of the user's, which are laid over ours, or null. */
  public ClusterSpec conf(Path folder) {
    conf = folder;
    return this;
  }

  /** The storage mode of HDFS, or a mode without HDFS; none by default. */
  public ClusterSpec mode(String name) {
    if (!MODES.contains(name)) {
      throw new ClusterException("--mode " + name + ": there is no storage mode of that name in this release",
          "use --mode " + String.join(" or ", MODES));
    }
    boolean hadHdfs = hasHdfs();
    mode = name;
    if (recorded && hasHdfs() != hadHdfs) {
      throw new ClusterException("the cluster was made " + (hadHdfs ? "with" : "without") + " HDFS, and --mode " + name
          + " is " + (hadHdfs ? "without" : "with") + " it",
          "choose another folder with --dir, or begin anew with --fresh, which deletes the data");
    }
    return this;
  }

  /** The folder on a tmpfs in which a cluster in a storage mode keeps replicas in RAM; /dev/shm by default. */
  public ClusterSpec ram(Path folder) {
    ram = unchanged("--ram", ram, folder);
    return this;
  }

  /** The folder on an SSD in which a cluster in a storage mode keeps replicas; none by default. */
  public ClusterSpec ssd(Path folder) {
    ssd = unchanged("--ssd", ssd, folder);
    return this;
  }

  /**
   * The folder that all nodes have: in the mode hhh-l for the copies of blocks, in modes without HDFS for what jobs
   * keep between them.
   */
  public ClusterSpec shared(Path folder) {
    shared = unchanged("--shared", shared, folder);
    return this;
  }

  private static Path unchanged(String option, Path recorded, Path asked) {
    Path folder = asked.toAbsolutePath().normalize();
    if (recorded != null && !recorded.equals(folder)) {
      throw new ClusterException("the cluster has data in " + recorded + ", and " + option + " is " + folder,
          "leave " + option + " out, or begin anew with --fresh, which deletes the data");
    }
    return folder;
  }

  /** A property for the site files (or spark-defaults.conf, if its name begins with "spark."). */
  public ClusterSpec site(String name, String value) {
    site.put(name, value);
    return this;
  }

  private static int atLeastOne(String option, int value) {
    return inRange(option, value, 1);
  }

  private static int inRange(String option, int value, int least) {
    if (value < least) {
      throw new ClusterException(option + " " + value + " is too few", "the least is " + least);
    }
    return value;
  }

  int datanodes() {
    return datanodes;
  }

  int nodemanagers() {
    return yarn ? nodemanagers : 0;
  }

  boolean yarn() {
    return yarn;
  }

  boolean history() {
    return yarn && history;
  }

  boolean stock() {
    return stock;
  }

  int replication() {
    return isShared() || !hasHdfs() ? 1 : Math.min(3, datanodes);
  }

  int heapMb(DaemonKind kind) {
    return heapMb > 0 ? heapMb : kind.heapMb();
  }

  int nodeMemoryMb() {
    if (memoryMb > 0) {
      return memoryMb;
    }
    long share = Machine.memoryMb() / 2 / nodemanagers;
    return (int) Math.max(1024, Math.min(65536, share / 256 * 256));
  }

  int nodeVcores() {
    return vcores > 0 ? vcores : Math.max(2, Machine.cores());
  }

  Path conf() {
    return conf;
  }

  /** The mode; null if there is none. */
  String mode() {
    return mode;
  }

  Path ram() {
    return ram;
  }

  Path ssd() {
    return ssd;
  }

  Path shared() {
    return shared;
  }

  /** Whether the mode has copies on a path that all DataNodes have. */
  boolean isShared() {
    return SHARED_MODE.equals(mode);
  }

  /** Whether the file system is HDFS; else it is the nodes' own, with a folder that all of them have. */
  boolean hasHdfs() {
    return mode == null || !mode.equals(LUSTRE_LOCAL) && !mode.equals(LUSTRE_ONLY);
  }

  /** Whether NodeManagers keep what jobs write meanwhile in the folder that all of them have. */
  boolean isWithoutLocalDisks() {
    return LUSTRE_ONLY.equals(mode);
  }

  /** The default file system's URI. */
  String fileSystem(Ports ports) {
    return hasHdfs() ? "hdfs://localhost:" + ports.get(PortKind.NAMENODE_RPC) : "shared:///";
  }

  Map<String, String> site() {
    return site;
  }

  /** Every daemon, in the order of starting. */
  List<DaemonId> daemons() {
    List<DaemonId> ids = new ArrayList<>();
    if (hasHdfs()) {
      ids.add(DaemonId.of(DaemonKind.NAMENODE));
      for (int n = 1; n <= datanodes; n++) {
        ids.add(new DaemonId(DaemonKind.DATANODE, n));
      }
      if (secondary) {
        ids.add(DaemonId.of(DaemonKind.SECONDARYNAMENODE));
      }
    }
    if (yarn) {
      ids.add(DaemonId.of(DaemonKind.RESOURCEMANAGER));
      for (int n = 1; n <= nodemanagers; n++) {
        ids.add(new DaemonId(DaemonKind.NODEMANAGER, n));
      }
    }
    if (history()) {
      ids.add(DaemonId.of(DaemonKind.HISTORYSERVER));
    }
    return ids;
  }

  void save(Properties to) {
    to.setProperty("datanodes", Integer.toString(datanodes));
    to.setProperty("nodemanagers", Integer.toString(nodemanagers));
    to.setProperty("yarn", Boolean.toString(yarn));
    to.setProperty("history", Boolean.toString(history));
    to.setProperty("secondary", Boolean.toString(secondary));
    to.setProperty("stock", Boolean.toString(stock));
    to.setProperty("heap", Integer.toString(heapMb));
    to.setProperty("memory", Integer.toString(memoryMb));
    to.setProperty("vcores", Integer.toString(vcores));
    save(to, "conf", conf);
    save(to, "mode", mode);
    save(to, "ram", ram);
    save(to, "ssd", ssd);
    save(to, "shared", shared);
    site.forEach((name, value) -> to.setProperty(SITE + name, value));
  }

  private static void save(Properties to, String name, Object value) {
    if (value != null) {
      to.setProperty(name, value.toString());
    }
  }

  private static Path path(Properties from, String name) {
    String path = from.getProperty(name);
    return path == null ? null : java.nio.file.Paths.get(path);
  }

  static ClusterSpec load(Properties from) {
    ClusterSpec spec = new ClusterSpec();
    spec.recorded = true;
    spec.datanodes = Integer.parseInt(from.getProperty("datanodes"));
    spec.nodemanagers = Integer.parseInt(from.getProperty("nodemanagers"));
    spec.yarn = Boolean.parseBoolean(from.getProperty("yarn"));
    spec.history = Boolean.parseBoolean(from.getProperty("history"));
    spec.secondary = Boolean.parseBoolean(from.getProperty("secondary"));
    spec.stock = Boolean.parseBoolean(from.getProperty("stock"));
    spec.heapMb = Integer.parseInt(from.getProperty("heap"));
    spec.memoryMb = Integer.parseInt(from.getProperty("memory"));
    spec.vcores = Integer.parseInt(from.getProperty("vcores"));
    spec.conf = path(from, "conf");
    spec.mode = from.getProperty("mode");
    spec.ram = path(from, "ram");
    spec.ssd = path(from, "ssd");
    spec.shared = path(from, "shared");
    for (String name : from.stringPropertyNames()) {
      if (name.startsWith(SITE)) {
        spec.site.put(name.substring(SITE.length()), from.getProperty(name));
      }
    }
    return spec;
  }
}

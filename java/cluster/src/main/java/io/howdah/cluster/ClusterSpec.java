package io.howdah.cluster;

import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * What a cluster consists of: how many daemons of which kind, their memory, and what the user adds to the site files.
 * Recorded in the cluster's folder, so that the next start builds the same. Not thread-safe.
 */
public final class ClusterSpec {
  static final String SITE = "site.";
  private static final Path DEFAULT_RAM = Paths.get("/dev/shm");

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
  private boolean hasData;
  private final Set<Path> left = new TreeSet<>();
  private final Set<Path> made = new TreeSet<>();
  private final Set<String> changed = new HashSet<>();
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

  /**
   * The storage mode of HDFS, or a mode without HDFS, by any name that --mode takes; none by default. A recorded shared
   * folder that the mode does not use is left. Folders in RAM and on SSD stay, since they may hold blocks.
   */
  public ClusterSpec mode(String name) {
    boolean hadHdfs = hasHdfs();
    String asked = Modes.named(name);
    if (hasData && Modes.hasHdfs(asked) != hadHdfs) {
      throw new ClusterException("the cluster was made " + (hadHdfs ? "with" : "without") + " HDFS, and --mode " + name
          + " is " + (hadHdfs ? "without" : "with") + " it",
          "choose another folder with --dir, or begin anew with --fresh, which deletes the data");
    }
    if (shared != null && !Modes.needsShared(asked)) {
      if (hasData) {
        left.add(shared);
      }
      shared = null;
    }
    mode = asked;
    return this;
  }

  /** The folder on a tmpfs in which a cluster in a storage mode keeps replicas in RAM; /dev/shm by default. */
  public ClusterSpec ram(Path folder) {
    ram = asked("--ram", ram, folder);
    return this;
  }

  /** The folder on an SSD in which a cluster in a storage mode keeps replicas; none by default. */
  public ClusterSpec ssd(Path folder) {
    ssd = asked("--ssd", ssd, folder);
    return this;
  }

  /**
   * The folder that all nodes have: in the mode hhh-l for the copies of blocks, in modes without HDFS for what jobs
   * keep between them.
   */
  public ClusterSpec shared(Path folder) {
    shared = asked("--shared", shared, folder);
    left.remove(shared);
    return this;
  }

  private Path asked(String option, Path recorded, Path asked) {
    Path folder = asked.toAbsolutePath().normalize();
    if (!folder.equals(recorded)) {
      if (recorded != null && hasData) {
        throw new ClusterException("the cluster has data in " + recorded + ", and " + option + " is " + folder,
            "leave " + option + " out, or begin anew with --fresh, which deletes the data");
      }
      changed.add(option);
    }
    return folder;
  }

  /** Whether one of --ram, --ssd and --shared was set to another folder than the record has. */
  boolean isChanged(String option) {
    return changed.contains(option);
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

  /** The folder in RAM; null if the cluster has none. A cluster that left its storage mode keeps it. */
  Path ram() {
    return ram == null && isTiered() ? DEFAULT_RAM : ram;
  }

  Path ssd() {
    return ssd;
  }

  Path shared() {
    return shared;
  }

  /** Folders that were shared ones of an earlier mode, and still have files of the cluster. */
  Set<Path> left() {
    return left;
  }

  /** Folders that a start of the cluster made, for its own ones in them. */
  Set<Path> made() {
    return made;
  }

  /** Makes a folder that another spec of the cluster uses one that has files of this cluster, whatever the mode. */
  void keep(ClusterSpec other, Path folder) {
    if (folder.equals(other.shared)) {
      left.add(folder);
    } else if (folder.equals(other.ssd)) {
      ssd = folder;
    } else {
      ram = folder;
    }
    for (Path each = folder; each != null; each = each.getParent()) {
      if (other.made.contains(each)) {
        made.add(each);
      }
    }
  }

  /** Whether the cluster has data, which binds it to the folders that it is in. */
  boolean hasData() {
    return hasData;
  }

  /** Says that the cluster has no data. */
  ClusterSpec withoutData() {
    hasData = false;
    return this;
  }

  /** Whether DataNodes keep replicas on several kinds of storage. */
  boolean isTiered() {
    return mode != null && hasHdfs();
  }

  /** Whether the mode has copies on a path that all DataNodes have. */
  boolean isShared() {
    return Modes.HHH_L.equals(mode);
  }

  /** Whether the file system is HDFS; else it is the nodes' own, with a folder that all of them have. */
  boolean hasHdfs() {
    return Modes.hasHdfs(mode);
  }

  /** Whether NodeManagers keep what jobs write meanwhile in the folder that all of them have. */
  boolean isWithoutLocalDisks() {
    return Modes.LUSTRE_ONLY.equals(mode);
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
    save(to, "ram", ram());
    save(to, "ssd", ssd);
    save(to, "shared", shared);
    save(to, "left", join(left));
    save(to, "made", join(made));
    site.forEach((name, value) -> to.setProperty(SITE + name, value));
  }

  private static void save(Properties to, String name, Object value) {
    if (value != null) {
      to.setProperty(name, value.toString());
    }
  }

  private static Path path(Properties from, String name) {
    String path = from.getProperty(name);
    return path == null ? null : Paths.get(path);
  }

  /** Null if there is none. The names have no comma: {@link StorageFolders#check} refuses those. */
  private static String join(Collection<Path> paths) {
    return paths.isEmpty() ? null : paths.stream().map(Path::toString).collect(Collectors.joining(","));
  }

  private static void split(String paths, Collection<Path> to) {
    if (paths != null) {
      for (String path : paths.split(",")) {
        to.add(Paths.get(path));
      }
    }
  }

  /** The settings of a record, of a cluster that has data. */
  static ClusterSpec load(Properties from) {
    ClusterSpec spec = new ClusterSpec();
    spec.hasData = true;
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
    spec.ram = spec.ram();
    spec.ssd = path(from, "ssd");
    spec.shared = path(from, "shared");
    split(from.getProperty("left"), spec.left);
    split(from.getProperty("made"), spec.made);
    for (String name : from.stringPropertyNames()) {
      if (name.startsWith(SITE)) {
        spec.site.put(name.substring(SITE.length()), from.getProperty(name));
      }
    }
    return spec;
  }
}

package io.howdah.cluster;

import java.nio.file.Path;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** howdah cluster start. */
@Command(name = "start", description = {"Starts the cluster, or what of it does not run.",
    "Settings and ports are recorded: the next start needs no options and finds the same data."})
final class StartCommand implements Callable<Integer> {
  @Mixin
  private Selection selection;

  @Option(names = "--datanodes", paramLabel = "N", description = "DataNodes (default: 3)")
  private Integer datanodes;

  @Option(names = "--nodemanagers", paramLabel = "N", description = "NodeManagers (default: 2)")
  private Integer nodemanagers;

  @Option(names = "--yarn", negatable = true, defaultValue = Option.NULL_VALUE, fallbackValue = "true",
      description = "with or without YARN (default: with)")
  private Boolean yarn;

  @Option(names = "--history", negatable = true, defaultValue = Option.NULL_VALUE, fallbackValue = "true",
      description = "with or without a history server (default: with)")
  private Boolean history;

  @Option(names = "--secondary", negatable = true, defaultValue = Option.NULL_VALUE, fallbackValue = "true",
      description = "with or without a secondary NameNode (default: without)")
  private Boolean secondary;

  @Option(names = "--stock", negatable = true, defaultValue = Option.NULL_VALUE, fallbackValue = "true",
      description = "with RDMA off everywhere, as in the stock release (default: RDMA where both ends can)")
  private Boolean stock;

  @Option(names = "--mode", paramLabel = "MODE",
      description = "a storage mode of HDFS: hhh, with one replica of a block in RAM, one on SSD, the rest on disk; "
          + "hhh-m, with all in RAM, persisted behind; or hhh-l, with one replica and a copy of it in --shared. Or "
          + "MapReduce without HDFS, on files in --shared: lustre-local, with intermediate data on local disks; or "
          + "lustre-only, with that in --shared, too. none leaves a storage mode; for hhh-l, howdah storage import "
          + "comes first. Default, In-Memory and Lustre are hhh, hhh-m and hhh-l")
  private String mode;

  @Option(names = "--ram", paramLabel = "DIR", description = "with --mode: a folder on a tmpfs (default: /dev/shm)")
  private Path ram;

  @Option(names = "--ssd", paramLabel = "DIR", description = "with --mode: a folder on an SSD (default: without one)")
  private Path ssd;

  @Option(names = "--shared", paramLabel = "DIR",
      description = "with --mode hhh-l, lustre-local or lustre-only: a folder of Lustre or of another file system that "
          + "all nodes have")
  private Path shared;

  @Option(names = "--heap", paramLabel = "SIZE",
      description = "heap of each daemon (default: 512m for NameNode and ResourceManager, else 256m)")
  private String heap;

  @Option(names = "--memory", paramLabel = "SIZE",
      description = "memory that each NodeManager lends to containers (default: its share of half this machine's)")
  private String memory;

  @Option(names = "--vcores", paramLabel = "N",
      description = "virtual cores that each NodeManager lends (default: this machine's)")
  private Integer vcores;

  @Option(names = "--port", paramLabel = "KIND=N",
      description = "a port, such as namenode.http=50070; DataNode or NodeManager number K gets N+K-1 "
          + "(default: free ones, chosen once)")
  private Map<String, Integer> ports = new LinkedHashMap<>();

  @Option(names = "--conf", paramLabel = "DIR",
      description = "site files to lay over the cluster's own, or a template (howdah template list)")
  private String conf;

  @Option(names = "-D", paramLabel = "NAME=VALUE", mapFallbackValue = "",
      description = "a property for the site files, or for spark-defaults.conf if it begins with spark.")
  private Map<String, String> site = new LinkedHashMap<>();

  @Option(names = "--fresh", description = "delete the cluster's data, settings and logs first")
  private boolean fresh;

  @Option(names = "--timeout", paramLabel = "SECONDS", defaultValue = "180",
      description = "how long a daemon may take to be ready (default: ${DEFAULT-VALUE})")
  private int timeout;

  @Override
  public Integer call() {
    Tree tree = Tree.find();
    Cluster cluster = selection.cluster();
    Progress progress = new Progress(System.out);
    Map<PortKind, Integer> asked = new EnumMap<>(PortKind.class);
    ports.forEach((kind, port) -> asked.put(PortKind.named(kind), port));
    ClusterSpec spec = apply(fresh ? new ClusterSpec() : cluster.recordedSpec(), tree);
    StorageFolders.check(spec);
    if (fresh) {
      cluster.wipe();
    }
    progress.say("starting a cluster in %s", cluster.dir().root());
    int started = cluster.start(tree, spec, asked, progress, timeout);
    Ports now = cluster.ports();
    progress.say(started == 0 ? "everything is running already" : "the cluster is ready");
    System.out.println();
    System.out.println("  file system       " + spec.fileSystem(now));
    if (spec.hasHdfs()) {
      System.out.println("  NameNode          http://localhost:" + now.get(PortKind.NAMENODE_HTTP));
    } else {
      System.out.println("  shared folder     " + spec.shared());
    }
    if (spec.yarn()) {
      System.out.println("  ResourceManager   http://localhost:" + now.get(PortKind.RESOURCEMANAGER_HTTP));
    }
    if (spec.history()) {
      System.out.println("  history server    http://localhost:" + now.get(PortKind.HISTORYSERVER_HTTP));
    }
    System.out.println("  use it here       eval \"$(howdah cluster env" + selection.options() + ")\"");
    System.out.println("  stop it           howdah cluster stop" + selection.options());
    return 0;
  }

  private ClusterSpec apply(ClusterSpec spec, Tree tree) {
    set(datanodes, spec::datanodes);
    set(nodemanagers, spec::nodemanagers);
    set(yarn, spec::yarn);
    set(history, spec::history);
    set(secondary, spec::secondary);
    set(stock, spec::stock);
    set(heap == null ? null : megabytes("--heap", heap), spec::heapMb);
    set(memory == null ? null : megabytes("--memory", memory), spec::memoryMb);
    set(vcores, spec::vcores);
    set(mode, spec::mode);
    set(ram, spec::ram);
    set(ssd, spec::ssd);
    set(shared, spec::shared);
    if (!spec.hasHdfs() && (datanodes != null || Boolean.TRUE.equals(secondary))) {
      throw new ClusterException((datanodes != null ? "--datanodes" : "--secondary") + " is of no use: --mode "
          + spec.mode() + " has no HDFS", "leave it out");
    }
    if (conf != null) {
      spec.conf(Templates.of(tree).folder(conf));
    }
    site.forEach(spec::site);
    return spec;
  }

  private static <T> void set(T value, java.util.function.Function<T, ClusterSpec> setter) {
    if (value != null) {
      setter.apply(value);
    }
  }

  private static Integer megabytes(String option, String size) {
    long bytes = Sizes.parse(option, size);
    if (bytes < 1 << 20 || bytes > 1L << 50) {
      throw new ClusterException(option + " " + size + " is out of range", "write it like 512m or 1g");
    }
    return (int) (bytes >> 20);
  }
}

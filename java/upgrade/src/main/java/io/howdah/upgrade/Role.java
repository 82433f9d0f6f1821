package io.howdah.upgrade;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** What kind of process this is. It decides the engine's default memory limit and how fallbacks are logged. */
public enum Role {
  /** Ends soon and has a user at its console. */
  COMMAND("64m"),
  /** A container of a job: it logs to a file and its memory is accounted. */
  TASK("64m"),
  /** A long-lived server with a log. */
  DAEMON("1g");

  /** System property that names the role: command, task or daemon. The launch scripts set it. */
  public static final String PROPERTY = "io.howdah.role";

  /** Main classes of Hadoop's and HBase's daemons, without their packages. */
  private static final List<String> DAEMONS = Arrays.asList("NameNode", "SecondaryNameNode", "DataNode",
      "JournalNode", "DFSZKFailoverController", "ResourceManager", "NodeManager", "JobHistoryServer",
      "ApplicationHistoryServer", "WebAppProxyServer", "Nfs3", "Portmap", "SecureDataNodeStarter", "HMaster",
      "HRegionServer", "ThriftServer");
  private static final Role OURS = of(System.getProperty(PROPERTY), System.getProperty("sun.java.command", ""),
      System.getenv());

  private final String memoryLimit;

  Role(String memoryLimit) {
    this.memoryLimit = memoryLimit;
  }

  /** The role of this process. Without the property it is found by the main class or YARN's environment. */
  public static Role ofThisProcess() {
    return OURS;
  }

  static Role of(String property, String command, Map<String, String> environment) {
    for (Role role : values()) {
      if (role.name().equalsIgnoreCase(property)) {
        return role;
      }
    }
    String main = command.trim().split("\\s+", 2)[0];
    String name = main.substring(main.lastIndexOf('.') + 1);
    if (environment.containsKey("CONTAINER_ID") || name.equals("YarnChild")
        || name.equals("CoarseGrainedExecutorBackend")) {
      return TASK;
    }
    return isDaemon(main, name) ? DAEMON : COMMAND;
  }

  private static boolean isDaemon(String main, String name) {
    if (main.startsWith("org.apache.spark.deploy.")) {
      return name.equals("Master") || name.equals("Worker") || name.endsWith("Server") || name.endsWith("Service");
    }
    return (main.startsWith("org.apache.") || main.startsWith("io.howdah.")) && DAEMONS.contains(name);
  }

  /** Default of {@code hadoop.rdma.memory.limit}. */
  public String memoryLimit() {
    return memoryLimit;
  }

  /** As the system property has it. */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}

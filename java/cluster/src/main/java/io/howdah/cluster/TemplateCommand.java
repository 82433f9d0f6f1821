package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** howdah template: a site's configuration out of templates. */
@Command(name = "howdah template", mixinStandardHelpOptions = true, scope = CommandLine.ScopeType.INHERIT,
    synopsisSubcommandLabel = "COMMAND",
    description = "Lists the templates of configurations, or writes one for a site.",
    subcommands = {TemplateCommand.ListCommand.class, TemplateCommand.WriteCommand.class})
public final class TemplateCommand implements Callable<Integer> {
  @CommandLine.Spec
  private CommandLine.Model.CommandSpec spec;

  private TemplateCommand() {
  }

  /** Runs the command and exits with its code: 0 done, 1 failed, 2 wrong usage. */
  public static void main(String[] arguments) {
    System.exit(ClusterCommand.run(new TemplateCommand(), arguments));
  }

  @Override
  public Integer call() {
    spec.commandLine().usage(System.err);
    return 2;
  }

  /** howdah template list. */
  @Command(name = "list", description = "Lists the templates.")
  static final class ListCommand implements Callable<Integer> {
    @Override
    public Integer call() {
      Templates templates = Templates.of(Tree.located());
      for (String name : templates.names()) {
        System.out.printf("  %-14s %s%n", name, templates.title(name));
      }
      return 0;
    }
  }

  /** howdah template write. */
  @Command(name = "write", description = "Makes FOLDER a configuration of Hadoop: the default one, the templates laid "
      + "over it, then what -D says; the later wins. FOLDER must not exist, or be empty.")
  static final class WriteCommand implements Callable<Integer> {
    /** As java.net.URI has it: it finds no host in an address with another one. A variable of Hadoop's is taken too. */
    private static final Pattern HOST = Pattern.compile("([A-Za-z0-9.-]|\\$\\{[^}]*\\})+");
    private static final Set<PosixFilePermission> FILE = PosixFilePermissions.fromString("rw-r--r--");
    private static final Set<PosixFilePermission> FOLDER = PosixFilePermissions.fromString("rwxr-xr-x");
    /** Of stock Hadoop. */
    private static final int REPLICATION = 3;

    @Parameters(index = "0", paramLabel = "FOLDER", description = "the new configuration")
    private Path folder;

    @Parameters(index = "1..*", arity = "1..*", paramLabel = "TEMPLATE",
        description = "one of the list, or a folder of site files")
    private List<String> names;

    @Option(names = "--set", paramLabel = "NAME=VALUE", mapFallbackValue = Option.NULL_VALUE,
        description = "what a template asks for (@|yellow @NAME@|@ in its files)")
    private Map<String, String> values = new LinkedHashMap<>();

    @Option(names = "--workers", paramLabel = "HOST,...",
        description = "hosts of DataNodes and NodeManagers, into the file slaves; with fewer than three,"
            + " dfs.replication is their number unless something else sets it")
    private String workers;

    @Option(names = "-D", paramLabel = "PROPERTY=VALUE", mapFallbackValue = Option.NULL_VALUE,
        description = "into the site file that the property belongs to")
    private Map<String, String> properties = new LinkedHashMap<>();

    @Option(names = "--base", paramLabel = "FOLDER",
        description = "lay the templates over this configuration instead of the default one")
    private Path base;

    @Override
    public Integer call() {
      requireValues("--set", values);
      requireValues("-D", properties);
      requireHosts();
      try {
        folder = folder.toAbsolutePath().normalize();
        refuseUsed();
        write();
      } catch (IOException e) {
        throw new ClusterException("the configuration " + folder + " can't be written: " + ClusterDir.reason(e),
            "choose a folder that you may write");
      }
      return 0;
    }

    private static void requireValues(String option, Map<String, String> given) {
      given.forEach((name, value) -> {
        if (value == null || name.isEmpty()) {
          throw new ClusterException(option + " " + name + " is not NAME=VALUE", "see: howdah template write --help");
        }
      });
    }

    private void requireHosts() {
      for (String name : new String[] {"namenode", "resourcemanager"}) {
        if (values.containsKey(name)) {
          requireHost("--set " + name, values.get(name));
        }
      }
      if (workers != null) {
        for (String worker : workers.split(",", -1)) {
          requireHost("--workers", worker);
        }
      }
    }

    private static void requireHost(String option, String host) {
      if (!HOST.matcher(host).matches()) {
        throw new ClusterException(option + ": '" + host + "' is not the name of a host that Hadoop's addresses take",
            "host names have letters, digits, - and dots (no _): use another name or the address of the host");
      }
    }

    private void write() throws IOException {
      Tree tree = Tree.located();
      Path from = base == null ? defaultConfiguration(tree) : base;
      if (!Files.isDirectory(from)) {
        throw new ClusterException("the configuration " + from + " does not exist", "check --base");
      }
      SiteFiles sites = SiteFiles.read(from);
      Templates templates = Templates.of(tree);
      Map<String, Path> folders = new LinkedHashMap<>();
      names.forEach(name -> folders.put(name, templates.folder(name)));
      TemplateValues.check(values,
          templates.asked(folders.values().stream().filter(Objects::nonNull).collect(Collectors.toList())));
      for (String name : names) {
        sites.lay(templates.fill(name, folders.get(name), values));
      }
      int count = workers == null ? REPLICATION : workers.split(",").length;
      if (count < REPLICATION && !sites.file("hdfs-site.xml").properties().containsKey("dfs.replication")) {
        // An append, or a pipeline with a lost DataNode, asks for another DataNode if there are fewer than replicas.
        sites.set("dfs.replication", Integer.toString(count));
      }
      properties.forEach(sites::set);
      write(from, sites);
    }

    private void refuseUsed() throws IOException {
      if (Files.exists(folder)) {
        boolean used = !Files.isDirectory(folder);
        if (!used) {
          try (Stream<Path> entries = Files.list(folder)) {
            used = entries.findAny().isPresent();
          }
        }
        if (used) {
          throw new ClusterException(folder + " exists and is not an empty folder",
              "choose another one, or move it away");
        }
      }
    }

    /** In the packages etc/hadoop is what the system has chosen; everything is laid over the default. */
    private static Path defaultConfiguration(Tree tree) throws IOException {
      Path etc = tree.home().resolve("etc/hadoop");
      boolean chosen = Files.isSymbolicLink(etc) && Files.readSymbolicLink(etc).equals(Paths.get("/etc/hadoop/conf"));
      return chosen ? Paths.get("/etc/hadoop/conf.dist") : etc;
    }

    /** Whole or not at all. */
    private void write(Path from, SiteFiles sites) throws IOException {
      Path parent = Files.createDirectories(folder.getParent());
      Path made = Files.createTempDirectory(parent, folder.getFileName() + ".");
      try {
        copy(from, made);
        Set<Path> copied = regularFiles(made);
        sites.write(made);
        if (workers != null) {
          Files.write(made.resolve("slaves"), Arrays.asList(workers.split(",")), StandardCharsets.UTF_8);
        }
        // Services and users read it, whatever the umask is. What was copied keeps its own permissions.
        for (Path file : regularFiles(made)) {
          if (!copied.contains(file)) {
            Files.setPosixFilePermissions(file, FILE);
          }
        }
        Files.setPosixFilePermissions(made, FOLDER);
        Files.move(made, folder, StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException | RuntimeException e) {
        ClusterDir.delete(made);
        throw e;
      }
    }

    private static Set<Path> regularFiles(Path folder) throws IOException {
      try (Stream<Path> entries = Files.list(folder)) {
        return entries.filter(Files::isRegularFile).collect(Collectors.toSet());
      }
    }

    /** Copies what is in a folder, following links: the copy must outlive what it was made from. */
    private static void copy(Path from, Path to) throws IOException {
      try (Stream<Path> entries = Files.list(from)) {
        for (Path entry : (Iterable<Path>) entries::iterator) {
          Path copied = to.resolve(entry.getFileName());
          if (Files.isDirectory(entry)) {
            copy(entry, Files.createDirectory(copied));
            Files.setPosixFilePermissions(copied, Files.getPosixFilePermissions(entry));
          } else {
            Set<PosixFilePermission> permissions = EnumSet.copyOf(Files.getPosixFilePermissions(entry));
            permissions.add(PosixFilePermission.OWNER_WRITE);
            Files.copy(entry, copied);
            Files.setPosixFilePermissions(copied, permissions);
          }
        }
      }
    }
  }
}

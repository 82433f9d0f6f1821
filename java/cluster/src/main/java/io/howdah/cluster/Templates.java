package io.howdah.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The templates of configurations in share/conf-templates: folders of site files to lay over others. */
final class Templates {
  private static final Pattern BLANK = Pattern.compile("@([A-Z][A-Z_]*)@");
  /** Names of earlier releases, and today's; "" is the default configuration. */
  private static final Map<String, String> RENAMED;

  static {
    Map<String, String> renamed = new HashMap<>();
    renamed.put("rpc-auto", "");
    renamed.put("rpc-required", "required");
    RENAMED = Collections.unmodifiableMap(renamed);
  }

  private final Path home;

  private Templates(Path home) {
    this.home = home;
  }

  /** Those of a tree. */
  static Templates of(Tree tree) {
    return new Templates(tree.home().resolve("share/conf-templates"));
  }

  /** Names, in their order. */
  List<String> names() {
    try (Stream<Path> folders = Files.list(home)) {
      return folders.filter(Files::isDirectory).map(folder -> folder.getFileName().toString()).sorted()
          .collect(Collectors.toList());
    } catch (IOException e) {
      throw new ClusterException("there are no templates: " + home + " is missing",
          "install the package howdah-conf-templates, or unpack the distribution again");
    }
  }

  /** What a template is for: the comment at the head of its first file that has one. */
  String title(String name) {
    return read(name).present().values().stream().map(SiteFile::title).filter(title -> !title.isEmpty()).findFirst()
        .orElse("");
  }

  /**
   * The folder that an argument names: a folder of site files, or a template. An older name of a template is taken with
   * a line that says what it is called today.
   *
   * @return null if nothing is to be laid over the default configuration
   */
  Path folder(String argument) {
    Path folder = Paths.get(argument).toAbsolutePath().normalize();
    if (Files.isDirectory(folder)) {
      return folder;
    }
    String name = folder.startsWith(home) ? folder.getFileName().toString() : argument;
    if (RENAMED.containsKey(name)) {
      String today = RENAMED.get(name);
      System.err.println("howdah: the template " + name + (today.isEmpty()
          ? " is not needed any more: it is the default" : " is called " + today + " now"));
      return today.isEmpty() ? null : home.resolve(today);
    }
    if (name.indexOf('/') < 0 && Files.isDirectory(home.resolve(name))) {
      return home.resolve(name);
    }
    throw new ClusterException("there is no template '" + argument + "', and no folder",
        "see: howdah template list");
  }

  /** The files of a template of ours that has no blanks. */
  SiteFiles read(String name) {
    return SiteFiles.require("the template", home.resolve(name));
  }

  /** What templates of ours and a folder ask for: the names of their blanks (@NAME@) in lower case. */
  Set<String> asked(Collection<Path> folders) {
    Set<String> asked = new TreeSet<>();
    Stream<Path> ours = Files.isDirectory(home) ? names().stream().map(home::resolve) : Stream.empty();
    Stream.concat(ours, folders.stream()).forEach(folder -> SiteFiles.read(folder).present().values()
        .forEach(site -> site.mapValues(text -> {
          for (Matcher blank = BLANK.matcher(text); blank.find();) {
            asked.add(blank.group(1).toLowerCase(Locale.ROOT));
          }
          return text;
        })));
    return asked;
  }

  /**
   * The files of a template or folder, with the values for its blanks (@NAME@) filled in.
   *
   * @param argument that names it, for messages
   * @param folder that it is; null if nothing is to be laid over the default configuration
   * @param values by name in lower case
   * @throws ClusterException if there is a blank without a value
   */
  SiteFiles fill(String argument, Path folder, Map<String, String> values) {
    SiteFiles filled = new SiteFiles();
    if (folder != null) {
      SiteFiles.require("the template", folder).present()
          .forEach((name, site) -> filled.file(name).lay(site.mapValues(text -> fillIn(argument, text, values))));
    }
    return filled;
  }

  private static String fillIn(String template, String text, Map<String, String> values) {
    Matcher blank = BLANK.matcher(text);
    StringBuffer filled = new StringBuffer();
    while (blank.find()) {
      String name = blank.group(1).toLowerCase(Locale.ROOT);
      String value = values.get(name);
      if (value == null) {
        throw new ClusterException("the template '" + template + "' asks for " + name + ", which was not set",
            "add: --set " + name + "=...");
      }
      blank.appendReplacement(filled, Matcher.quoteReplacement(value));
    }
    return blank.appendTail(filled).toString();
  }
}

package io.howdah.cluster;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Paths without white space for the tree and the cluster's folder. YARN puts both into container commands without
 * quoting, and a DataNode stumbles over an escaped space; where the real path has a space, a private folder of
 * symbolic links in the temporary folder stands for it while the cluster runs.
 */
final class Aliases {
  private final Path record;
  private final Path tree;
  private final Path root;
  private Path folder;

  Aliases(Tree tree, ClusterDir dir) {
    this.tree = tree.home();
    this.root = dir.root();
    this.record = dir.run().resolve("alias");
  }

  static boolean isPlain(Path path) {
    return path.toString().matches("[A-Za-z0-9/._+@%=-]+");
  }

  Path tree() throws IOException {
    return plain(tree, "tree");
  }

  Path root() throws IOException {
    return plain(root, "cluster");
  }

  private Path plain(Path real, String name) throws IOException {
    if (isPlain(real)) {
      return real;
    }
    if (folder == null) {
      folder = recorded();
    }
    Path link = folder.resolve(name);
    if (!Files.isSymbolicLink(link)) {
      Files.createSymbolicLink(link, real);
    } else if (!Files.readSymbolicLink(link).equals(real)) {
      Files.delete(link);
      Files.createSymbolicLink(link, real);
    }
    return link;
  }

  private Path recorded() throws IOException {
    if (Files.exists(record)) {
      Path known = Paths.get(new String(Files.readAllBytes(record), StandardCharsets.UTF_8).trim());
      if (Files.isDirectory(known) && Files.isWritable(known)) {
        return known;
      }
    }
    Path temporary = Paths.get(System.getProperty("java.io.tmpdir"));
    // Made for this user alone, so that nobody else can put other links in it.
    Path made = Files.createTempDirectory(isPlain(temporary) ? temporary : Paths.get("/tmp"), "howdah-");
    Files.write(record, made.toString().getBytes(StandardCharsets.UTF_8));
    return made;
  }

  /** Removes the links, if there are any. */
  static void remove(ClusterDir dir) {
    Path record = dir.run().resolve("alias");
    try {
      if (Files.exists(record)) {
        Path made = Paths.get(new String(Files.readAllBytes(record), StandardCharsets.UTF_8).trim());
        Files.deleteIfExists(made.resolve("tree"));
        Files.deleteIfExists(made.resolve("cluster"));
        Files.deleteIfExists(made);
        Files.delete(record);
      }
    } catch (IOException e) {
      throw new ClusterException("the links named in " + record + " can't be removed: " + e.getMessage());
    }
  }
}

package io.howdah.storage.shared;

import io.howdah.storage.BlockIds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What DataNodes that are gone have left of a block pool on the shared path, and what those that are not have there
 * without knowing. A DataNode is gone if the NameNode does
 * not count it as live and it has shown no sign of life for so long. Ages are differences between times that the shared
 * file system has set. Used by one thread.
 *
 * <p>A DataNode may come back at any time. It shows that before it reads its list, and blocks leave the list before
 * their files are removed: if there is no sign after the list was changed, a DataNode that comes back later knows.
 */
public final class Leftovers {
  private static final String REMOVED = ".removed-";
  private static final Pattern FILE = Pattern.compile("blk_(" + BlockIds.REGEX + ")(?:_(\\d{1,18})\\.meta)?");

  private final Path path;
  private final String pool;
  private final Set<String> live;
  private final long age;
  /** What DataNodes that are not gone list, by block. */
  private final Map<Long, Map<String, SharedBlock>> elsewhere = new HashMap<>();

  /** The DataNodes that are not gone. */
  private final List<String> present = new ArrayList<>();

  /** A block of which there are files. Immutable once it was found. */
  public static final class Left {
    private final long id;
    private final List<Path> files = new ArrayList<>();
    private long stamp;
    private long bytes;
    private long changed;

    private Left(long id) {
      this.id = id;
    }

    /** Its id. */
    public long id() {
      return id;
    }

    /** Bytes of its files. */
    public long bytes() {
      return bytes;
    }
  }

  /** A DataNode that is gone. */
  public static final class Gone {
    private final String uuid;
    private final String beat;
    private final Map<Long, Left> blocks = new TreeMap<>();

    private Gone(String uuid, String beat) {
      this.uuid = uuid;
      this.beat = beat;
    }

    /** Its uuid. */
    public String uuid() {
      return uuid;
    }

    /** What it has left. */
    public Collection<Left> blocks() {
      return blocks.values();
    }
  }

  /**
   * What is left of a pool.
   *
   * @param live uuids of the DataNodes that the NameNode counts as live
   * @param age milliseconds that a DataNode has to have been silent, and a file unchanged
   */
  public Leftovers(Path path, String pool, Set<String> live, long age) {
    this.path = path;
    this.pool = pool;
    this.live = live;
    this.age = age;
  }

  /** Block pools that have a folder on a path. */
  public static Set<String> pools(Path path) throws IOException {
    Set<String> pools = new TreeSet<>();
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(path, "BP-*")) {
      folders.forEach(folder -> pools.add(folder.getFileName().toString()));
    }
    return pools;
  }

  private SharedFolder folder(String uuid) {
    return new SharedFolder(path, pool, uuid, true);
  }

  private Path member(String uuid) {
    return SharedFolder.pool(path, pool).resolve(Members.FOLDER).resolve(uuid);
  }

  private String beat(String uuid) throws IOException {
    try {
      return new String(Files.readAllBytes(member(uuid)), StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      return "";
    }
  }

  // Finding.

  /** The DataNodes that are gone, with what they have left. */
  public List<Gone> find() throws IOException {
    List<Gone> found = new ArrayList<>();
    long now = now();
    elsewhere.clear();
    present.clear();
    for (String uuid : new TreeSet<>(SharedFolder.owners(path, pool))) {
      String beat = beat(uuid);
      if (live.contains(uuid) || now - lastSign(uuid) < age) {
        present.add(uuid);
        read(uuid).forEach((id, block) -> elsewhere.computeIfAbsent(id, key -> new HashMap<>()).put(uuid, block));
      } else {
        Gone gone = new Gone(uuid, beat);
        collect(gone, now);
        found.add(gone);
      }
    }
    return found;
  }

  /** The time by the clock that the shared file system's files have theirs from. */
  private long now() throws IOException {
    Path probe = path.resolve("howdah-probe-" + UUID.randomUUID());
    try {
      return Files.getLastModifiedTime(Files.createFile(probe)).toMillis();
    } finally {
      Files.deleteIfExists(probe);
    }
  }

  private long lastSign(String uuid) throws IOException {
    for (Path file : new Path[] {member(uuid), folder(uuid).list()}) {
      try {
        return Files.getLastModifiedTime(file).toMillis();
      } catch (NoSuchFileException e) {
        continue;
      }
    }
    return Files.getLastModifiedTime(folder(uuid).folder()).toMillis();
  }

  private Map<Long, SharedBlock> read(String uuid) throws IOException {
    SharedListReader reader = new SharedListReader(folder(uuid).list());
    reader.read();
    return reader.blocks();
  }

  private void collect(Gone gone, long now) throws IOException {
    SharedFolder folder = folder(gone.uuid);
    for (SharedBlock block : read(gone.uuid).values()) {
      Left left = gone.blocks.computeIfAbsent(block.id(), Left::new);
      left.stamp = block.stamp();
      left.changed = now - age; // if it has no files
    }
    for (Path file : files(folder.folder())) {
      if (file.startsWith(folder.finalized()) || file.startsWith(folder.open())) {
        add(gone.blocks, file);
      }
    }
    gone.blocks.values().forEach(left -> left.changed = now - left.changed); // from a time to an age
  }

  /** Adds a file to those of its block, if it is one of a block. */
  private static void add(Map<Long, Left> blocks, Path file) throws IOException {
    Matcher name = FILE.matcher(file.getFileName().toString());
    Long id = name.matches() ? BlockIds.parse(name.group(1)) : null;
    if (id != null) {
      BasicFileAttributes attributes = Files.readAttributes(file, BasicFileAttributes.class);
      Left left = blocks.computeIfAbsent(id, Left::new);
      left.files.add(file);
      left.bytes += attributes.size();
      left.changed = Math.max(left.changed, attributes.lastModifiedTime().toMillis());
      left.stamp = Math.max(left.stamp, name.group(2) == null ? 0 : Long.parseLong(name.group(2)));
    }
  }

  /**
   * The files that DataNodes which are not gone have there and not in their lists, by uuid: one crashed between the one
   * and the other, or is between them now. After {@link #find}. Reads each folder, and looks at no file that is listed.
   */
  public Map<String, Collection<Left>> strays() throws IOException {
    Map<String, Collection<Left>> found = new TreeMap<>();
    for (String uuid : present) {
      Set<Long> listed = new HashSet<>(read(uuid).keySet());
      Map<Long, Left> strays = new TreeMap<>();
      for (Path outer : entries(folder(uuid).finalized())) {
        for (Path inner : entries(outer)) {
          for (Path file : entries(inner)) {
            addUnlisted(strays, file, listed);
          }
        }
      }
      if (!strays.isEmpty()) {
        strays.keySet().removeAll(read(uuid).keySet()); // it may have got there meanwhile
        long now = now();
        strays.values().forEach(left -> left.changed = now - left.changed);
        found.put(uuid, strays.values());
      }
    }
    return found;
  }

  private static void addUnlisted(Map<Long, Left> strays, Path file, Set<Long> listed) throws IOException {
    Matcher name = FILE.matcher(file.getFileName().toString());
    if (!name.matches() || listed.contains(BlockIds.parse(name.group(1)))) {
      return;
    }
    try {
      add(strays, file);
    } catch (NoSuchFileException e) {
      return; // its DataNode has removed it meanwhile
    }
  }

  private static List<Path> entries(Path folder) throws IOException {
    List<Path> entries = new ArrayList<>();
    try (DirectoryStream<Path> all = Files.newDirectoryStream(folder)) {
      all.forEach(entries::add);
    } catch (NoSuchFileException e) {
      return entries; // its DataNode starts for the first time
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return entries;
  }

  private static List<Path> files(Path folder) throws IOException {
    return tree(folder).stream().filter(Files::isRegularFile).collect(Collectors.toList());
  }

  /** A folder and all below it. Fails if something is removed meanwhile: then the DataNode is back. */
  private static List<Path> tree(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.collect(Collectors.toList());
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
  }

  /** Whether a block's files have changed too lately to be removed. */
  public boolean isYoung(Left left) {
    return left.changed < age;
  }

  /** Whether a DataNode that is not gone has the block there, whole, and as new. */
  public boolean isElsewhere(Left left) throws IOException {
    for (Map.Entry<String, SharedBlock> other : elsewhere.getOrDefault(left.id, new HashMap<>()).entrySet()) {
      if (other.getValue().stamp() >= left.stamp && folder(other.getKey()).isWhole(other.getValue())) {
        return true;
      }
    }
    return false;
  }

  // Removing.

  /**
   * Removes blocks of a DataNode that is gone, and its folder if nothing is left in it.
   *
   * @throws IOException if the DataNode is back, and what it has is left alone; or if files cannot be removed
   */
  public void remove(Gone gone, Collection<Left> blocks) throws IOException {
    SharedFolder folder = folder(gone.uuid);
    if (Files.exists(folder.list())) {
      SharedList.forget(folder.list(), blocks.stream().map(Left::id).collect(Collectors.toList()));
    }
    checkGone(gone);
    removeFiles(blocks);
    blocks.forEach(left -> gone.blocks.remove(left.id));
    if (gone.blocks.isEmpty()) {
      removeFolder(gone, folder.folder());
    }
  }

  /** Removes the files of blocks that no list has. */
  public void removeFiles(Collection<Left> blocks) throws IOException {
    for (Left left : blocks) {
      for (Path file : left.files) {
        Files.deleteIfExists(file);
      }
    }
  }

  private void checkGone(Gone gone) throws IOException {
    if (!beat(gone.uuid).equals(gone.beat)) {
      throw new IOException("the DataNode " + gone.uuid + " is back: what it has on the shared path is left alone");
    }
  }

  /** The folder gets another name first, so that a DataNode that is back finds either all of it or nothing. */
  private void removeFolder(Gone gone, Path folder) throws IOException {
    Path aside = folder.resolveSibling(REMOVED + gone.uuid);
    Files.move(folder, aside, StandardCopyOption.ATOMIC_MOVE);
    try {
      checkGone(gone);
      removeTree(aside);
    } catch (IOException e) {
      if (Files.exists(aside) && !Files.exists(folder)) {
        Files.move(aside, folder, StandardCopyOption.ATOMIC_MOVE);
      }
      throw e;
    }
    Files.deleteIfExists(member(gone.uuid));
  }

  private static void removeTree(Path folder) throws IOException {
    for (Path file : files(folder)) {
      Path inside = folder.relativize(file);
      if (!inside.toString().matches("list|list\\.new|doubts|tmp/blk_[^/]*")) {
        throw new IOException(file + " is none of a DataNode's files: remove it, or leave the folder");
      }
    }
    List<Path> all = tree(folder);
    all.sort(Comparator.reverseOrder());
    for (Path each : all) {
      Files.deleteIfExists(each);
    }
  }

  /** Removes what a call of {@link #remove} that was ended has left of folders. */
  public void finish() throws IOException {
    List<Path> asides = new ArrayList<>();
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(SharedFolder.pool(path, pool), REMOVED + "*")) {
      folders.forEach(asides::add);
    }
    for (Path aside : asides) {
      removeTree(aside);
    }
  }
}

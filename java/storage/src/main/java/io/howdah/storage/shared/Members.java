package io.howdah.storage.shared;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * The DataNodes of a block pool that have the shared path, and which of them serve another one's blocks. Each writes
 * to a file of its own, {@code PATH/POOL/members/UUID}, what no run of it wrote before; it is alive as long as others
 * see the file change, by their own clocks. Every DataNode works out by itself for whom it is a keeper: the first by a
 * hash of both names, and those after them in the place of those that are not alive. Used by one thread at a time.
 */
public final class Members {
  static final String FOLDER = "members";
  /** DataNodes by rank that may come to be a keeper: so many more than are asked for may be gone at once. */
  private static final int DEPUTIES = 6;

  private final Path folder;
  private final String self;
  private final int keepers;
  private final long timeout;
  private final Map<String, Pulse> pulses = new HashMap<>();
  private Set<String> names = new TreeSet<>();
  /** Those before this one in the rank of each owner that this one may be a keeper of. */
  private Map<String, List<String>> before = new HashMap<>();
  /** Two runs may begin in the same millisecond, or a clock be set back. */
  private final String run = UUID.randomUUID().toString();
  private long beats;

  private static final class Pulse {
    private String last = "";
    private long changed;
  }

  /**
   * The members of a pool.
   *
   * @param keepers how many serve the blocks of each, if there are as many and one more that does not
   * @param timeout milliseconds without a change after which a member is not alive
   */
  public Members(Path path, String pool, String self, int keepers, long timeout) {
    this.folder = SharedFolder.pool(path, pool).resolve(FOLDER);
    this.self = self;
    this.keepers = keepers;
    this.timeout = timeout;
  }

  /** Shows for the first time that this one is alive. */
  public void enter() throws IOException {
    Files.createDirectories(folder);
    beat();
  }

  /** Shows that this one is alive. Fails if the folder is not there, as where the shared path is not mounted. */
  public void beat() throws IOException {
    beats++;
    Files.write(folder.resolve(self), (run + " " + beats).getBytes(StandardCharsets.US_ASCII),
        StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
  }

  /** Looks who the members are. */
  public void look() throws IOException {
    Set<String> found = new TreeSet<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
      files.forEach(file -> found.add(file.getFileName().toString()));
    } catch (NoSuchFileException e) {
      return;
    }
    if (!found.equals(names)) {
      names = found;
      before = ranks(found);
    }
  }

  private Map<String, List<String>> ranks(Set<String> members) {
    Map<String, List<String>> ranks = new HashMap<>();
    for (String owner : members) {
      if (!owner.equals(self)) {
        long mine = weight(owner, self);
        List<String> higher = new ArrayList<>();
        for (String member : members) {
          if (!member.equals(owner) && !member.equals(self) && weight(owner, member) > mine) {
            higher.add(member);
          }
        }
        if (higher.size() < keepers + DEPUTIES) {
          higher.sort(Comparator.comparingLong((String member) -> weight(owner, member)).reversed());
          ranks.put(owner, higher);
        }
      }
    }
    return ranks;
  }

  static long weight(String owner, String member) {
    long hash = 0xcbf29ce484222325L;
    for (byte each : (owner + "/" + member).getBytes(StandardCharsets.UTF_8)) {
      hash = (hash ^ each & 0xff) * 0x100000001b3L;
    }
    hash = (hash ^ hash >>> 30) * 0xbf58476d1ce4e5b9L;
    hash = (hash ^ hash >>> 27) * 0x94d049bb133111ebL;
    return (hash ^ hash >>> 31) >>> 1;
  }

  /**
   * The members whose blocks this one is to serve now.
   *
   * @param now milliseconds of a clock that only goes forward
   */
  public Set<String> kept(long now) throws IOException {
    Set<String> kept = new TreeSet<>();
    Map<String, Boolean> looked = new HashMap<>();
    for (Map.Entry<String, List<String>> entry : before.entrySet()) {
      int alive = 0;
      for (String member : entry.getValue()) {
        Boolean known = looked.get(member);
        if (known == null) {
          known = isAlive(member, now);
          looked.put(member, known);
        }
        alive += known ? 1 : 0;
      }
      if (alive < wanted()) {
        kept.add(entry.getKey());
      }
    }
    return kept;
  }

  /** The NameNode copies no block to a keeper of it, so one member besides owner and keepers is left for that. */
  private int wanted() {
    return Math.max(1, Math.min(keepers, names.size() - 2));
  }

  private boolean isAlive(String member, long now) throws IOException {
    String seen;
    try {
      seen = new String(Files.readAllBytes(folder.resolve(member)), StandardCharsets.ISO_8859_1);
    } catch (NoSuchFileException e) {
      return false;
    }
    Pulse pulse = pulses.computeIfAbsent(member, key -> new Pulse());
    if (!seen.equals(pulse.last)) {
      pulse.last = seen;
      pulse.changed = now;
    }
    return now - pulse.changed <= timeout;
  }

  /** The members that may serve this one's blocks, as of the last look. */
  public Set<String> deputies() {
    return names.stream().filter(member -> !member.equals(self))
        .sorted(Comparator.comparingLong((String member) -> weight(self, member)).reversed())
        .limit(keepers + DEPUTIES).collect(Collectors.toCollection(TreeSet::new));
  }

  /** The members, by uuid, as of the last look. */
  public Set<String> names() {
    return new TreeSet<>(names);
  }
}

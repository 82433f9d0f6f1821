package org.apache.hadoop.mapreduce.task.reduce;

import io.howdah.upgrade.Options;
import io.howdah.upgrade.Traffic;
import io.howdah.upgrade.Upgrade;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.mapred.JobID;
import org.apache.hadoop.mapred.MapOutputPlace;
import org.apache.hadoop.mapred.ShuffleWire.Answer;
import org.apache.hadoop.mapred.ShuffleWire.Location;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which map outputs a reducer reads by itself, over a path that all nodes have, in place of fetching them: all while
 * reads do not become slower and slower, or a fixed share. One for all fetchers of a reducer. Only outputs of the
 * reducer's own job are read, with the reducer's own permissions: a NodeManager says in which of its local directories
 * an output is and where in the file a part begins, the rest of the path is the reducer's. Thread-safe.
 */
final class SharedReads {
  /** Value of {@link Options#SHUFFLE_LUSTRE}: intermediate data is on the shared path. */
  static final int ON_SHARED_PATH = 2;
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.shuffle");
  private static final int ALL = 100;

  private final JobID job;
  private final String user;
  private final int packetBytes;
  private final int percentage;
  private final boolean adaptive;
  private final ReadPace pace;
  private final Traffic traffic = Traffic.of("shuffle.read", "shared");
  /** Local directories of NodeManagers, and whether they can be read here. */
  private final ConcurrentHashMap<String, Boolean> roots = new ConcurrentHashMap<>();
  private volatile boolean stopped;
  private boolean said;

  /**
   * Reads of a reducer's job.
   *
   * @param percentage of the maps whose output is read; below 100 it is fixed
   * @param adaptive whether reads end when they become slower and slower
   */
  SharedReads(JobID job, String user, int packetBytes, int percentage, boolean adaptive) {
    this.job = job;
    this.user = user;
    this.packetBytes = packetBytes;
    this.pace = new ReadPace(packetBytes);
    this.percentage = percentage;
    this.adaptive = adaptive && percentage == ALL;
  }

  /** Those that a job's options want; null for none. @throws IOException for an option that is not valid */
  static SharedReads of(Upgrade upgrade, TaskAttemptID reduce, String user) throws IOException {
    int packet = upgrade.get(Options.SHUFFLE_LUSTRE_PACKET_SIZE).intValue();
    int percentage = upgrade.get(Options.SHUFFLE_LUSTRE_READ_PERCENTAGE);
    boolean adaptive = upgrade.get(Options.SHUFFLE_LUSTRE_ADAPTIVE);
    return isOn(upgrade) && percentage > 0
        ? new SharedReads(JobID.downgrade(reduce.getJobID()), user, packet, percentage, adaptive) : null;
  }

  /** Whether intermediate data is on a path that all nodes have. */
  static boolean isOn(Upgrade upgrade) throws IOException {
    return upgrade.get(Options.SHUFFLE_LUSTRE) == ON_SHARED_PATH;
  }

  /** Most bytes of a read. */
  int packetBytes() {
    return packetBytes;
  }

  /** Whether to ask NodeManagers where outputs are. */
  boolean areWanted() {
    return !stopped;
  }

  /** Which of the answer's parts are read, in the order of its maps. Looks into each local directory that is new. */
  boolean[] choose(String[] maps, Answer answer) {
    boolean[] chosen = new boolean[maps.length];
    for (int i = 0; i < answer.locations.length; i++) {
      Location location = answer.locations[i];
      chosen[i] = location != null && isInShare(maps[i]) && canRead(maps[i], location);
    }
    return chosen;
  }

  /** Spreads the maps that are read evenly over all. */
  private boolean isInShare(String map) {
    long number = TaskAttemptID.forName(map).getTaskID().getId();
    return (number + 1) * percentage / ALL > number * percentage / ALL;
  }

  private boolean canRead(String map, Location location) {
    Boolean known = roots.get(location.root);
    if (known != null) {
      return known;
    }
    try {
      open(map, location).close();
      roots.putIfAbsent(location.root, true);
    } catch (IOException e) {
      failed(location.root, e);
    }
    return roots.get(location.root);
  }

  /**
   * Opens the file of a map's output.
   *
   * @throws IOException if it can't be read, or is not the file that the NodeManager has
   */
  FileChannel open(String map, Location location) throws IOException {
    Path file;
    try {
      file = MapOutputPlace.file(location.root, job, user, map);
    } catch (IllegalArgumentException e) {
      throw new IOException(e.getMessage(), e);
    }
    BasicFileAttributes here = Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    if (!here.isRegularFile() || here.size() != location.size
        || here.lastModifiedTime().toMillis() != location.modified) {
      throw new IOException(file + " is not the file that its NodeManager has");
    }
    return FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
  }

  /** A read was good. Ends reads for the rest of the job if they become slower and slower. */
  void succeeded(int bytes, long nanos) {
    traffic.bytes(bytes);
    if (adaptive && !stopped && pace.isSlowing(bytes, nanos)) {
      stopped = true;
      LOG.info("Reads of map output over the shared path became slower {} times in a row; what is left is fetched over "
          + "the engine", ReadPace.RISES);
    }
  }

  /** A file could not be opened or read: the next try for outputs in its directory is made over the engine. */
  void failed(String root, IOException cause) {
    roots.put(root, false);
    tellUnreadable(root, cause);
  }

  private synchronized void tellUnreadable(String root, IOException cause) {
    if (said) {
      LOG.debug("Map output in {} is fetched over the engine", root, cause);
      return;
    }
    said = true;
    String reason = cause instanceof NoSuchFileException ? "there is no " + cause.getMessage() : cause.toString();
    LOG.warn("Map output in {} is fetched over the engine, as this node can't read it ({}): {}. Is it on a path that "
        + "all nodes have?", root, Options.SHUFFLE_LUSTRE.key() + "=" + ON_SHARED_PATH, reason);
  }
}

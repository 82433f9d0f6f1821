package io.howdah.upgrade;

import io.howdah.engine.EngineConf;
import io.howdah.engine.EngineOption;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * The table of all options but the engine's own ({@link EngineOption}). Each {@link Component} adds its switch,
 * {@code required} and {@code fallback.remember}.
 */
public final class Options {
  /** The one switch. */
  public static final Option<Mode> ENABLED = Option.mode("hadoop.rdma.enabled", Mode.AUTO,
      "the engine for everything that has no switch of its own").environment("HOWDAH_ENABLED");

  /** HiBD's switches. */
  public static final Option<Boolean> IB = Option.flag("hadoop.ib.enabled", null, "HiBD's: InfiniBand is used");
  public static final Option<Boolean> ROCE = Option.flag("hadoop.roce.enabled", null, "HiBD's: RoCE is used");
  public static final Option<Boolean> SPARK_IB = Option.flag("spark.ib.enabled", null, "HiBD's: InfiniBand is used");
  public static final Option<Boolean> SPARK_ROCE = Option.flag("spark.roce.enabled", null, "HiBD's: RoCE is used");

  /** HiBD's names of the device, which is the engine's verbs.device. */
  public static final Option<String> DEVICE = Option.text("hadoop.rdma.dev.name", null,
      "device by name; the same as hadoop.rdma.verbs.device").alias("hadoop.rdma.dev.num");
  public static final Option<String> SPARK_DEVICE = Option.text("spark.shuffle.rdma.device.name", null,
      "device by name; the same as spark.shuffle.rdma.verbs.device").alias("spark.shuffle.rdma.device.num");

  // HDFS.
  public static final Option<Long> HDFS_PACKET_SIZE = Option.bytes("dfs.rdma.packet.size", 512 << 10, 0, 8 << 20,
      "size of the packets of a writer that fills them; 0: as over sockets");
  public static final Option<Boolean> HDFS_STAGES = Option.flag("dfs.rdma.stages.enabled", false,
      "DataNodes receive, forward and verify packets by threads of their own");
  public static final Option<Integer> HDFS_STAGE_HANDLERS = Option.count("dfs.rdma.stages.handlers", 8, 1, 4096,
      "threads of the stages");
  public static final Option<Integer> HDFS_STAGE_QUEUE = Option.count("dfs.rdma.stages.queue", 16, 1, 4096,
      "packets of a block that may wait to be written");

  // Storage modes of HDFS.
  public static final Option<String> STORAGE_MODE = Option.text("dfs.rdma.hhh.mode", null,
      "storage mode: Default (hhh), In-Memory (hhh-m) or Lustre (hhh-l); without it blocks are stored as by stock "
          + "Hadoop");
  public static final Option<Integer> MEMORY_REPLICAS = Option.count("dfs.rdma.memory.replicas", 1, 1, 512,
      "replicas of a block in RAM");
  public static final Option<Double> MEMORY_SHARE = Option.share("dfs.rdma.memory.percentage", 0.7,
      "share of a RAM folder's file system that blocks may fill");
  public static final Option<Double> MEMORY_LOW = Option.share("dfs.rdma.memory.low.percentage", 0.6,
      "share down to which cold replicas leave RAM");
  public static final Option<Long> MEMORY_CAPACITY = Option.bytes("dfs.rdma.memory.capacity", 0, 0, 1L << 60,
      "size that a RAM folder counts with; 0: that of its file system");
  public static final Option<String> MEMORY_HSYNC = Option.choice("dfs.rdma.memory.hsync", "flush",
      "what an hsync does with a replica in RAM, in the modes In-Memory and Lustre: flush: no more than an hflush; "
          + "persist: it waits until what there is lasts on SSD or disk, or on the shared path", "flush", "persist");
  public static final Option<String> PLACEMENT = Option.choice("dfs.rdma.placement.policy", "auto",
      "how tiers are chosen for a new block", "auto", "greedy", "balanced");
  public static final Option<String> PLACEMENT_WEIGHTS = Option.text("dfs.rdma.placement.weights", "1,1,1",
      "how much of a block's replicas RAM, SSD and disk take with the policy balanced");
  public static final Option<Long> USE_HALFLIFE = Option.millis("dfs.rdma.use.halflife", 600_000, 100,
      Integer.MAX_VALUE, "time in which the weight of a read halves");
  public static final Option<Integer> PROMOTION_READS = Option.count("dfs.rdma.promotion.reads", 3, 0, 1_000_000,
      "reads within that time after which a replica is copied to RAM; 0: never");
  public static final Option<Long> MOVER_INTERVAL = Option.millis("dfs.rdma.mover.interval", 1000, 10, 3_600_000,
      "time between two looks of a DataNode at what to move");
  public static final Option<Long> MOVER_BANDWIDTH = Option.bytes("dfs.rdma.mover.bandwidth", 100 << 20, 0, 1L << 40,
      "bytes a second that a DataNode moves between tiers; 0: no limit");
  public static final Option<String> SHARED_PATH = Option.text("dfs.rdma.lustre.path", null,
      "folder on Lustre or another shared file system, in the mode Lustre");
  public static final Option<Boolean> SHARED_LOCAL = Option.flag("dfs.rdma.lustre.path.local", false,
      "that folder may be on a local file system, as all DataNodes are on one node");
  public static final Option<Integer> SHARED_KEEPERS = Option.count("dfs.rdma.lustre.keepers", 2, 1, 16,
      "DataNodes that serve the shared copies of another one");
  public static final Option<Long> SHARED_TIMEOUT = Option.millis("dfs.rdma.lustre.timeout", 30_000, 100, 600_000,
      "time that the end of a block waits for its shared copy");
  public static final Option<String> SHARED_FAILURE = Option.choice("dfs.rdma.lustre.on.failure", "fail",
      "what becomes of a block without a shared copy: the write fails, or it stays local and is copied later",
      "fail", "local");
  public static final Option<String> SHARED_WAIT = Option.choice("dfs.rdma.lustre.sync", "block",
      "when a block gets its shared copy: block: before its end is acknowledged; packet: likewise, and each packet "
          + "goes there before it is acknowledged; async: behind", "block", "packet", "async");
  public static final Option<Boolean> SHARED_SYNC = Option.flag("dfs.rdma.lustre.fsync", true,
      "a shared copy counts when the file system's servers have it");
  public static final Option<Long> SHARED_INTERVAL = Option.millis("dfs.rdma.lustre.interval", 1000, 10, 3_600_000,
      "time between two looks of a DataNode at the shared path");
  public static final Option<Long> SHARED_MEMBER_TIMEOUT = Option.millis("dfs.rdma.lustre.member.timeout", 30_000,
      1000, 3_600_000, "time without a sign of life after which another DataNode serves in a keeper's place");
  public static final Option<Integer> SHARED_STRIPES = Option.count("dfs.rdma.lustre.stripe.count", 1, 0, 2000,
      "storage targets of Lustre that a shared copy lies on; 0: as the file system has it");
  public static final Option<Long> SHARED_STRIPE_SIZE = Option.bytes("dfs.rdma.lustre.stripe.size", 0, 0,
      (4L << 30) - (64 << 10), "bytes on one of them before the next, a multiple of 64k; 0: as the file system has it");
  public static final Option<Double> SHARED_LOCAL_SHARE = Option.share("dfs.rdma.lustre.local.percentage", 0.9,
      "how full of its own blocks a folder on SSD or disk is when cold replicas with a shared copy leave it");
  public static final Option<Double> SHARED_LOCAL_LOW = Option.share("dfs.rdma.lustre.local.low.percentage", 0.8,
      "share down to which they leave it");

  // MapReduce's shuffle.
  public static final Option<Long> SHUFFLE_PACKET_SIZE = Option.bytes("mapred.rdma.shuffle.packet.size", 512 << 10,
      16 << 10, 8 << 20, "size of the windows in which a reducer fetches map output");
  public static final Option<Integer> SHUFFLE_PACKETS_AHEAD = Option.count("mapred.rdma.shuffle.packets.ahead", 3, 1,
      64, "windows that each fetcher of a reducer has under way");
  public static final Option<Integer> SHUFFLE_LUSTRE = Option.count("mapred.rdma.shuffle.lustre", 0, 0, 2,
      "where intermediate data is with MapReduce over Lustre or another shared path: 1: on local disks, 2: on that "
          + "path, where reducers read it themselves; 0: nothing is known of it");
  public static final Option<Long> SHUFFLE_LUSTRE_PACKET_SIZE = Option.bytes("mapred.rdma.shuffle.lustre.packet.size",
      512 << 10, 16 << 10, 8 << 20, "most bytes of a reducer's read of map output over the shared path");
  public static final Option<Boolean> SHUFFLE_LUSTRE_ADAPTIVE = Option.flag("mapred.rdma.shuffle.lustre.adaptive",
      true, "a reducer whose reads become slower three times in a row fetches the rest over the engine");
  public static final Option<Integer> SHUFFLE_LUSTRE_READ_PERCENTAGE = Option.count(
      "mapred.rdma.shuffle.lustre.read.percentage", 100, 0, 100,
      "of 100 maps, how many have their output read over the shared path; below 100 that stays so, and the others' is "
          + "fetched over the engine");
  public static final Option<Boolean> SHUFFLE_MERGE = Option.flag("mapred.rdma.shuffle.merge.enabled", true,
      "reduce() is fed from memory while map output is fetched, in place of after a merge on disk; where "
          + "mapreduce.reduce.input.buffer.percent is set, only if this is set, too");
  public static final Option<Double> SHUFFLE_MEMORY_SHARE = Option.share("mapred.rdma.shuffle.memory.percentage", 0.5,
      "share of a reducer's heap that map output may take while it is merged so");
  public static final Option<Boolean> MAP_OUTPUT_SORT = Option.flag("mapred.rdma.map.output.sort", true,
      "maps sort by key prefixes, and write output that fits in memory once");
  public static final Option<Boolean> MAP_OUTPUT_FASTEST = Option.flag("mapred.rdma.local.ssd.used", true,
      "map output goes to RAM disks, then SSDs, then disks, among local directories of several kinds");
  public static final Option<Boolean> MAP_OUTPUT_MEMORY = Option.flag("mapred.rdma.spill.memory.enabled", true,
      "map output takes more than mapreduce.task.io.sort.mb while the heap has room for it");
  public static final Option<Double> MAP_OUTPUT_RAM_SHARE = Option.share("mapred.rdma.spill.memory.percentage", 0.7,
      "how full of all files a RAM disk may become with map output");

  // Spark.
  public static final Option<Integer> SPARK_HANDLERS = Option.count("spark.shuffle.rdma.server.handlers", 0, 0, 1024,
      "threads that read blocks for peers; 0: as many as Spark takes for its server, at most 4");
  public static final Option<Integer> SPARK_QUEUE = Option.count("spark.shuffle.rdma.server.queue", 8192, 16, 1 << 20,
      "requests that may wait");
  public static final Option<Long> SPARK_BATCH = Option.bytes("spark.shuffle.rdma.batch.size", 1 << 20, 64 << 10,
      64 << 20, "most bytes of blocks in one answer");
  public static final Option<Long> SPARK_PIECE = Option.bytes("spark.shuffle.rdma.piece.size", 4 << 20, 64 << 10,
      64 << 20, "piece in which larger blocks are fetched");
  public static final Option<Integer> SPARK_FETCHES = Option.count("spark.shuffle.rdma.fetches.in.flight", 64, 1, 1024,
      "requests to one peer under way at a time");
  public static final Option<Double> SPARK_OUTPUT_FRACTION = Option.share("spark.shuffle.rdma.memory.fraction", 0.5,
      "share of an executor's memory limit that map output may take");
  public static final Option<Long> SPARK_IDLE = Option.millis("spark.shuffle.rdma.idle.timeout", 300_000, 1000,
      Integer.MAX_VALUE, "a session without requests is closed after this time");

  /** Names of HiBD that have no effect here, and what to know about each. */
  private static final Map<String, String> ACCEPTED = new LinkedHashMap<>();

  static {
    ACCEPTED.put("dfs.datanode.rdma.port", "DataNodes take the engine's connections on their ordinary port");
    ACCEPTED.put("dfs.rdma.namenode.list", "NameNodes are found by dfs.nameservices and fs.defaultFS");
    ACCEPTED.put("mapred.rdma.disk.shuffle.enabled", "the shuffle spills to disk as stock Hadoop's does");
  }

  private Options() {
  }

  /** Every option of this table and of the components, by key. */
  public static Map<String, Option<?>> all() {
    Map<String, Option<?>> all = new LinkedHashMap<>();
    for (Option<?> option : declared()) {
      all.put(option.key(), option);
    }
    for (Component component : Component.values()) {
      all.put(component.enabled().key(), component.enabled());
      all.put(component.required().key(), component.required());
      all.put(component.remember().key(), component.remember());
    }
    return all;
  }

  private static List<Option<?>> declared() {
    List<Option<?>> options = new ArrayList<>();
    for (Field field : Options.class.getDeclaredFields()) {
      if (Modifier.isPublic(field.getModifiers()) && field.getType() == Option.class) {
        try {
          options.add((Option<?>) field.get(null));
        } catch (IllegalAccessException e) {
          throw new IllegalStateException(e);
        }
      }
    }
    return options;
  }

  /** Names of HiBD that are accepted without an effect: what to know, by key. */
  public static Map<String, String> accepted() {
    return Collections.unmodifiableMap(ACCEPTED);
  }

  /** Every name that is known, the engine's and the accepted ones included. */
  static TreeSet<String> names() {
    TreeSet<String> names = new TreeSet<>(ACCEPTED.keySet());
    for (Option<?> option : all().values()) {
      names.add(option.key());
      names.addAll(option.aliases());
    }
    for (EngineOption option : EngineOption.values()) {
      names.add(option.key());
      names.add(Component.SPARK.prefix() + option.key().substring(EngineConf.PREFIX.length()));
    }
    return names;
  }
}

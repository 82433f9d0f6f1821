package io.howdah.engine;

/**
 * The engine's options. Made by ci/lib/java_options.py from native/src/config/options.def, which declares them;
 * change that and make this anew.
 */
public enum EngineOption {
  /**
   * Transport between processes. auto takes the fastest that both ends have, and the host's own sockets if there is
   * none. A named transport never falls back: without it a connection fails with the cause. tcp switches the engine
   * off.
   */
  TRANSPORT("hadoop.rdma.transport", "enum", "auto", "auto|verbs|udapl|shm|self|tcp"),
  /**
   * Messages up to this size travel inside a frame; larger ones by rendezvous. It also is the largest frame that this
   * end accepts, so it costs link.credits times this much receive memory per link.
   */
  EAGER_THRESHOLD("hadoop.rdma.eager.threshold", "size", "32k", "256 .. 1m"),
  /** eager.threshold of the shm and self transports, where a rendezvous soon costs less than a second copy. */
  SHM_EAGER_THRESHOLD("hadoop.rdma.shm.eager.threshold", "size", "2k", "256 .. 1m"),
  /**
   * How a message or block above the eager threshold moves unless its stream asks for another way: the receiver reads
   * it, the sender writes it, or it is copied through frames. auto goes by size: see rendezvous.write.max.
   */
  RENDEZVOUS_PROTOCOL("hadoop.rdma.rendezvous.protocol", "enum", "read", "auto|read|write|copy"),
  /**
   * With rendezvous.protocol=auto, messages and blocks up to this size are written by the sender and larger ones read
   * by the receiver, which leaves the sender's processor alone. 0 reads all.
   */
  RENDEZVOUS_WRITE_MAX("hadoop.rdma.rendezvous.write.max", "size", "256k", "0 .. 1g"),
  /** Piece in which a rendezvous moves data. */
  CHUNK_SIZE("hadoop.rdma.chunk.size", "size", "512k", "4k .. 64m"),
  /** Chunks of one message or block under way at a time. */
  CHUNK_DEPTH("hadoop.rdma.chunk.depth", "int", "4", "1 .. 64"),
  /** Largest message or fetched range that this end accepts. */
  MESSAGE_MAX("hadoop.rdma.message.max", "size", "256m", "64k .. 2147483647"),
  /** Protects every frame by CRC-32C on top of what the transport does. On if either end wants it. */
  FRAME_CHECKSUM("hadoop.rdma.frame.checksum", "bool", "false", "0 .. 1"),
  /** Frames that the peer may have under way towards us on a link. */
  LINK_CREDITS("hadoop.rdma.link.credits", "int", "64", "16 .. 4096"),
  /** A link without streams and fetches is closed after this time; 0 keeps it. */
  LINK_IDLE_TIMEOUT("hadoop.rdma.link.idle.timeout", "time", "5m", "0ns .. 24h"),
  /**
   * Links that other processes may have to this one; a host, or within this host a user, may have half of them. Where
   * there is no room, links that never carried anything end, then idle ones; if there are none, the peer is refused and
   * uses its sockets.
   */
  LINKS_MAX("hadoop.rdma.links.max", "int", "16384", "1 .. 1000000"),
  /**
   * Most memory that such links take for frames on their way (shared rings, send buffers, queues), besides
   * memory.limit. It is shared out as links.max is. A link over verbs takes 0.2 MB, over shm 0.6 MB, over udapl 5 MB,
   * unless eager.threshold or link.credits are changed.
   */
  LINKS_MEMORY("hadoop.rdma.links.memory", "size", "2g", "1m .. 16384g"),
  /** Longest greeting and link set-up, for callers that give no timeout of their own. */
  CONNECT_TIMEOUT("hadoop.rdma.connect.timeout", "time", "10s", "1ms .. 1h"),
  /** A peer host that stopped answering on the guard connection for this long is taken for dead. */
  GUARD_TIMEOUT("hadoop.rdma.guard.timeout", "time", "30s", "1s .. 1h"),
  /** Bytes that the peer may send on a stream before the reader takes any. */
  STREAM_WINDOW("hadoop.rdma.stream.window", "size", "1m", "4k .. 1g"),
  /** Open streams that one link accepts from the peer. */
  STREAM_MAX("hadoop.rdma.stream.max", "int", "16384", "1 .. 1048576"),
  /** Unanswered fetches that one link accepts from the peer. */
  FETCH_MAX("hadoop.rdma.fetch.max", "int", "1024", "1 .. 65536"),
  /** Threads that read files for fetches answered by file range. */
  FETCH_IO_THREADS("hadoop.rdma.fetch.io.threads", "int", "2", "1 .. 64"),
  /** Most memory that the engine takes (and pins, where the transport does) for buffers. */
  MEMORY_LIMIT("hadoop.rdma.memory.limit", "size", "1g", "4m .. 16384g"),
  /** Step in which buffer memory is taken from the system. */
  MEMORY_SLAB_SIZE("hadoop.rdma.memory.slab.size", "size", "16m", "1m .. 1g"),
  /** Huge pages for slabs: auto takes them if the system has free ones, always refuses to go without. */
  MEMORY_HUGE_PAGES("hadoop.rdma.memory.huge.pages", "enum", "auto", "auto|always|never"),
  /** How long a waiting thread polls before it sleeps. 0 sleeps at once. */
  POLL_SPIN("hadoop.rdma.poll.spin", "time", "20us", "0ns .. 1s"),
  /** Threads of the process that may poll at a time; 0 means half of the processors it may use, at least one. */
  POLL_SPINNERS("hadoop.rdma.poll.spinners", "int", "0", "0 .. 4096"),
  /** A link that no caller polled for this long goes back to the communication threads. */
  POLL_HANDOVER("hadoop.rdma.poll.handover", "time", "1ms", "1ms .. 1s"),
  /** Threads that serve links on which nobody waits, and watch the guards. */
  COMMUNICATION_THREADS("hadoop.rdma.communication.threads", "int", "1", "1 .. 64"),
  /**
   * Device of the verbs transport: a name, a number in the system's list from 0, or auto for the first with an active
   * port; each may be followed by :port.
   */
  VERBS_DEVICE("hadoop.rdma.verbs.device", "text", "auto", ""),
  /** Port of the device, unless verbs.device names it; 0 takes the first active one. */
  VERBS_PORT("hadoop.rdma.verbs.port", "int", "0", "0 .. 255"),
  /**
   * Kind of network: only ports of this one are taken; ethernet is RoCE. udapl tries its providers only where such a
   * port is active, unless udapl.provider names one.
   */
  VERBS_LINK_LAYER("hadoop.rdma.verbs.link.layer", "enum", "any", "any|infiniband|ethernet"),
  /**
   * Index of the GID, the port's address. -1 chooses: over RoCE v2 before v1 and IPv4 before IPv6, never a link-local
   * one; over InfiniBand 0.
   */
  VERBS_GID_INDEX("hadoop.rdma.verbs.gid.index", "int", "-1", "-1 .. 255"),
  /**
   * Partition of an InfiniBand port, by its key (P_Key), as 0x8001; auto: the first in the port's table of which it is
   * a full member. Ports of different partitions do not reach each other.
   */
  VERBS_PARTITION("hadoop.rdma.verbs.partition", "text", "auto", ""),
  /** Service level (InfiniBand) or priority (RoCE) of the packets. */
  VERBS_SERVICE_LEVEL("hadoop.rdma.verbs.service.level", "int", "0", "0 .. 15"),
  /** Traffic class of the packets; over RoCE v2 the DSCP and ECN bits of their IP header. */
  VERBS_TRAFFIC_CLASS("hadoop.rdma.verbs.traffic.class", "int", "0", "0 .. 255"),
  /**
   * Peers may read and write buffer memory, of which a key is given to them slab by slab. false copies everything
   * through frames: slower, and a peer reaches nothing but what it is sent.
   */
  VERBS_REMOTE_ACCESS("hadoop.rdma.verbs.remote.access", "bool", "true", "0 .. 1"),
  /** Frames up to this size, header included, are put into the work request, if the device can. */
  VERBS_INLINE("hadoop.rdma.verbs.inline", "size", "220", "0 .. 4k"),
  /**
   * Messages that are in a registered buffer go straight out of it from this size on, and are each reported back;
   * smaller ones are copied into verbs.send.buffer, like all that are not in such a buffer. From eager.threshold on
   * nothing is copied anyway.
   */
  VERBS_ZCOPY_THRESHOLD("hadoop.rdma.verbs.zcopy.threshold", "size", "16k", "256 .. 1m"),
  /** One in so many sends is reported back by the device. */
  VERBS_SIGNAL_INTERVAL("hadoop.rdma.verbs.signal.interval", "int", "16", "1 .. 256"),
  /**
   * Registered memory that a busy link borrows for frames on their way out; at least eight frames. All links together
   * borrow at most an eighth of links.memory; who gets none sends through its own 64 KB.
   */
  VERBS_SEND_BUFFER("hadoop.rdma.verbs.send.buffer", "size", "512k", "64k .. 64m"),
  /**
   * Most receive buffers that the links of an engine share. They take as many as their link.credits need, but no more
   * than half of memory.limit.
   */
  VERBS_RECEIVE_BUFFERS("hadoop.rdma.verbs.receive.buffers", "int", "2048", "64 .. 65536"),
  /** Reads of remote memory under way at a time on a link, each way, if the devices can. */
  VERBS_READ_DEPTH("hadoop.rdma.verbs.read.depth", "int", "16", "1 .. 128"),
  /** How long a packet waits for its acknowledgement before it is sent again; the next larger 4.096 us * 2^n. */
  VERBS_TIMEOUT("hadoop.rdma.verbs.timeout", "time", "67ms", "4096ns .. 1m"),
  /** How often a packet is sent again before the link is lost. */
  VERBS_RETRY_COUNT("hadoop.rdma.verbs.retry.count", "int", "7", "0 .. 7"),
  /**
   * Uses what newer adapters and drivers have, where they have it: ibv_wr_*, completion queues and queue pairs without
   * locks of the driver's, relaxed ordering of what is written to memory. What is missing is logged at info. false is
   * for a driver that has a fault there.
   */
  VERBS_EXTENDED("hadoop.rdma.verbs.extended", "bool", "true", "0 .. 1"),
  /** Directory of the counter file; empty for none. */
  STATS_DIR("hadoop.rdma.stats.dir", "text", "/dev/shm", ""),
  /** Peers that have counters of their own. */
  STATS_PEERS("hadoop.rdma.stats.peers", "int", "256", "1 .. 65536"),
  /** Least important lines that are logged. */
  LOG_LEVEL("hadoop.rdma.log.level", "enum", "warn", "error|warn|info|debug"),
  /**
   * Provider of the udapl transport: a name from dat.conf ($DAT_OVERRIDE, or /etc/dat.conf), or auto for the first
   * there that can be opened.
   */
  UDAPL_PROVIDER("hadoop.rdma.udapl.provider", "text", "auto", ""),
  /** Peers may read and write buffer memory, of which a key is given to them slab by slab. false gives none. */
  UDAPL_REMOTE_ACCESS("hadoop.rdma.udapl.remote.access", "bool", "true", "0 .. 1"),
  /**
   * Where communication threads run: auto (o2acs with an HCA, else none), none, o2acs, o2ocs, o2nts:N, o2occ, o2ntc:N;
   * docs/design/affinity.md has the sets.
   */
  AFFINITY_POLICY("hadoop.rdma.affinity.policy", "text", "auto", ""),
  /**
   * Who is bound: communication threads (the engine's, and those that declare themselves), or every thread that enters
   * the engine.
   */
  AFFINITY_THREADS("hadoop.rdma.affinity.threads", "enum", "communication", "communication|all"),
  /** Number of the socket close to the HCA, where the system does not know it. */
  AFFINITY_SOCKET("hadoop.rdma.affinity.socket", "text", "auto", ""),
  /** Topology file (hwloc XML) in place of this machine's: sets are dealt and counted, nobody is bound. */
  AFFINITY_TOPOLOGY("hadoop.rdma.affinity.topology", "text", "", ""),
  /**
   * Profile that howdah tune wrote, by its path; it must then fit this machine. auto takes
   * howdah/tuning-ARCH-KIND[-SPEED].profile of $XDG_CONFIG_HOME (~/.config) or /etc if there is one that fits, none
   * takes none.
   */
  TUNING_PROFILE("hadoop.rdma.tuning.profile", "text", "auto", ""),
  /** Seed of injected faults; for tests only, like all fault.* options. */
  FAULT_SEED("hadoop.rdma.fault.seed", "int", "0", "0 .. 9223372036854775807"),
  /** Probability that sending a frame loses the link. */
  FAULT_DROP_RATE("hadoop.rdma.fault.drop.rate", "rate", "0", "0 .. 1"),
  /** Probability that arriving frames are held up. */
  FAULT_DELAY_RATE("hadoop.rdma.fault.delay.rate", "rate", "0", "0 .. 1"),
  /** How long they are held up. */
  FAULT_DELAY_TIME("hadoop.rdma.fault.delay.time", "time", "1ms", "0ns .. 1m"),
  /** Probability that a completion is reported twice. */
  FAULT_DUPLICATE_RATE("hadoop.rdma.fault.duplicate.rate", "rate", "0", "0 .. 1"),
  /** Probability that registering a slab fails. */
  FAULT_REGISTER_RATE("hadoop.rdma.fault.register.rate", "rate", "0", "0 .. 1"),
  /** Probability that a read or write of remote memory fails. */
  FAULT_ERROR_RATE("hadoop.rdma.fault.error.rate", "rate", "0", "0 .. 1"),
  /** Probability that a bit of a frame is turned over. */
  FAULT_CORRUPT_RATE("hadoop.rdma.fault.corrupt.rate", "rate", "0", "0 .. 1"),
  /** Probability that a frame is refused once for lack of room. */
  FAULT_SLOW_RATE("hadoop.rdma.fault.slow.rate", "rate", "0", "0 .. 1"),
  /** Probability that whoever sleeps is not woken when something arrives. */
  FAULT_DEAF_RATE("hadoop.rdma.fault.deaf.rate", "rate", "0", "0 .. 1"),
  /** Probability that the adapter does not get ready while a link is set up. */
  FAULT_STUCK_RATE("hadoop.rdma.fault.stuck.rate", "rate", "0", "0 .. 1");

  private final String key;
  private final String type;
  private final String defaultValue;
  private final String range;

  EngineOption(String key, String type, String defaultValue, String range) {
    this.key = key;
    this.type = type;
    this.defaultValue = defaultValue;
    this.range = range;
  }

  /** The name in configuration files. */
  public String key() {
    return key;
  }

  /** The variable of the environment that overrides it. */
  public String environmentName() {
    return "HOWDAH_" + name();
  }

  /** One of int, size, time, bool, rate, enum, text. */
  public String type() {
    return type;
  }

  /** As a user would write it. */
  public String defaultValue() {
    return defaultValue;
  }

  /** As a user would read it: "4k .. 64m", or the words of an enum separated by |. */
  public String range() {
    return range;
  }
}

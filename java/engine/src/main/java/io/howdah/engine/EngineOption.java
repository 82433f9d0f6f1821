package io.howdah.engine;

/**
 * The engine's options. Made by ci/lib/java_options.py from native/src/options.def, the one place that declares them;
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
   * How a message above the eager threshold moves unless its stream asks for another way: the receiver reads it, the
   * sender writes it, or it is copied through frames. auto means read.
   */
  RENDEZVOUS_PROTOCOL("hadoop.rdma.rendezvous.protocol", "enum", "read", "auto|read|write|copy"),
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
  /** Directory of the counter file; empty for none. */
  STATS_DIR("hadoop.rdma.stats.dir", "text", "/dev/shm", ""),
  /** Peers that have counters of their own. */
  STATS_PEERS("hadoop.rdma.stats.peers", "int", "256", "1 .. 65536"),
  /** Least important lines that are logged. */
  LOG_LEVEL("hadoop.rdma.log.level", "enum", "warn", "error|warn|info|debug"),
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
  FAULT_SLOW_RATE("hadoop.rdma.fault.slow.rate", "rate", "0", "0 .. 1");

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

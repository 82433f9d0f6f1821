package io.howdah.cluster;

/** Kinds of traffic, and where their figures are. Each connection is counted by the daemon that serves it. */
enum TrafficKind {
  RPC("RPC", "rpc", "rpc.server") {
    @Override
    long[] all(DaemonCounts counts) {
      return new long[] {counts.sum("RpcActivityForPort", "RpcProcessingTimeNumOps"),
          counts.sum("RpcActivityForPort", "ReceivedBytes") + counts.sum("RpcActivityForPort", "SentBytes"),
          counts.sum("HowdahRpc", "ServerSockets")};
    }
  },
  HDFS_WRITES("HDFS writes", "hdfs", "hdfs.write") {
    @Override
    long[] all(DaemonCounts counts) {
      return new long[] {counts.sum("DataNodeActivity", "WriteBlockOpNumOps"),
          counts.sum("DataNodeActivity", "BytesWritten"), 0};
    }
  },
  HDFS_READS("HDFS reads", "hdfs", "hdfs.read") {
    @Override
    long[] all(DaemonCounts counts) {
      return new long[] {counts.sum("DataNodeActivity", "ReadBlockOpNumOps"),
          counts.sum("DataNodeActivity", "BytesRead"), 0};
    }
  },
  SHUFFLE("MapReduce shuffle", "shuffle", "shuffle.server"),
  SPARK("Spark blocks", "spark", "spark.fetch");

  private final String label;
  private final String component;
  private final String counted;

  TrafficKind(String label, String component, String counted) {
    this.label = label;
    this.component = component;
    this.counted = counted;
  }

  /** What people call it. */
  String label() {
    return label;
  }

  /** The component whose switch it is under. */
  String component() {
    return component;
  }

  /** What the names of its counters begin with. */
  String counted() {
    return counted;
  }

  /**
   * Hadoop's own counts, whatever the transport: calls and bytes; and connections over sockets alone, where they are
   * counted. What the engine did not carry went over sockets.
   *
   * @return null if Hadoop counts none of it
   */
  long[] all(DaemonCounts counts) {
    return null;
  }
}

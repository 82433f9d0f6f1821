package org.apache.hadoop.hdfs.net;

import io.howdah.engine.Engine;
import io.howdah.engine.EngineUnavailableException;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;
import org.apache.hadoop.ipc.RdmaFallbacks;
import org.apache.hadoop.ipc.RdmaSettings;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** How a configuration wants block data to go over the engine, and the engine itself. Immutable. */
final class RdmaHdfs {
  static final Logger LOG = LoggerFactory.getLogger("io.howdah.hdfs");
  static final String ENABLED = "dfs.rdma.enabled";
  static final String PACKET_SIZE = "dfs.rdma.packet.size";
  private static final String PACKET = "dfs.rdma.packet.";
  private static final int PACKET_SIZE_DEFAULT = 512 << 10;
  /** Half of what a DataNode takes for a packet at all. */
  private static final int PACKET_SIZE_MAX = 8 << 20;

  /** With what an HiBD site may have for the storage modes: not ours to judge. */
  private static final RdmaSettings SETTINGS = new RdmaSettings(LOG, "Block data", "dfs.rdma.",
      "dfs.rdma.hhh.", "dfs.rdma.lustre.", "dfs.rdma.memory.", RdmaStages.PREFIX, PACKET);
  /** DataNodes by "address:port". */
  private static final RdmaFallbacks<String> FALLBACKS = new RdmaFallbacks<>(LOG);

  private final boolean required;
  private final long remember;
  private final int writeTimeout;
  private final int packetSize;
  private final Engine engine;

  private RdmaHdfs(Configuration conf) throws IOException {
    required = SETTINGS.isRequired(conf);
    remember = SETTINGS.remember(conf);
    writeTimeout = conf.getInt(HdfsClientConfigKeys.DFS_DATANODE_SOCKET_WRITE_TIMEOUT_KEY,
        HdfsConstants.WRITE_TIMEOUT);
    packetSize = packetSize(conf);
    engine = SETTINGS.engine(conf);
  }

  /**
   * Reads a configuration.
   *
   * @return null if block data is to use sockets only
   * @throws IOException for values that are not valid, or if the engine is required and can't be used
   */
  static RdmaHdfs of(Configuration conf) throws IOException {
    if (!SETTINGS.isEnabled(conf)) {
      return null;
    }
    try {
      return new RdmaHdfs(conf);
    } catch (EngineUnavailableException e) {
      if (SETTINGS.isRequired(conf)) {
        throw SETTINGS.unusable(conf, e);
      }
      sayOnce("", "Block data uses sockets: " + e.getMessage());
      return null;
    }
  }

  /** Looks for names that nobody knows. Goes through the whole configuration, so not for every connection. */
  static void check(Configuration conf) throws IOException {
    SETTINGS.check(conf);
    refuseUnknown(conf, RdmaStages.PREFIX, RdmaStages.NAMES);
    refuseUnknown(conf, PACKET, Collections.singletonList(PACKET_SIZE));
  }

  private static void refuseUnknown(Configuration conf, String prefix, List<String> names) throws IOException {
    for (Map.Entry<String, String> entry : conf) {
      if (entry.getKey().startsWith(prefix) && !names.contains(entry.getKey())) {
        throw new IOException("there is no option " + entry.getKey() + "; there are " + names);
      }
    }
  }

  private static int packetSize(Configuration conf) throws IOException {
    try {
      long size = conf.getLongBytes(PACKET_SIZE, PACKET_SIZE_DEFAULT);
      if (size >= 0 && size <= PACKET_SIZE_MAX) {
        return (int) size;
      }
    } catch (IllegalArgumentException e) {
      LOG.debug("{}={}", PACKET_SIZE, conf.get(PACKET_SIZE), e);
    }
    throw new IOException(PACKET_SIZE + "=" + conf.get(PACKET_SIZE) + ": bytes from 0 to " + PACKET_SIZE_MAX
        + " are needed, as 512k");
  }

  Engine engine() {
    return engine;
  }

  /** Longest wait for room to send, in milliseconds, of those who cannot say: a socket has no such setting. */
  int writeTimeout() {
    return writeTimeout;
  }

  /** Bytes of a packet of a writer that fills them; 0: as over sockets. */
  int packetSize() {
    return packetSize;
  }

  // Fallback.

  /** Whether to use the engine or fail. */
  boolean isRequired() {
    return required;
  }

  /** Whether this DataNode, "address:port", is known not to take our greeting. */
  static boolean isPlain(String server) {
    return FALLBACKS.isPlain(server);
  }

  void rememberPlain(String server) {
    FALLBACKS.remember(server, remember);
  }

  static void forgetPlain() {
    FALLBACKS.forget();
  }

  /** Logs a fallback, once for each DataNode and cause. */
  static void sayOnce(String server, String text) {
    FALLBACKS.sayOnce(server, text);
  }
}

package org.apache.hadoop.hdfs.net;

import io.howdah.engine.Engine;
import io.howdah.upgrade.Component;
import io.howdah.upgrade.Connector;
import io.howdah.upgrade.Options;
import io.howdah.upgrade.Upgrade;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.client.HdfsClientConfigKeys;
import org.apache.hadoop.hdfs.protocol.HdfsConstants;
import org.slf4j.Logger;

/** How a configuration wants block data to go over the engine, and the way there. Thread-safe. */
final class RdmaHdfs {
  static final Logger LOG = Component.HDFS.log();
  /** Of daemons, which make a socket for each block from one configuration. */
  private static final Map<Configuration, RdmaHdfs> OF_DAEMONS = Collections.synchronizedMap(new WeakHashMap<>());

  private final Upgrade upgrade;
  private final Connector connector;
  private final int writeTimeout;
  private final int packetSize;
  private volatile boolean linked = true;

  private RdmaHdfs(Configuration conf) throws IOException {
    upgrade = Upgrade.of(Component.HDFS, new HadoopSettings(conf)).metrics(RdmaMetrics.counters());
    connector = upgrade.connector();
    writeTimeout = conf.getInt(HdfsClientConfigKeys.DFS_DATANODE_SOCKET_WRITE_TIMEOUT_KEY,
        HdfsConstants.WRITE_TIMEOUT);
    packetSize = upgrade.get(Options.HDFS_PACKET_SIZE).intValue();
  }

  /**
   * Reads a configuration.
   *
   * @throws IOException for values that are not valid
   */
  static RdmaHdfs of(Configuration conf) throws IOException {
    return new RdmaHdfs(conf);
  }

  /** The same, read once for each configuration. */
  static RdmaHdfs ofDaemon(Configuration conf) throws IOException {
    RdmaHdfs known = OF_DAEMONS.get(conf);
    if (known == null) {
      known = new RdmaHdfs(new Configuration(conf)); // a copy, or the map would never let go of it
      OF_DAEMONS.put(conf, known);
    }
    return known;
  }

  Upgrade upgrade() {
    return upgrade;
  }

  Connector connector() {
    return connector;
  }

  /** Whether block data is to use sockets only. */
  boolean isOff() {
    return upgrade.isOff();
  }

  /** The engine. {@link Upgrade#isUsable} was asked before. */
  Engine engine() {
    return upgrade.engine();
  }

  /** Default write timeout of a socket, which has no such setting, in milliseconds. */
  int writeTimeout() {
    return writeTimeout;
  }

  /** Notes whether a connection goes over the engine. */
  void settled(boolean isLinked) {
    linked = isLinked;
  }

  /** Whether the last connection went over the engine; true before the first one. */
  boolean wasLinked() {
    return linked;
  }

  /** Bytes of a packet of a writer that fills them; 0: as over sockets. */
  int packetSize() {
    return packetSize;
  }
}

package org.apache.hadoop.hdfs;

import javax.net.SocketFactory;
import org.apache.hadoop.hdfs.net.RdmaSocketFactory;
import org.apache.hadoop.hdfs.protocol.DatanodeInfo;
import org.apache.hadoop.util.DataChecksum;

/**
 * The packets of a block that is written over the engine. Each packet costs a dozen threads of client and DataNodes a
 * wake-up, whatever is in it, so a writer that fills one is given larger ones from then on. Who flushes small records
 * never fills one, and goes on with small buffers. Thread-safe.
 */
final class PacketGrowth {
  /** As many may always be under way: two at each of the ends, so that both have something to do. */
  private static final int LEAST_UNDER_WAY = 4;

  private PacketGrowth() {
  }

  /** Bytes of the next packet of a writer that has just filled one. */
  static int next(DFSClient client, DataStreamer streamer) {
    int configured = client.getConf().getWritePacketSize();
    SocketFactory sockets = client.socketFactory;
    if (!(sockets instanceof RdmaSocketFactory)) {
      return configured;
    }
    DatanodeInfo[] nodes = streamer.getNodes();
    RdmaSocketFactory factory = (RdmaSocketFactory) sockets;
    boolean linked = nodes == null || nodes.length == 0 ? factory.wasLinked() // not connected yet
        : RdmaSocketFactory.isLinked(nodes[0].getXferAddr());
    return linked ? Math.max(configured, factory.packetSize()) : configured;
  }

  /**
   * How many packets may be queued or not acknowledged when this one is to be queued. Of larger ones fewer, so that
   * they hold as much memory as those of the size that is configured would.
   */
  static int most(DFSClient client, DFSPacket packet, DataChecksum checksum) {
    long bytes = (long) packet.getMaxChunks() * (checksum.getBytesPerChecksum() + checksum.getChecksumSize());
    return most(client.getConf().getWriteMaxPackets(), client.getConf().getWritePacketSize(), bytes);
  }

  static int most(int configured, long size, long bytes) {
    int least = Math.min(configured, LEAST_UNDER_WAY);
    return bytes <= size ? configured : (int) Math.max(least, configured * size / bytes);
  }
}

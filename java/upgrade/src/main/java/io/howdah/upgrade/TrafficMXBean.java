package io.howdah.upgrade;

import java.util.Map;

/** {@code io.howdah:type=Upgrade}: what went over which transport in this process. */
public interface TrafficMXBean {
  /** Connections, calls and bytes: "rpc.server.shm.calls", "hdfs.write.tcp.bytes". */
  Map<String, Long> getCounts();

  /** Why sockets were used although the engine was wanted, and how often: "rpc: no common transport". */
  Map<String, Long> getReasons();

  /** Each component's mode and state: "auto: libhowdah 0.1.0 from ...", "auto: sockets, since ...". */
  Map<String, String> getStates();
}

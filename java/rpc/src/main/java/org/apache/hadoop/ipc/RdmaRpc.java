package org.apache.hadoop.ipc;

import io.howdah.upgrade.Component;
import io.howdah.upgrade.Upgrade;
import io.howdah.upgrade.hadoop.HadoopSettings;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;

/** RPC's way to the engine. */
final class RdmaRpc {
  static final Logger LOG = Component.RPC.log();

  private RdmaRpc() {
  }

  /**
   * How a configuration wants RPC to go over the engine. The engine is kept to the process's end: connections come and
   * go, links are worth keeping.
   *
   * @throws IOException for values that are not valid
   */
  static Upgrade of(Configuration conf) throws IOException {
    return Upgrade.of(Component.RPC, new HadoopSettings(conf)).metrics(RdmaMetrics.get());
  }
}
